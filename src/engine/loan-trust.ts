/**
 * How many borrowed slices an engine trusts to bring more than they cost, after loans that did not.
 *
 * Asked by the borrow controller, told by it of each loss. The pool's account says that loans of a
 * lender lost tokens; trying again costs some more until that shows. So each further loss is
 * followed by a longer pause, and trust comes back a few slices at a time:
 *
 *      slices
 *        |####                                ####
 *        |####                            ####
 *        |####......................##....          2 at first, twice as many every two seconds
 *        +----|<----- pause ------->|------------> time
 *            loss                              the next pause is four times as long
 *
 * Invariant: without a loss there is no bound.
 */

import { NS_PER_SECOND } from "../base/index.ts";

const FIRST_PAUSE_NS = 8 * NS_PER_SECOND;
const PAUSE_GROWTH = 4;
const PAUSE_MAX_NS = 512 * NS_PER_SECOND;
/** Borrowing for so long without a loss, losses before it no longer count. */
const FORGIVEN_NS = 60 * NS_PER_SECOND;
const FIRST_SLICES = 2;
const DOUBLING_NS = 2 * NS_PER_SECOND;

export class LoanTrust {
  #pauseNs = 0;
  #againNs = -Infinity;

  /** Loans are losing now; told again and again while they are on their way back. */
  lost(nowNs: number): void {
    if (nowNs < this.#againNs) return;
    const isForgiven = nowNs - this.#againNs > Math.max(FORGIVEN_NS, this.#pauseNs);
    const longer = Math.min(PAUSE_MAX_NS, PAUSE_GROWTH * this.#pauseNs);
    this.#pauseNs = isForgiven ? FIRST_PAUSE_NS : longer;
    this.#againNs = nowNs + this.#pauseNs;
  }

  /** @returns slices it may hold in all; Infinity where nothing was ever lost. */
  slices(nowNs: number): number {
    if (nowNs < this.#againNs) return 0;
    return FIRST_SLICES * 2 ** Math.floor((nowNs - this.#againNs) / DOUBLING_NS);
  }
}
