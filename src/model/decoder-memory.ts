/**
 * Where a decoder keeps weights and workspace in device memory, and how many bytes both take.
 *
 * Used by the decoder, and by whoever must know the bytes before there is one. It touches no
 * memory: addresses are offsets from where the two allocations will begin.
 *
 *     weights:    embedding | layer 0: nine tensors | layer 1 ... | final norm | head (if untied)
 *     workspace:  hidden | normed | queries | keys | values | attended | gate | up
 *                 | sampled | logits
 *
 * Rows of the workspace are the tokens of a step; sampled and logits have one for each sequence.
 * Every part begins at a multiple of 64 bytes, so that vector loads are aligned.
 */

import { FLOAT_BYTES, type ModelConfig } from "./model-config.ts";
import { tensorsOf, type Tensor } from "./tensors.ts";

const ALIGN_BYTES = 64;

/** What a step of a decoder may hold at most. */
export interface DecoderLimits {
  readonly batchTokensMax: number;
  /** Rows of logits that `finish` can be asked for. */
  readonly sampleRowsMax: number;
}

export interface PlacedTensor extends Tensor {
  readonly offsetBytes: number;
}

export interface WeightLayout {
  readonly tensors: readonly PlacedTensor[];
  readonly totalBytes: number;
}

export function weightLayout(config: ModelConfig): WeightLayout {
  let offsetBytes = 0;
  const tensors = tensorsOf(config).map((tensor) => {
    const placed = { ...tensor, offsetBytes };
    offsetBytes += aligned(tensor.rows * tensor.columns * FLOAT_BYTES);
    return placed;
  });
  return { tensors, totalBytes: offsetBytes };
}

/** Offsets of the parts of the workspace, in bytes. */
export interface WorkspaceLayout {
  readonly hidden: number;
  readonly normed: number;
  readonly queries: number;
  readonly keys: number;
  readonly values: number;
  readonly attended: number;
  readonly gate: number;
  readonly up: number;
  readonly sampled: number;
  readonly logits: number;
  readonly totalBytes: number;
}

export function workspaceLayout(config: ModelConfig, limits: DecoderLimits): WorkspaceLayout {
  const { batchTokensMax, sampleRowsMax } = limits;
  const queryWidth = config.heads * config.headDim;
  const kvWidth = config.kvHeads * config.headDim;
  let totalBytes = 0;
  const place = (rows: number, columns: number): number => {
    const offset = totalBytes;
    totalBytes += aligned(rows * columns * FLOAT_BYTES);
    return offset;
  };
  const parts = {
    hidden: place(batchTokensMax, config.hidden),
    normed: place(batchTokensMax, config.hidden),
    queries: place(batchTokensMax, queryWidth),
    keys: place(batchTokensMax, kvWidth),
    values: place(batchTokensMax, kvWidth),
    attended: place(batchTokensMax, queryWidth),
    gate: place(batchTokensMax, config.ffn),
    up: place(batchTokensMax, config.ffn),
    sampled: place(sampleRowsMax, config.hidden),
    logits: place(sampleRowsMax, config.vocab),
  };
  return { ...parts, totalBytes };
}

/** Device memory that a decoder takes besides KV, before the device rounds up to pages. */
export function decoderBytes(config: ModelConfig, limits: DecoderLimits): number {
  return weightLayout(config).totalBytes + workspaceLayout(config, limits).totalBytes;
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGN_BYTES) * ALIGN_BYTES;
}
