/**
 * The cost model: additive per operator, from measured tables where they reach.
 *
 * Implements cost-model.ts for planners and for the simulator, which call it millions of times a
 * run: everything is computed when it is built, a call is a few loads and multiplications and
 * allocates nothing. Mixed batches are charged as the sum of their prefill and decode parts.
 *
 * Invariants: results are finite and not negative, rise with each argument, and are zero for no
 * tokens or no sequences.
 */

import { calibrationOf } from "./calibration/catalogue.ts";
import { describeSources } from "./cost-sources.ts";
import type { CostModel, CostSource } from "./cost-model.ts";
import { buildDecodeGrid, DECODE_COLUMNS, DECODE_ROWS } from "./decode-attention.ts";
import type { Gpu } from "./gpu.ts";
import { buildLinearTable, LINEAR_TOKENS_MAX, ROOFLINE_FIXED_NS } from "./linear-layer.ts";
import type { ModelShape } from "./model-shape.ts";
import { buildPrefillCosts, PREFILL_TOKENS_MAX, type PrefillCosts } from "./prefill-attention.ts";

/** Assumed: scheduling, sampling and launching of a step that no GPU work hides. */
export const HOST_NS = 3e6;

/** RTX PRO 6000 with vLLM 0.19, LLMServingSim (commit 5daddb2): 2.42 us at one token. */
const FINAL_NORM_NS = 2420;

const SEQUENCES_MAX = 2 ** (DECODE_ROWS - 1);
const CONTEXT_MAX = 2 ** (DECODE_COLUMNS - 1);

export function createCostModel(gpu: Gpu, model: ModelShape): CostModel {
  return new TabulatedCostModel(gpu, model);
}

class TabulatedCostModel implements CostModel {
  readonly hbmBytesPerSecond: number;
  readonly hostNs = HOST_NS;
  readonly sources: readonly CostSource[];
  /** Indexed by tokens. */
  readonly #linear: Float64Array;
  readonly #linearSlope: number;
  /** (DECODE_ROWS, DECODE_COLUMNS), see decode-attention.ts. */
  readonly #decode: Float64Array;
  readonly #prefill: PrefillCosts;
  readonly #headFixedNs: number;
  readonly #headWeightsNs: number;
  readonly #headFlopNs: number;
  readonly #headByteNs: number;

  constructor(gpu: Gpu, model: ModelShape) {
    const choice = calibrationOf(gpu);
    this.hbmBytesPerSecond = gpu.hbmBytesPerSecond;
    this.sources = describeSources(gpu, model, choice);
    this.#linear = buildLinearTable(gpu, model, choice);
    const half = LINEAR_TOKENS_MAX / 2;
    this.#linearSlope = (this.#linear[LINEAR_TOKENS_MAX]! - this.#linear[half]!) / half;
    this.#decode = buildDecodeGrid(gpu, model, choice);
    this.#prefill = buildPrefillCosts(gpu, model, choice);
    const weights = model.vocab * model.hidden;
    this.#headFixedNs = FINAL_NORM_NS + ROOFLINE_FIXED_NS;
    this.#headWeightsNs = (2 * weights * 1e9) / gpu.hbmBytesPerSecond;
    this.#headByteNs = (2 * (model.vocab + model.hidden) * 1e9) / gpu.hbmBytesPerSecond;
    this.#headFlopNs = (2 * weights * 1e9) / gpu.flopsPerSecond;
  }

  linearLayerNs(tokens: number): number {
    if (!(tokens > 0)) return 0;
    const table = this.#linear;
    if (tokens >= LINEAR_TOKENS_MAX) {
      return table[LINEAR_TOKENS_MAX]! + (tokens - LINEAR_TOKENS_MAX) * this.#linearSlope;
    }
    return between(table, tokens);
  }

  headNs(sequences: number): number {
    if (!(sequences > 0)) return 0;
    const memoryNs = this.#headWeightsNs + sequences * this.#headByteNs;
    const computeNs = sequences * this.#headFlopNs;
    return this.#headFixedNs + (memoryNs > computeNs ? memoryNs : computeNs);
  }

  decodeAttentionLayerNs(sequences: number, contextTokens: number): number {
    if (!(sequences > 0) || !(contextTokens > 0)) return 0;
    let factor = 1;
    let rowAt = sequences < 1 ? 1 : sequences;
    let columnAt = contextTokens < 1 ? 1 : contextTokens;
    // Beyond the grid time is in proportion.
    if (rowAt > SEQUENCES_MAX) {
      factor = rowAt / SEQUENCES_MAX;
      rowAt = SEQUENCES_MAX;
    }
    if (columnAt > CONTEXT_MAX) {
      factor *= columnAt / CONTEXT_MAX;
      columnAt = CONTEXT_MAX;
    }
    let row = 31 - Math.clz32(rowAt);
    let column = 31 - Math.clz32(columnAt);
    if (row > DECODE_ROWS - 2) row = DECODE_ROWS - 2;
    if (column > DECODE_COLUMNS - 2) column = DECODE_COLUMNS - 2;
    const rowShare = rowAt / (1 << row) - 1;
    const columnShare = columnAt / (1 << column) - 1;
    const grid = this.#decode;
    const at = row * DECODE_COLUMNS + column;
    const below = at + DECODE_COLUMNS;
    const low = grid[at]! + (grid[at + 1]! - grid[at]!) * columnShare;
    const high = grid[below]! + (grid[below + 1]! - grid[below]!) * columnShare;
    return (low + (high - low) * rowShare) * factor;
  }

  prefillAttentionLayerNs(chunkTokens: number, pastTokens: number): number {
    if (!(chunkTokens > 0)) return 0;
    const { wholeNs, pairNs, pastTokenNs } = this.#prefill;
    const ownNs =
      chunkTokens >= PREFILL_TOKENS_MAX
        ? wholeNs[PREFILL_TOKENS_MAX]! * (chunkTokens / PREFILL_TOKENS_MAX) ** 2
        : between(wholeNs, chunkTokens);
    if (!(pastTokens > 0)) return ownNs;
    const computeNs = chunkTokens * pairNs;
    return ownNs + pastTokens * (computeNs > pastTokenNs ? computeNs : pastTokenNs);
  }
}

/** Linear between whole tokens; callers that average may ask for fractions. */
function between(table: Float64Array, tokens: number): number {
  const index = Math.floor(tokens);
  const low = table[index]!;
  return low + (table[index + 1]! - low) * (tokens - index);
}
