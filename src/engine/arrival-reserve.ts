/**
 * Room that an engine keeps for prompts that have not come yet, from those that came.
 *
 * Told of every request by the engine; read by the borrow controller, which asks for slices before
 * somebody waits for them, and by the engine, which keeps local room for the next prompt while it
 * borrows. With twice the memory a request starts at the next step; with loans asked for when it
 * is there it waits for a decision, a lease and blocks that move out.
 */

import type { KvLayout } from "../kvcache/index.ts";

/** Weight of one more prompt in the mean: some thirty are remembered. */
const WEIGHT = 1 / 32;
/**
 * Prompts are uneven, and two may come within a step. At 0.95 of static's saturation TTFT p95 is
 * 1.16, 1.08, 1.05 and 1.03 of `double`'s with 2, 3, 4 and 6 means, TPOT p99 1.01, 1.02, 1.02 and
 * 1.03 (docs/EXPERIMENTS.md).
 */
const MEANS = 5;
/** At most this share of the own memory is kept free at home: it serves nobody meanwhile. */
const HOME_SHARE_MAX = 1 / 8;
/**
 * At most this share of it is borrowed ahead: it is idle at its lender too. Where prompts are long,
 * five of them are more than an eighth: TTFT p95 at 0.95 of static's saturation, h100-32b-conv, is
 * 1.293, 1.162 and 1.147 of `double`'s with an eighth, a quarter and a half (docs/EXPERIMENTS.md).
 */
const LOAN_SHARE_MAX = 1 / 2;

export class ArrivalReserve {
  readonly #blockTokens: number;
  readonly #ownBlocks: number;
  #meanTokens = 0;

  constructor(layout: KvLayout, ownSlices: number) {
    this.#blockTokens = layout.blockTokens;
    this.#ownBlocks = ownSlices * layout.blocksPerSlice;
  }

  observe(promptTokens: number): void {
    const weight = this.#meanTokens === 0 ? 1 : WEIGHT;
    this.#meanTokens += weight * (promptTokens - this.#meanTokens);
  }

  /** Local blocks kept free while the engine borrows. */
  get homeBlocks(): number {
    return this.#atMost(HOME_SHARE_MAX);
  }

  /** Blocks asked for before somebody waits for them. */
  get loanBlocks(): number {
    return this.#atMost(LOAN_SHARE_MAX);
  }

  #atMost(share: number): number {
    const blocks = Math.ceil((MEANS * this.#meanTokens) / this.#blockTokens);
    return Math.min(Math.floor(share * this.#ownBlocks), blocks);
  }
}
