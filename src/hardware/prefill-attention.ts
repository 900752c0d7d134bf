/**
 * What causal attention of one layer costs for a chunk of one prompt, over itself and over a past.
 *
 * Built once per GPU and model by tabulated-cost-model.ts. Without a past the measured tables of
 * whole prompts hold, interpolated as time per token, which is exact for the quadratic that they
 * approach. What a chunk does over its past is a full rectangle of chunk x past: it is charged at
 * the rate of the longest prompt measured (a rectangle has no masked half, so it is no slower), or
 * the time to read the past's KV once where that is longer.
 *
 * Invariant: rises with the chunk and with the past; no chunk, no time.
 */

import type { CalibrationChoice } from "./calibration/catalogue.ts";
import type { AttentionTables, PrefillTable } from "./calibration/tables.ts";
import type { Gpu } from "./gpu.ts";
import type { ModelShape } from "./model-shape.ts";
import { makeRising } from "./monotone.ts";

/** The longest prompt measured; beyond it time grows with the square. */
export const PREFILL_TOKENS_MAX = 16384;

const MEASURED_HEAD_DIM = 128;

/** Without a table: attention at 0.66 of the GEMM rate, as on A100 (176 of 265 TFLOP/s at 8k). */
const ROOFLINE_FLOP_SHARE = 0.66;
const ROOFLINE_FIXED_NS = 10_000;

export interface PrefillCosts {
  /** (PREFILL_TOKENS_MAX + 1) nanoseconds for a whole prompt, indexed by its tokens. */
  readonly wholeNs: Float64Array;
  /** Nanoseconds for one query token over one past token. */
  readonly pairNs: number;
  /** Nanoseconds to read one past token's KV of one layer. */
  readonly pastTokenNs: number;
}

export function buildPrefillCosts(
  gpu: Gpu,
  model: ModelShape,
  choice: CalibrationChoice | null,
): PrefillCosts {
  const wholeNs = new Float64Array(PREFILL_TOKENS_MAX + 1);
  const positive = wholeNs.subarray(1);
  for (let tokens = 1; tokens <= PREFILL_TOKENS_MAX; tokens++) {
    wholeNs[tokens] =
      choice === null
        ? rooflinePrefillNs(gpu, model, tokens)
        : tablePrefillNs(choice.calibration.attention, model, tokens);
  }
  makeRising(positive);
  // Causal attention of n tokens is n^2 / 2 pairs, a chunk over its past chunk x past whole ones.
  const pairNs = (2 * wholeNs[PREFILL_TOKENS_MAX]!) / PREFILL_TOKENS_MAX ** 2;
  const pastTokenNs = (4 * model.kvHeads * model.headDim * 1e9) / gpu.hbmBytesPerSecond;
  return { wholeNs, pairNs, pastTokenNs };
}

/** @returns whether the model's heads were measured, or lie between heads that were. */
export function hasPrefillTable(choice: CalibrationChoice, model: ModelShape): boolean {
  return (
    model.headDim === MEASURED_HEAD_DIM &&
    choice.calibration.attention.prefill.some((table) => table.heads === model.heads)
  );
}

/** Before rising is enforced; also what held-out points are compared with. */
export function tablePrefillNs(
  tables: AttentionTables,
  model: Pick<ModelShape, "heads" | "kvHeads" | "headDim">,
  tokens: number,
): number {
  const isMultiHead = model.heads === model.kvHeads;
  const ofKind = tables.prefill.filter((table) => table.isMultiHead === isMultiHead);
  const upper = ofKind.find((table) => table.heads >= model.heads) ?? ofKind.at(-1)!;
  const lower = ofKind.findLast((table) => table.heads <= model.heads) ?? ofKind[0]!;
  const upperNs = promptNs(upper, tokens);
  const lowerNs = promptNs(lower, tokens);
  const fixedNs = Math.min(promptNs(lower, 1), upperNs);
  let ns = upperNs;
  if (upper.heads < model.heads) {
    ns = fixedNs + ((upperNs - fixedNs) * model.heads) / upper.heads;
  } else if (upper.heads > lower.heads) {
    const share = (model.heads - lower.heads) / (upper.heads - lower.heads);
    ns = lowerNs + (upperNs - lowerNs) * share;
  }
  return fixedNs + ((ns - fixedNs) * model.headDim) / MEASURED_HEAD_DIM;
}

function rooflinePrefillNs(gpu: Gpu, model: ModelShape, tokens: number): number {
  const flops = 2 * tokens ** 2 * model.heads * model.headDim;
  return ROOFLINE_FIXED_NS + (flops * 1e9) / (ROOFLINE_FLOP_SHARE * gpu.flopsPerSecond);
}

/** Linear in time per token between measured prompts. */
function promptNs(table: PrefillTable, tokens: number): number {
  const last = table.tokens.length - 2;
  let index = 0;
  while (index < last && table.tokens[index + 1]! <= tokens) index++;
  const low = table.tokens[index]!;
  const high = table.tokens[index + 1]!;
  const share = (tokens - low) / (high - low);
  const lowUs = table.us[index]!;
  const highUs = table.us[index + 1]!;
  // Below 32 tokens a prompt costs its launch; time per token would bend the wrong way there.
  if (high <= 32) return (lowUs + (highUs - lowUs) * share) * 1000;
  return (lowUs / low + (highUs / high - lowUs / low) * share) * tokens * 1000;
}
