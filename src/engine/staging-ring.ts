/**
 * Own slices that hold what is staged: how many there are, and how others are emptied for more.
 *
 * Owned by the step planner, which says before each step how many it needs; grown by the engine
 * between steps. It knows slices, not what is staged in them.
 *
 *     USABLE --empty, or emptied--> RING --no longer needed--> USABLE
 *        |                            ^
 *        +--closed--> VACATING -------+   its blocks move out to borrowed slices, a few at once
 *
 * An engine that holds loans keeps a slice for the ring from the start: once prompts have filled
 * all that was borrowed there is no room left to empty one, and every read would be in place.
 *
 * Invariants: ring and vacating rows are own; without loans there are neither.
 */

import { LOCAL_SOURCE, RowState, type KvCache } from "../kvcache/index.ts";
import type { Residency } from "./residency.ts";

/**
 * The ring shrinks to the most that two windows of so many steps needed: steps that also take in
 * prompts stage less, and what they let go the next step would have to empty again.
 */
const WINDOW_STEPS = 64;
/** Own slices that are emptied at one time: what is in them needs room elsewhere. */
const VACATING_MAX = 4;

export class StagingRing {
  /** In the order in which they joined. */
  readonly rows: number[] = [];
  /** Kept whatever steps need: for loans that nothing is read from yet. */
  leastSlices = 0;
  readonly #kv: KvCache;
  readonly #vacating: number[] = [];
  #neededSlices = 0;
  /** The most that was needed in the last whole window of steps, and in the one that runs. */
  #lastWindowSlices = 0;
  #windowSlices = 0;
  #windowSteps = 0;

  constructor(kv: KvCache) {
    this.#kv = kv;
  }

  /** Own slices that serve no sequence, or soon will not. */
  get slices(): number {
    return Math.max(this.rows.length, this.#wanted);
  }

  /** Whether it has no slice and waits for none. */
  get isEmpty(): boolean {
    return this.rows.length === 0 && this.#vacating.length === 0;
  }

  get #wanted(): number {
    return Math.max(this.#neededSlices, this.leastSlices);
  }

  /** Grows, as far as empty slices are there, or shrinks towards what a step needs. */
  fit(needed: number): void {
    const { slices } = this.#kv;
    this.#neededSlices = this.#recentlyNeeded(needed);
    while (this.rows.length < Math.max(needed, this.leastSlices)) {
      const row = slices.emptyRow(LOCAL_SOURCE);
      if (row < 0) break;
      slices.reserveForRing(row);
      this.rows.push(row);
    }
    // One slice more than needed stays: the need moves a little with every step.
    const kept = this.#wanted === 0 ? 0 : this.#wanted + 1;
    while (this.rows.length > kept) slices.releaseFromRing(this.rows.pop()!);
    while (this.rows.length + this.#vacating.length > kept && this.#vacating.length > 0) {
      slices.reopen(this.#vacating.pop()!);
    }
  }

  /**
   * Between steps: makes own slices empty for a ring that is too small, by moving what is in them
   * out to borrowed slices.
   */
  grow(residency: Residency, nowNs: number): void {
    const { slices } = this.#kv;
    const missing = this.#wanted - this.rows.length;
    while (this.#vacating.length < Math.min(missing, VACATING_MAX)) {
      const row = this.#leastUsedOwnRow();
      if (row < 0) break;
      // Closed at once, or it would be found again.
      slices.close(row);
      this.#vacating.push(row);
    }
    let keptBlocks = 0;
    for (let index = this.#vacating.length - 1; index >= 0; index--) {
      const row = this.#vacating[index]!;
      if (slices.used[row]! > 0) {
        residency.vacate(row, nowNs);
        keptBlocks += slices.used[row]!;
        continue;
      }
      this.#vacating.splice(index, 1);
      slices.reopen(row);
      if (this.rows.length >= this.#wanted) continue;
      slices.reserveForRing(row);
      this.rows.push(row);
    }
    residency.ringBlocks = keptBlocks;
  }

  /** No loan or no sequence is left, or a lone one needs all: the slices serve whoever comes. */
  release(): void {
    const { slices } = this.#kv;
    this.leastSlices = 0;
    this.#neededSlices = 0;
    this.#windowSlices = 0;
    this.#lastWindowSlices = 0;
    for (const row of this.#vacating) slices.reopen(row);
    // Without loans this is called at every step, and emptying a list costs even if it is empty.
    if (this.#vacating.length > 0) this.#vacating.length = 0;
    while (this.rows.length > 0) slices.releaseFromRing(this.rows.pop()!);
  }

  /** The usable own slice with the fewest blocks in it. */
  #leastUsedOwnRow(): number {
    const { slices } = this.#kv;
    let best = -1;
    for (let row = 0; row < slices.source.length; row++) {
      if (slices.source[row] !== LOCAL_SOURCE || slices.state[row] !== RowState.Usable) continue;
      if (best < 0 || slices.used[row]! < slices.used[best]!) best = row;
    }
    return best;
  }

  #recentlyNeeded(slices: number): number {
    if (++this.#windowSteps > WINDOW_STEPS) {
      this.#lastWindowSlices = this.#windowSlices;
      this.#windowSlices = 0;
      this.#windowSteps = 1;
    }
    this.#windowSlices = Math.max(this.#windowSlices, slices);
    return Math.max(this.#windowSlices, this.#lastWindowSlices);
  }
}
