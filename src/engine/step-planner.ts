/**
 * Turns what a step reads into a plan: what is staged, what is read in place, how large the ring
 * is.
 *
 * Called by the engine before each step; imagined steps are loan-forecast.ts's. Planning costs
 * what changed: with the same read set, rates and compute the last choice stands.
 *
 * What the ring cannot hold is read in place (staging-ring.ts says how it grows).
 */

import {
  accessChoice,
  chooseAccess,
  ringBytes,
  type AccessMode,
  type LinkCosts,
  type StepCompute,
} from "../prefetch/index.ts";
import type { KvCache } from "../kvcache/index.ts";
import type { Residency } from "./residency.ts";
import { StagingRing } from "./staging-ring.ts";

export interface StepPlannerOptions {
  readonly mode: AccessMode;
  readonly link: LinkCosts;
  /** Layers that cross a link together. */
  readonly groupLayers: number;
}

/** A choice of access modes is looked for anew after so many steps, whatever has changed. */
const SEARCH_EVERY_STEPS = 32;

/** Of what is read: a split that stages so much less than is best is too coarse. */
const COARSE_SHARE = 0.1;

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
  readonly ring: StagingRing;
  /** Last full searches: for steps that only decode, and for steps that also take in prompts. */
  readonly #decodeSearch: Search;
  readonly #promptSearch: Search;

  constructor(options: StepPlannerOptions, kv: KvCache) {
    this.#options = options;
    this.groupLayers = options.groupLayers;
    this.ring = new StagingRing(kv);
    this.#kv = kv;
    this.#choice = accessChoice(kv.sourceCount);
    this.#bytes = new Float64Array(kv.sourceCount);
    this.#runs = new Float64Array(kv.sourceCount);
    this.#decodeSearch = newSearch(kv.sourceCount);
    this.#promptSearch = newSearch(kv.sourceCount);
  }

  /**
   * Between steps: the ring grows towards what steps need. With loans it has a slice from the
   * start, without them none; a lone sequence may need its slices for itself.
   */
  keepRing(hasLoans: boolean, isShared: boolean, residency: Residency, nowNs: number): void {
    if (!hasLoans) {
      this.ring.release();
      return;
    }
    this.ring.leastSlices = isShared && this.#options.mode !== "direct" ? 1 : 0;
    this.ring.grow(residency, nowNs);
  }

  /** Chooses access modes for the active read set. */
  plan(compute: StepCompute, hasPrompts: boolean, sourceBytesPerSecond: Float64Array): void {
    const { readSet } = this.#kv;
    if (readSet.totalBytes() === 0) {
      if (!this.ring.isEmpty || this.ring.leastSlices > 0) this.ring.fit(0);
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
    let wanted = 0;
    for (let source = 1; source < staged.length; source++) {
      staged[source] = last.stagedShare[source]! * this.#bytes[source]!;
      wanted += staged[source]!;
    }
    const room = this.#fitRing(wanted);
    if (room < wanted) {
      for (let source = 1; source < staged.length; source++) staged[source]! *= room / wanted;
    }
    readSet.rebalance(staged);
    if (room >= wanted) this.#stageRather(wanted, bytes);
  }

  /**
   * A few large accesses are split coarsely. What attention does not hide of direct reads every
   * step waits for; what is staged beyond the best split costs hardly anything, if the ring has
   * room for it.
   */
  #stageRather(targetBytes: number, bytes: number): void {
    const { readSet } = this.#kv;
    if (targetBytes - total(readSet.stagedBytes) <= COARSE_SHARE * bytes) return;
    readSet.rebalance(this.#choice.stagedBytesPerLayer, false);
    const staged = total(readSet.stagedBytes);
    if (this.#fitRing(staged) < staged) readSet.rebalance(this.#choice.stagedBytesPerLayer);
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

  /** @returns staged bytes per layer that the ring can hold. */
  #fitRing(stagedBytesPerLayer: number): number {
    const { layout } = this.#kv;
    const { groupLayers, ring } = this;
    ring.fit(Math.ceil(ringBytes(groupLayers, stagedBytesPerLayer) / layout.sliceBytes));
    return (ring.rows.length * layout.sliceBytes) / (2 * groupLayers);
  }
}

function total(bytes: Float64Array): number {
  let sum = 0;
  for (let source = 0; source < bytes.length; source++) sum += bytes[source]!;
  return sum;
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
