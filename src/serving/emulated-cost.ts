/**
 * What a decoder's step costs on an emulated device: a roofline with a fixed part.
 *
 * Given to the engine as its cost model, and to the thread that computes as its pace. A CPU that
 * runs a tiny model is bound by operations, and would gain nothing by larger batches, for which
 * memory is borrowed; a GPU is bound by what every step costs whatever its batch (weights read,
 * kernels launched). So an emulated device has a fixed time a step, in which the thread sleeps.
 * In real time the rest is corrected by what steps really took (engine/step-cost.ts).
 */

import type { CostModel } from "../hardware/index.ts";
import { FLOAT_BYTES, type ModelConfig } from "../model/index.ts";

export interface EmulatedRates {
  /** Of every step, whatever it computes. */
  readonly hostNs: number;
  readonly flopsPerSecond: number;
  readonly memoryBytesPerSecond: number;
}

/**
 * The fixed part is the one that simulated GPUs have (hardware/tabulated-cost-model.ts); the rates
 * are those of one CPU thread with WASM SIMD kernels.
 */
export const EMULATED_RATES: EmulatedRates = {
  hostNs: 3e6,
  flopsPerSecond: 6e9,
  memoryBytesPerSecond: 4e9,
};

/** Of each operation of a layer, whatever its size. */
const CALL_NS = 2e3;
const CALLS_PER_LAYER = 14;

export function createEmulatedCost(config: ModelConfig, rates: EmulatedRates): CostModel {
  const { hidden, heads, kvHeads, headDim, ffn, vocab } = config;
  const nsPerFlop = 1e9 / rates.flopsPerSecond;
  const nsPerByte = 1e9 / rates.memoryBytesPerSecond;
  const layerParams = hidden * headDim * (2 * heads + 2 * kvHeads) + 3 * hidden * ffn;
  const weightsNs = layerParams * FLOAT_BYTES * nsPerByte;
  const tokenNs = 2 * layerParams * nsPerFlop;
  // Scores and weighted values: two products of headDim for each head and position.
  const pairNs = 4 * heads * headDim * nsPerFlop;
  const readNs = 2 * kvHeads * headDim * FLOAT_BYTES * nsPerByte;
  const [headWeightsNs, headTokenNs] = [
    hidden * vocab * FLOAT_BYTES * nsPerByte,
    2 * hidden * vocab * nsPerFlop,
  ];
  return {
    hbmBytesPerSecond: rates.memoryBytesPerSecond,
    hostNs: rates.hostNs,
    linearLayerNs: (tokens) =>
      tokens > 0 ? CALLS_PER_LAYER * CALL_NS + Math.max(weightsNs, tokens * tokenNs) : 0,
    headNs: (sequences) =>
      sequences > 0 ? CALL_NS + Math.max(headWeightsNs, sequences * headTokenNs) : 0,
    decodeAttentionLayerNs: (_sequences, contextTokens) =>
      contextTokens * Math.max(pairNs, readNs),
    prefillAttentionLayerNs: (chunk, past) =>
      Math.max(chunk * (past + (chunk + 1) / 2) * pairNs, (past + chunk) * readNs),
    sources: [
      { part: "linear", kind: "assumed", note: "one CPU thread, corrected by measured steps" },
      { part: "host", kind: "assumed", note: "what a GPU's step costs whatever its batch" },
    ],
  };
}
