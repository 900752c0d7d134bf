/**
 * What one layer's matrix products, norms and activations cost for a batch of query tokens.
 *
 * Built once per GPU and model by tabulated-cost-model.ts into a dense table over tokens, so that a
 * look-up is one load. Four products as vLLM merges them: qkv, out, gate+up (or up), down. The
 * element-wise kernels are a fixed launch time and their bytes.
 *
 * Invariant: rises with tokens; zero tokens take no time.
 */

import type { CalibrationChoice } from "./calibration/catalogue.ts";
import { GEMM_M } from "./calibration/grids.ts";
import type { Roofline } from "./calibration/tables.ts";
import { gemmNs, rooflineNs, scaleGemmTable } from "./gemm-cost.ts";
import type { Gpu } from "./gpu.ts";
import type { ModelShape } from "./model-shape.ts";
import { makeRising } from "./monotone.ts";

/** The last measured batch; beyond it time grows at the rate of the last stretch. */
export const LINEAR_TOKENS_MAX = 4096;

/**
 * Two norms of 2.42 us, rotary embedding 2.71 and activation 2.68, at one token: RTX PRO 6000 with
 * vLLM 0.19, LLMServingSim's dense table of Llama-3.1-8B (commit 5daddb2). Launch time dominates,
 * so it is taken over to all boards.
 */
const ELEMENTWISE_FIXED_NS = 10_200;

/**
 * What a kernel costs before its first byte where there is no table: RTX 4090, LLMServingSim, from
 * the out and gate+up products of one token (33.6 MB in 38.1 us, 234.9 MB in 247.3 us).
 */
export const ROOFLINE_FIXED_NS = 3200;

/** (n, k) of the products of one layer. */
export function productsOf(model: ModelShape): readonly (readonly [n: number, k: number])[] {
  const queryDim = model.heads * model.headDim;
  const keyDim = model.kvHeads * model.headDim;
  return [
    [queryDim + 2 * keyDim, model.hidden],
    [model.hidden, queryDim],
    [model.isFfnGated ? 2 * model.ffn : model.ffn, model.hidden],
    [model.hidden, model.ffn],
  ];
}

export function gpuRoofline(gpu: Gpu): Roofline {
  return {
    bytesPerSecond: gpu.hbmBytesPerSecond,
    flopsPerSecond: gpu.flopsPerSecond,
    fixedNs: ROOFLINE_FIXED_NS,
  };
}

/** @returns (LINEAR_TOKENS_MAX + 1) nanoseconds, indexed by tokens. */
export function buildLinearTable(
  gpu: Gpu,
  model: ModelShape,
  choice: CalibrationChoice | null,
): Float64Array {
  const products = productsOf(model);
  const nodes = new Float64Array(GEMM_M.length);
  const roofline = gpuRoofline(gpu);
  const scaled = choice && scaleGemmTable(choice.calibration.gemm, choice.bandwidthRatio);
  for (let index = 0; index < nodes.length; index++) {
    for (const [n, k] of products) {
      const m = GEMM_M[index]!;
      const ns = scaled === null ? rooflineNs(roofline, m, n, k) : gemmNs(scaled, index, n, k);
      nodes[index] = nodes[index]! + ns;
    }
  }
  makeRising(nodes);
  const table = new Float64Array(LINEAR_TOKENS_MAX + 1);
  const elementwiseNsPerToken = (elementwiseBytes(model) * 1e9) / gpu.hbmBytesPerSecond;
  let node = 0;
  for (let tokens = 1; tokens <= LINEAR_TOKENS_MAX; tokens++) {
    while (node < nodes.length - 2 && GEMM_M[node + 1]! <= tokens) node++;
    const share = (tokens - GEMM_M[node]!) / (GEMM_M[node + 1]! - GEMM_M[node]!);
    const productsNs = nodes[node]! + (nodes[node + 1]! - nodes[node]!) * share;
    table[tokens] = productsNs + ELEMENTWISE_FIXED_NS + tokens * elementwiseNsPerToken;
  }
  return table;
}

/** Bytes one token moves: norms read and write stream and residual, rotary q and k, activation. */
function elementwiseBytes(model: ModelShape): number {
  const norms = 2 * 4 * model.hidden;
  const rotary = 2 * (model.heads + model.kvHeads) * model.headDim;
  const activation = (model.isFfnGated ? 3 : 2) * model.ffn;
  return 2 * (norms + rotary + activation);
}
