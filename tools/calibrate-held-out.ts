/**
 * Compares the cost model with measured rows that its calibration files do not hold.
 *
 * Called by the calibration report and by tests. Returns relative errors; judges nothing.
 */

import { GEMM_M, GEMM_NK } from "../src/hardware/calibration/grids.ts";
import type { Calibration, DecodeTable } from "../src/hardware/calibration/tables.ts";
import { tableDecodeNs } from "../src/hardware/decode-attention.ts";
import { gemmNs } from "../src/hardware/gemm-cost.ts";
import { createCostModel, findGpu, findModel, type ModelShape } from "../src/hardware/index.ts";
import { tablePrefillNs } from "../src/hardware/prefill-attention.ts";
import type { MeasuredGpu, MeasuredRows } from "./calibrate-boil.ts";
import { readVidurLayer } from "./calibrate-read.ts";

/** Models' products are at least this wide; smaller ones are launch time alone. */
const GEMM_SIZE_MIN = 1024;
/** From here on a sequence's context is one that an engine meets. */
const CONTEXT_MIN = 64;

/** Rows whose n, k or m is not in the calibration file, of sizes that models have. */
export function gemmErrors(
  gpu: MeasuredGpu,
  calibration: Calibration,
  rows: MeasuredRows,
): number[] {
  const errors: number[] = [];
  const { gemm } = calibration;
  for (const row of rows.gemm) {
    if (row.gpu !== gpu.tableName || row.n < GEMM_SIZE_MIN || row.k < GEMM_SIZE_MIN) continue;
    if (row.m > GEMM_M.at(-1)!) continue;
    const isKept = GEMM_NK.includes(row.n) && GEMM_NK.includes(row.k) && GEMM_M.includes(row.m);
    if (isKept) continue;
    let index = 0;
    while (index < GEMM_M.length - 2 && GEMM_M[index + 1]! <= row.m) index++;
    const share = (row.m - GEMM_M[index]!) / (GEMM_M[index + 1]! - GEMM_M[index]!);
    const low = gemmNs(gemm, index, row.n, row.k);
    const high = gemmNs(gemm, index + 1, row.n, row.k);
    errors.push((low + (high - low) * share) / (row.us * 1000) - 1);
  }
  return errors;
}

export type DecodeHoldOut = "other query heads" | "other KV heads" | "between grid points";

export function decodeErrors(
  gpu: MeasuredGpu,
  calibration: Calibration,
  rows: MeasuredRows,
  kind: DecodeHoldOut,
): number[] {
  const errors: number[] = [];
  const choice = { calibration: thin(calibration, kind), bandwidthRatio: 1 };
  for (const row of rows.decode) {
    if (row.gpu !== gpu.tableName || row.headDim !== 128 || row.tokens < CONTEXT_MIN) continue;
    if (row.heads === row.kvHeads) continue;
    const isStored = row.heads === (row.kvHeads === 1 ? 4 : 2 * row.kvHeads);
    if (kind === "other query heads" && isStored) continue;
    // Models are read off a table of fewer KV heads, never of more: a batch below one is no case.
    const isSmall = row.batch * row.kvHeads < 8;
    if (kind === "other KV heads" && (row.kvHeads === 8 || isSmall)) continue;
    if (kind === "between grid points" && (!isStored || isEven(row.batch, row.tokens))) continue;
    const shape = { heads: row.heads, kvHeads: row.kvHeads, headDim: 128 };
    const ns = tableDecodeNs(choice, shape, row.batch, row.tokens);
    errors.push(ns / (row.us * 1000) - 1);
  }
  return errors;
}

/**
 * The finished model against rows of the KV heads of Qwen3-32B: what rising and the grid change.
 */
export function decodeModelErrors(gpu: MeasuredGpu, rows: MeasuredRows): number[] {
  const model = findModel("Qwen3-32B");
  const cost = createCostModel(findGpu(gpu.gpuName), model);
  const errors: number[] = [];
  for (const row of rows.decode) {
    if (row.gpu !== gpu.tableName || row.headDim !== 128 || row.tokens < CONTEXT_MIN) continue;
    if (row.heads !== model.heads || row.kvHeads !== model.kvHeads || row.batch > 256) continue;
    const ns = cost.decodeAttentionLayerNs(row.batch, row.batch * row.tokens);
    errors.push(ns / (row.us * 1000) - 1);
  }
  return errors;
}

/** One prompt with as many query heads as a table, and other KV heads than its. */
export function prefillErrors(
  gpu: MeasuredGpu,
  calibration: Calibration,
  rows: MeasuredRows,
): number[] {
  const errors: number[] = [];
  for (const row of rows.prefill) {
    if (row.gpu !== gpu.tableName || row.headDim !== 128 || row.batch !== 1) continue;
    const isStored = row.heads === row.kvHeads || row.kvHeads === Math.min(8, row.heads / 2);
    if (isStored || row.tokens < CONTEXT_MIN) continue;
    const shape: Pick<ModelShape, "heads" | "kvHeads" | "headDim"> = {
      heads: row.heads,
      kvHeads: row.kvHeads,
      headDim: 128,
    };
    errors.push(tablePrefillNs(calibration.attention, shape, row.tokens) / (row.us * 1000) - 1);
  }
  return errors;
}

export interface LayerComparison {
  readonly gpuName: string;
  readonly modelName: string;
  /** Path below vidur's folder of shared data. */
  readonly file: string;
}

/** vidur (MIT, commit 7d47513) measured these with older kernels and another harness. */
export const LAYER_COMPARISONS: readonly LayerComparison[] = [
  { gpuName: "a100-80g", modelName: "Llama-3-8B", file: "a100/mlp_Meta-Llama-3-8B.csv" },
  { gpuName: "a100-80g", modelName: "Llama-2-70B", file: "a100/mlp_Llama-2-70b-hf.csv" },
  { gpuName: "h100", modelName: "CodeLlama-34B", file: "h100/mlp_CodeLlama-34b-Instruct-hf.csv" },
  { gpuName: "h100", modelName: "Llama-2-70B", file: "h100/mlp_Llama-2-70b-hf.csv" },
];

/** A whole layer's linear part against a source that no calibration file is made from. */
export function layerErrors(
  comparison: LayerComparison,
  file: string,
  tokensMin: number,
  tokensMax: number,
): number[] {
  const cost = createCostModel(findGpu(comparison.gpuName), findModel(comparison.modelName));
  return readVidurLayer(file)
    .filter((row) => row.tokens >= tokensMin && row.tokens <= tokensMax)
    .map((row) => cost.linearLayerNs(row.tokens) / 1000 / (row.productsUs + row.elementwiseUs) - 1);
}

/**
 * The tables for a hold-out: without the KV heads that are asked for, or with every second point.
 */
function thin(calibration: Calibration, kind: DecodeHoldOut): Calibration {
  let { decode } = calibration.attention;
  if (kind === "other KV heads") decode = decode.filter((table) => table.kvHeads === 8);
  if (kind === "between grid points") decode = decode.map(everySecond);
  return { ...calibration, attention: { ...calibration.attention, decode } };
}

function everySecond(table: DecodeTable): DecodeTable {
  const columns = table.context.length;
  return {
    ...table,
    batch: table.batch.filter((_, row) => row % 2 === 0),
    context: table.context.filter((_, column) => column % 2 === 0),
    us: table.us.filter((_, index) => {
      const row = Math.floor(index / columns);
      return row % 2 === 0 && (index - row * columns) % 2 === 0;
    }),
  };
}

/** Whether a point survives `everySecond`. */
function isEven(batch: number, context: number): boolean {
  return Math.log2(batch) % 2 === 0 && (Math.log2(context) - 1) % 2 === 0;
}

