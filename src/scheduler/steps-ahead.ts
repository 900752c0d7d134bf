/**
 * The step in flight and the one being decided: one and the same, or one step apart.
 *
 * Kept by the scheduler. With one step ahead the next batch is put together while this step still
 * runs, on what it will have done: tokens of steps not ended count as computed, and an output token
 * not made yet holds a place. Its price is that ends are seen a step late. This is what vLLM does
 * with async scheduling; without it, both batches are the same object and nothing is ahead.
 *
 *     flying   |   step k   |  step k+1  |  step k+2
 *     decided  | k+1        | k+2        | k+3          (at the start of the step before)
 *
 * Invariant: what a sequence has ahead is the sum over its entries in steps decided and not landed.
 */

import { assert } from "../base/index.ts";
import { Batch } from "./batch.ts";
import type { Sequences } from "./sequences.ts";

/** Two batches that take turns, or one that is both. */
export class StepsAhead {
  /** The step in flight, or the last one. */
  current: Batch;
  /** The step being decided. */
  upcoming: Batch;
  readonly #sequences: Sequences;
  readonly #isAhead: boolean;

  constructor(sequences: Sequences, isAhead: boolean) {
    this.#sequences = sequences;
    this.#isAhead = isAhead;
    this.current = new Batch(sequences.capacity);
    this.upcoming = isAhead ? new Batch(sequences.capacity) : this.current;
  }

  /** Whether a step waits to take off when the one in flight has landed. */
  get isDecided(): boolean {
    return this.#isAhead && this.upcoming.queryTokens > 0;
  }

  /** The upcoming step is complete: from now on it counts as done by whoever decides. */
  decided(): void {
    if (this.#isAhead) this.#count(this.upcoming, 1);
  }

  /** The step in flight has ended; to be called before its tokens are given out. */
  landed(): void {
    if (this.#isAhead) this.#count(this.current, -1);
  }

  /** The decided step takes off; the object of the last one serves for the next decision. */
  advance(): void {
    const last = this.current;
    this.current = this.upcoming;
    this.upcoming = last;
    if (this.#isAhead) this.upcoming.clear();
  }

  /** The sequence leaves for good: no step gives it a token any more. */
  drop(row: number): void {
    this.current.exclude(row);
    if (this.#isAhead) this.upcoming.exclude(row);
  }

  /** A request that waits is cancelled: the step it was preempted from gives it no token. */
  forget(request: number): void {
    const { leavers } = this.current;
    const index = leavers.indexOf(request);
    if (index >= 0) leavers.splice(index, 1);
  }

  /** The sequence loses its blocks; the step in flight still makes its token, if decided ahead. */
  preempt(row: number): void {
    if (!this.#isAhead) {
      this.current.exclude(row);
      return;
    }
    this.current.leave(row, this.#sequences.request[row]!);
    this.upcoming.exclude(row);
  }

  /** What is ahead is what the entries of steps decided and not landed say. */
  check(): void {
    this.current.check();
    this.upcoming.check();
    const { order, count, aheadTokens } = this.#sequences;
    if (this.#isAhead) return;
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      assert(aheadTokens[row] === 0, () => `steps: row ${row} is ahead by ${aheadTokens[row]}`);
    }
  }

  #count(batch: Batch, sign: 1 | -1): void {
    const { aheadTokens, aheadSamples } = this.#sequences;
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      if (row < 0) continue;
      const tokens = batch.tokens[index]!;
      aheadTokens[row]! += sign * tokens;
      if (batch.isSampled(index)) aheadSamples[row]! += sign;
    }
  }
}
