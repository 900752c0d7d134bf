/**
 * The borrower of the closed form: one GPU, one model, one context length.
 *
 * Made from catalogue rows by the command line and by tests; read by every other file of this
 * folder. It knows nothing of how steps are simulated: the closed form exists to judge the
 * simulator, so the two share no code, and even the size of the KV memory is worked out again.
 *
 * The symbols in the comments of this folder are those of docs/METHOD.md: W weight bytes, p
 * parameters, B achieved HBM bandwidth, F achieved FLOP/s, N achieved bandwidth of the borrower's
 * link, o the time of a step that is neither GEMM nor KV, K KV bytes, R remote and s staged bytes.
 */

import { EmaError } from "../base/index.ts";
import type { Gpu, ModelShape } from "../hardware/index.ts";
import { measuredOperators, type Operators } from "./operators.ts";

/** Share of the HBM that an engine may fill, as vLLM's gpu_memory_utilization defaults to. */
const USABLE_HBM_SHARE = 0.9;
/** Activations, CUDA context and graphs of an engine. */
const RESERVE_BYTES = 2e9;
/** o: assumed, not measured; engines in the field show 2 to 5 ms. */
const HOST_SECONDS = 0.003;

/** Everything a step of a saturated engine depends on. */
export interface Borrower {
  /** p */
  readonly paramCount: number;
  /** W, read once a decode step. */
  readonly weightBytes: number;
  readonly kvBytesPerToken: number;
  readonly layers: number;
  /** B */
  readonly hbmBytesPerSecond: number;
  /** F */
  readonly flopsPerSecond: number;
  /** N: the GPU's ingress port with all its peers together. */
  readonly portBytesPerSecond: number;
  /** o */
  readonly hostSeconds: number;
  /** KV memory of its own, before any rounding to slices. */
  readonly ownKvBytes: number;
  /** Mean context of a resident sequence over its life. */
  readonly contextTokens: number;
  /** What its operators take; `null`: what W, p, B and F say. */
  readonly operators: Operators | null;
}

/**
 * On bandwidths alone.
 *
 * @throws EmaError E_MODEL_FIT when the weights leave no KV memory on this GPU.
 */
export function saturatedBorrower(gpu: Gpu, model: ModelShape, contextTokens: number): Borrower {
  const weightBytes = 2 * model.paramCount;
  return {
    paramCount: model.paramCount,
    weightBytes,
    kvBytesPerToken: model.kvBytesPerToken,
    layers: model.layers,
    hbmBytesPerSecond: gpu.hbmBytesPerSecond,
    flopsPerSecond: gpu.flopsPerSecond,
    portBytesPerSecond: gpu.portBytesPerSecond,
    hostSeconds: HOST_SECONDS,
    ownKvBytes: ownKvBytes(gpu, model),
    contextTokens,
    operators: null,
  };
}

/** The same with operators from measured tables. */
export function measuredBorrower(borrower: Borrower, gpu: Gpu, model: ModelShape): Borrower {
  return { ...borrower, operators: measuredOperators(gpu, model) };
}

/**
 * 0.9 x HBM - W - 2 GB.
 *
 * @throws EmaError E_MODEL_FIT when nothing is left.
 */
export function ownKvBytes(gpu: Gpu, model: ModelShape): number {
  const bytes = USABLE_HBM_SHARE * gpu.hbmBytes - 2 * model.paramCount - RESERVE_BYTES;
  if (bytes <= 0) {
    const needGb = ((2 * model.paramCount + RESERVE_BYTES) / 1e9).toFixed(1);
    const haveGb = ((USABLE_HBM_SHARE * gpu.hbmBytes) / 1e9).toFixed(1);
    throw new EmaError(
      "E_MODEL_FIT",
      `${model.name} does not fit ${gpu.name}: weights and reserve take ${needGb} of ${haveGb} GB`,
    );
  }
  return bytes;
}
