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
/** At most this share of the own memory: what is kept free serves nobody meanwhile. */
const OWN_SHARE_MAX = 1 / 8;

export class ArrivalReserve {
  readonly #blockTokens: number;
  readonly #blocksMax: number;
  #meanTokens = 0;

  constructor(layout: KvLayout, ownSlices: number) {
    this.#blockTokens = layout.blockTokens;
    this.#blocksMax = Math.floor(OWN_SHARE_MAX * ownSlices * layout.blocksPerSlice);
  }

  observe(promptTokens: number): void {
    const weight = this.#meanTokens === 0 ? 1 : WEIGHT;
    this.#meanTokens += weight * (promptTokens - this.#meanTokens);
  }

  get blocks(): number {
    const blocks = Math.ceil((MEANS * this.#meanTokens) / this.#blockTokens);
    return Math.min(this.#blocksMax, blocks);
  }
}
