/**
 * Turns what a step reads into a plan: what is staged, what is read in place, how large the ring
 * is.
 *
 * Called by the engine before each step; imagined steps are loan-forecast.ts's. Planning costs
 * what changed: with the same read set, rates and compute the last choice stands.
 *
 * The ring is made of own slices. It grows when an empty slice is there; until then what the ring
 * cannot hold is read in place.
 */

import {
  accessChoice,
  chooseAccess,
  ringBytes,
  type AccessMode,
  type LinkCosts,
  type StepCompute,
} from "../prefetch/index.ts";
import { LOCAL_SOURCE, RowState, type KvCache } from "../kvcache/index.ts";
import type { Residency } from "./residency.ts";

export interface StepPlannerOptions {
  readonly mode: AccessMode;
  readonly link: LinkCosts;
  /** Layers that cross a link together. */
  readonly groupLayers: number;
}

/**
 * The ring shrinks to the most that two windows of so many steps needed: steps that also take in
 * prompts stage less, and what they let go the next step would have to empty again.
 */
const RING_WINDOW_STEPS = 64;

/** A choice of access modes is looked for anew after so many steps, whatever has changed. */
const SEARCH_EVERY_STEPS = 32;

/** Own slices that are emptied for the ring at one time: what is in them needs room elsewhere. */
const VACATING_MAX = 4;

/** What a full search was made for, and the shares it found. */
interface Search {
  linearNs: number;
  attentionNs: number;
  bytes: number;
  ageSteps: number;
  /** (sources) */
  readonly stagedShare: Float64Array;
  readonly rates: Float64Array;
}

export class StepPlanner {
  readonly groupLayers: number;
  readonly #options: StepPlannerOptions;
  readonly #kv: KvCache;
  readonly #choice: ReturnType<typeof accessChoice>;
  readonly #bytes: Float64Array;
  readonly #runs: Float64Array;
  readonly #ringRows: number[] = [];
  /** Own slices that the ring should have, and those being emptied for it. */
  #neededSlices = 0;
  /** The most that was needed in the last whole window of steps, and in the one that runs. */
  #lastWindowSlices = 0;
  #windowSlices = 0;
  #windowSteps = 0;
  readonly #vacating: number[] = [];
  /** Last full searches: for steps that only decode, and for steps that also take in prompts. */
  readonly #decodeSearch: Search;
  readonly #promptSearch: Search;

  constructor(options: StepPlannerOptions, kv: KvCache) {
    this.#options = options;
    this.groupLayers = options.groupLayers;
    this.#kv = kv;
    this.#choice = accessChoice(kv.sourceCount);
    this.#bytes = new Float64Array(kv.sourceCount);
    this.#runs = new Float64Array(kv.sourceCount);
    this.#decodeSearch = newSearch(kv.sourceCount);
    this.#promptSearch = newSearch(kv.sourceCount);
  }

  get ringSlices(): number {
    return this.#ringRows.length;
  }

  /** The ring's slices in the order in which they joined it; changes when a step is planned. */
  get ringRows(): readonly number[] {
    return this.#ringRows;
  }

  /** Chooses access modes for the active read set. */
  plan(compute: StepCompute, hasPrompts: boolean, sourceBytesPerSecond: Float64Array): void {
    const { readSet } = this.#kv;
    if (readSet.totalBytes() === 0) {
      if (this.#ringRows.length > 0) this.#fitRing(0);
      return;
    }
    let bytes = 0;
    for (let source = 1; source < this.#kv.sourceCount; source++) {
      this.#bytes[source] = readSet.stagedBytes[source]! + readSet.directBytes[source]!;
      bytes += this.#bytes[source]!;
    }
    const last = hasPrompts ? this.#promptSearch : this.#decodeSearch;
    if (this.#isStale(last, compute, bytes, sourceBytesPerSecond)) {
      this.#search(last, compute, bytes, sourceBytesPerSecond);
    }
    const staged = this.#choice.stagedBytesPerLayer;
    let total = 0;
    for (let source = 1; source < staged.length; source++) {
      staged[source] = last.stagedShare[source]! * this.#bytes[source]!;
      total += staged[source]!;
    }
    const room = this.#fitRing(total);
    if (room < total) {
      for (let source = 1; source < staged.length; source++) staged[source]! *= room / total;
    }
    readSet.rebalance(staged);
  }

  /** Whether the question has moved so far from the last search that its shares may be wrong. */
  #isStale(
    last: Search,
    compute: StepCompute,
    bytes: number,
    sourceBytesPerSecond: Float64Array,
  ): boolean {
    if (++last.ageSteps >= SEARCH_EVERY_STEPS) return true;
    if (isFar(compute.linearLayerNs, last.linearNs, 0.1)) return true;
    if (isFar(compute.attentionLayerNs, last.attentionNs, 0.05)) return true;
    if (isFar(bytes, last.bytes, 0.03)) return true;
    for (let source = 1; source < sourceBytesPerSecond.length; source++) {
      if (sourceBytesPerSecond[source] !== last.rates[source]) return true;
    }
    return false;
  }

  #search(
    last: Search,
    compute: StepCompute,
    bytes: number,
    sourceBytesPerSecond: Float64Array,
  ): void {
    const { readSet } = this.#kv;
    for (let source = 1; source < this.#kv.sourceCount; source++) {
      this.#runs[source] = readSet.stagedRuns[source]! + readSet.directRuns[source]!;
    }
    const { mode, link } = this.#options;
    chooseAccess(
      mode,
      compute,
      link,
      this.groupLayers,
      this.#bytes,
      this.#runs,
      sourceBytesPerSecond,
      this.#choice,
    );
    const staged = this.#choice.stagedBytesPerLayer;
    for (let source = 1; source < staged.length; source++) {
      const has = this.#bytes[source]!;
      last.stagedShare[source] = has > 0 ? staged[source]! / has : 1;
    }
    last.linearNs = compute.linearLayerNs;
    last.attentionNs = compute.attentionLayerNs;
    last.bytes = bytes;
    last.ageSteps = 0;
    last.rates.set(sourceBytesPerSecond);
  }

  /**
   * Between steps: makes own slices empty for a ring that is too small, a few at a time, by moving
   * what is in them out to borrowed slices.
   */
  growRing(residency: Residency, nowNs: number): void {
    const { slices } = this.#kv;
    const missing = this.#neededSlices - this.#ringRows.length;
    while (this.#vacating.length < Math.min(missing, VACATING_MAX)) {
      const row = this.#leastUsedOwnRow();
      if (row < 0) break;
      // Closed at once, or it would be found again.
      slices.close(row);
      this.#vacating.push(row);
    }
    for (let index = this.#vacating.length - 1; index >= 0; index--) {
      const row = this.#vacating[index]!;
      if (slices.used[row]! > 0) {
        residency.vacate(row, nowNs);
        continue;
      }
      this.#vacating.splice(index, 1);
      slices.reopen(row);
      if (this.#ringRows.length >= this.#neededSlices) continue;
      slices.reserveForRing(row);
      this.#ringRows.push(row);
    }
  }

  /** No sequence is left: the ring's slices serve whoever comes next. */
  releaseRing(): void {
    const { slices } = this.#kv;
    this.#neededSlices = 0;
    this.#windowSlices = 0;
    this.#lastWindowSlices = 0;
    for (const row of this.#vacating) slices.reopen(row);
    this.#vacating.length = 0;
    while (this.#ringRows.length > 0) slices.releaseFromRing(this.#ringRows.pop()!);
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

  /**
   * Grows or shrinks the ring towards what is needed. @returns staged bytes per layer it can hold.
   */
  #fitRing(stagedBytesPerLayer: number): number {
    const { slices, layout } = this.#kv;
    const needed = Math.ceil(ringBytes(this.groupLayers, stagedBytesPerLayer) / layout.sliceBytes);
    this.#neededSlices = this.#recentlyNeeded(needed);
    while (this.#ringRows.length < needed) {
      const row = slices.emptyRow(LOCAL_SOURCE);
      if (row < 0) break;
      slices.reserveForRing(row);
      this.#ringRows.push(row);
    }
    // One slice more than needed stays: the need moves a little with every step.
    while (this.#ringRows.length > this.#neededSlices + 1) {
      slices.releaseFromRing(this.#ringRows.pop()!);
    }
    return (this.#ringRows.length * layout.sliceBytes) / (2 * this.groupLayers);
  }

  #recentlyNeeded(slices: number): number {
    if (++this.#windowSteps > RING_WINDOW_STEPS) {
      this.#lastWindowSlices = this.#windowSlices;
      this.#windowSlices = 0;
      this.#windowSteps = 1;
    }
    this.#windowSlices = Math.max(this.#windowSlices, slices);
    return Math.max(this.#windowSlices, this.#lastWindowSlices);
  }
}

/** Whether a value has moved by more than a share of what it was. */
function isFar(value: number, before: number, share: number): boolean {
  return Math.abs(value - before) > share * before;
}

function newSearch(sourceCount: number): Search {
  const stagedShare = new Float64Array(sourceCount);
  const rates = new Float64Array(sourceCount);
  return { linearNs: 0, attentionNs: 0, bytes: 0, ageSteps: 0, stagedShare, rates };
}
