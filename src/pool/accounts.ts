/**
 * What loans of each lender earned each borrower, and from whom it may not borrow for a while.
 *
 * Used by the pool. Borrowers settle in tokens, from time to time; the account does not know how
 * they reckon. When the balance of the window falls below -1 % of the tokens made in it, borrowing
 * from that lender stops for a back-off of 1 s, doubled at each further block up to 64 s and halved
 * after each window without one: a borrower must not end up worse than had it not borrowed.
 *
 * The window slides by two buckets: all of the current period and the part of the previous one that
 * a window ending now still covers. A block empties the window, so that one loss is punished once.
 *
 *    |--- previous period ---|--- current period ---|
 *              [============ window =====]
 *                                        now
 */

import { assert, NS_PER_SECOND } from "../base/index.ts";

const FIRST_BACK_OFF_NS = NS_PER_SECOND;
const MAX_BACK_OFF_NS = 64 * NS_PER_SECOND;
/** Share of the window's tokens that loans may lose before they stop; below it is noise. */
const TOLERATED_LOSS = 0.01;

/** One account a (lender, borrower) pair; pairs are dense indices chosen by the pool. */
export class Accounts {
  readonly #windowNs: number;
  // (pairs) tokens in the current period and in the one before
  readonly #period: Float64Array;
  readonly #earned: Float64Array;
  readonly #earnedBefore: Float64Array;
  readonly #produced: Float64Array;
  readonly #producedBefore: Float64Array;
  // (pairs) the next block lasts this long; blocked until; nothing bad since
  readonly #backOffNs: Float64Array;
  readonly #blockedUntilNs: Float64Array;
  readonly #goodSinceNs: Float64Array;

  constructor(pairCount: number, windowNs: number) {
    assert(windowNs > 0 && Number.isFinite(windowNs), () => `accounts: a window of ${windowNs} ns`);
    this.#windowNs = windowNs;
    this.#period = new Float64Array(pairCount);
    this.#earned = new Float64Array(pairCount);
    this.#earnedBefore = new Float64Array(pairCount);
    this.#produced = new Float64Array(pairCount);
    this.#producedBefore = new Float64Array(pairCount);
    this.#backOffNs = new Float64Array(pairCount).fill(FIRST_BACK_OFF_NS);
    this.#blockedUntilNs = new Float64Array(pairCount);
    this.#goodSinceNs = new Float64Array(pairCount);
  }

  isBlocked(pair: number, nowNs: number): boolean {
    return nowNs < this.#blockedUntilNs[pair]!;
  }

  /**
   * Books what was earned since the last settlement, less what recalls cost, of what was produced.
   * @returns whether borrowing is blocked from now on.
   */
  settle(pair: number, earnedTokens: number, producedTokens: number, nowNs: number): boolean {
    assert(Number.isFinite(earnedTokens), () => `accounts: ${earnedTokens} tokens earned`);
    const isCount = Number.isFinite(producedTokens) && producedTokens >= 0;
    assert(isCount, () => `accounts: ${producedTokens} tokens produced`);
    this.#roll(pair, nowNs);
    this.#earned[pair]! += earnedTokens;
    this.#produced[pair]! += producedTokens;
    // Loans held through a block are judged when it ends: blocks do not overlap.
    if (this.isBlocked(pair, nowNs)) return true;
    const covered = 1 - (nowNs / this.#windowNs - this.#period[pair]!);
    const balance = this.#earned[pair]! + covered * this.#earnedBefore[pair]!;
    const produced = this.#produced[pair]! + covered * this.#producedBefore[pair]!;
    if (balance < -TOLERATED_LOSS * produced) {
      this.#block(pair, nowNs);
      return true;
    }
    if (nowNs - this.#goodSinceNs[pair]! >= this.#windowNs) {
      this.#backOffNs[pair] = Math.max(FIRST_BACK_OFF_NS, this.#backOffNs[pair]! / 2);
      this.#goodSinceNs[pair] = nowNs;
    }
    return false;
  }

  check(): void {
    for (let pair = 0; pair < this.#backOffNs.length; pair++) {
      const backOffNs = this.#backOffNs[pair]!;
      const isInRange = backOffNs >= FIRST_BACK_OFF_NS && backOffNs <= MAX_BACK_OFF_NS;
      assert(isInRange, () => `accounts: back-off of pair ${pair} is ${backOffNs} ns`);
      const tokens = this.#earned[pair]! + this.#earnedBefore[pair]!;
      assert(Number.isFinite(tokens), () => `accounts: pair ${pair} holds ${tokens} tokens`);
    }
  }

  #block(pair: number, nowNs: number): void {
    const backOffNs = this.#backOffNs[pair]!;
    this.#blockedUntilNs[pair] = nowNs + backOffNs;
    this.#goodSinceNs[pair] = nowNs + backOffNs;
    this.#backOffNs[pair] = Math.min(MAX_BACK_OFF_NS, 2 * backOffNs);
    this.#earned[pair] = 0;
    this.#earnedBefore[pair] = 0;
    this.#produced[pair] = 0;
    this.#producedBefore[pair] = 0;
  }

  /** Makes the period that holds `nowNs` the current one. */
  #roll(pair: number, nowNs: number): void {
    const period = Math.floor(nowNs / this.#windowNs);
    const passed = period - this.#period[pair]!;
    if (passed === 0) return;
    this.#earnedBefore[pair] = passed === 1 ? this.#earned[pair]! : 0;
    this.#producedBefore[pair] = passed === 1 ? this.#produced[pair]! : 0;
    this.#earned[pair] = 0;
    this.#produced[pair] = 0;
    this.#period[pair] = period;
  }
}
