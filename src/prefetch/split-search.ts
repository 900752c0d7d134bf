/**
 * The search for the best split of one layer's remote bytes into staged and direct ones.
 *
 * Used by access-mode.ts alone, which keeps one instance: its fields are scratch of one call, so
 * that choosing allocates nothing.
 *
 * The idea: fix the time t in which a layer's direct reads cross. Then reading more directly
 * within t never hurts (staged bytes cost two trips through HBM and a copy each), so lender l is
 * read directly for min(R_l, t rate_l) bytes, and where the port allows no more than t N together,
 * the lenders with the shortest runs go first, for their copies cost most. What is left is a
 * function of t alone; it is the partial minimum of a linear program, hence convex, and a
 * golden-section search finds its least value.
 *
 * Invariant: after `settle` the loads are those of the staged bytes written.
 */

import { assert } from "../base/index.ts";
import { weighedStepNs, type LayerLoads } from "./step-bound.ts";
import type { LinkCosts, StepCompute } from "./step-compute.ts";

/** More lenders than any server has; bounds the scratch. */
const SOURCES_MAX = 64;
const GOLDEN = (Math.sqrt(5) - 1) / 2;
/** 0.618^40 is 4e-9 of the searched range. */
const SEARCH_ROUNDS = 40;
/** Among equal steps the one with less compute is taken: it waits less when a forecast errs. */
const COMPUTE_WEIGHT = 1e-4;

/** Everything is per layer; arrays are by source and belong to the caller. */
export class SplitSearch {
  readonly loads: LayerLoads = { stagedBytes: 0, directBytes: 0, directNs: 0, linkNs: 0 };
  /** Sources that hold bytes; shortest runs first, whose copies are most a byte. */
  readonly #fillOrder = new Int32Array(SOURCES_MAX);
  #fillCount = 0;
  /** (ranks) the columns below in that order: they are walked some fifty times a search. */
  readonly #rankBytes = new Float64Array(SOURCES_MAX);
  readonly #rankRuns = new Float64Array(SOURCES_MAX);
  readonly #rankRate = new Float64Array(SOURCES_MAX);
  #compute!: StepCompute;
  #groupLayers = 1;
  #bytes!: Float64Array;
  #runs!: Float64Array;
  #staged!: Float64Array;
  #portBytesPerSecond = 0;
  /** A run's copy moves a whole group: its cost is spread over the group's layers. */
  #copyNsPerRun = 0;
  #totalBytes = 0;
  /** What the slowest lender needs for its bytes, however they are read. */
  #slowestNs = 0;
  /** What the port needs for all bytes; and the longer of both. */
  #portNs = 0;
  #allDirectNs = 0;

  /** Takes the question; `staged` is where `settle` writes the answer. */
  begin(
    compute: StepCompute,
    link: LinkCosts,
    groupLayers: number,
    bytes: Float64Array,
    runs: Float64Array,
    bytesPerSecond: Float64Array,
    staged: Float64Array,
  ): void {
    assert(bytes.length <= SOURCES_MAX, "access mode: too many sources");
    assert(staged.length === bytes.length, "access mode: the answer has other sources");
    this.#compute = compute;
    this.#groupLayers = groupLayers;
    this.#bytes = bytes;
    this.#runs = runs;
    this.#staged = staged;
    this.#portBytesPerSecond = link.portBytesPerSecond;
    const groupCount = Math.ceil(compute.layers / groupLayers);
    this.#copyNsPerRun = (link.copyCostNs * groupCount) / compute.layers;
    this.#totalBytes = 0;
    this.#slowestNs = 0;
    this.#fillCount = 0;
    staged.fill(0);
    for (let source = 0; source < bytes.length; source++) {
      const sourceBytes = bytes[source]!;
      if (sourceBytes === 0) continue;
      const rate = bytesPerSecond[source]!;
      assert(rate > 0, () => `access mode: ${sourceBytes} bytes at unreadable source ${source}`);
      this.#totalBytes += sourceBytes;
      this.#slowestNs = Math.max(this.#slowestNs, (sourceBytes * 1e9) / rate);
      this.#insertByRunLength(source);
    }
    this.#portNs = (this.#totalBytes * 1e9) / this.#portBytesPerSecond;
    this.#allDirectNs = Math.max(this.#slowestNs, this.#portNs);
    for (let rank = 0; rank < this.#fillCount; rank++) {
      const source = this.#fillOrder[rank]!;
      this.#rankBytes[rank] = bytes[source]!;
      this.#rankRuns[rank] = runs[source]!;
      this.#rankRate[rank] = bytesPerSecond[source]!;
    }
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** The time in which every byte is read directly. */
  get allDirectNs(): number {
    return this.#allDirectNs;
  }

  /** @returns the direct time, in [0, allDirectNs], whose split makes the step shortest. */
  bestDirectNs(): number {
    const endNs = this.allDirectNs;
    let low = 0;
    let high = endNs;
    let left = high - GOLDEN * (high - low);
    let right = low + GOLDEN * (high - low);
    let leftCost = this.#cost(left);
    let rightCost = this.#cost(right);
    for (let round = 0; round < SEARCH_ROUNDS; round++) {
      if (leftCost <= rightCost) {
        high = right;
        right = left;
        rightCost = leftCost;
        left = high - GOLDEN * (high - low);
        leftCost = this.#cost(left);
      } else {
        low = left;
        left = right;
        leftCost = rightCost;
        right = low + GOLDEN * (high - low);
        rightCost = this.#cost(right);
      }
    }
    // The ends are named exactly, so that "all" leaves no crumb of a byte behind.
    const inside = Math.min(leftCost, rightCost);
    const allDirectCost = this.#cost(endNs);
    if (this.#cost(0) <= Math.min(inside, allDirectCost)) return 0;
    if (allDirectCost <= inside) return endNs;
    return leftCost <= rightCost ? left : right;
  }

  /** Writes the split of this direct time into `staged` and its loads into `loads`. */
  settle(directNs: number): void {
    this.#split(directNs, this.#staged);
  }

  /** @param staged (sourceCount) takes the answer; `null` where only the loads are wanted. */
  #split(directNs: number, staged: Float64Array | null): void {
    const isAllDirect = directNs >= this.allDirectNs && directNs > 0;
    const budgetBytes = (directNs * this.#portBytesPerSecond) / 1e9;
    const [rankBytes, rankRuns, rankRate] = [this.#rankBytes, this.#rankRuns, this.#rankRate];
    const copyNsPerRun = this.#copyNsPerRun;
    let directBytes = 0;
    let copyNs = 0;
    for (let rank = 0; rank < this.#fillCount; rank++) {
      const bytes = rankBytes[rank]!;
      const reachBytes = (directNs * rankRate[rank]!) / 1e9;
      const direct = isAllDirect
        ? bytes
        : Math.max(Math.min(bytes, reachBytes, budgetBytes - directBytes), 0);
      directBytes += direct;
      if (staged !== null) staged[this.#fillOrder[rank]!] = bytes - direct;
      copyNs += ((bytes - direct) / bytes) * rankRuns[rank]! * copyNsPerRun;
    }
    this.loads.directBytes = directBytes;
    this.loads.stagedBytes = isAllDirect ? 0 : this.#totalBytes - directBytes;
    this.loads.directNs = directNs;
    const linkNs = Math.max(copyNs + this.#portNs, this.#slowestNs);
    this.loads.linkNs = this.#totalBytes === 0 ? 0 : linkNs;
  }

  #cost(directNs: number): number {
    this.#split(directNs, null);
    return weighedStepNs(this.#compute, this.loads, this.#groupLayers, COMPUTE_WEIGHT);
  }

  #insertByRunLength(source: number): void {
    const order = this.#fillOrder;
    let rank = this.#fillCount++;
    while (rank > 0 && this.#isShorter(source, order[rank - 1]!)) {
      order[rank] = order[rank - 1]!;
      rank--;
    }
    order[rank] = source;
  }

  /** Whether a run at `source` holds fewer bytes than one at `other`. */
  #isShorter(source: number, other: number): boolean {
    return this.#bytes[source]! * this.#runs[other]! < this.#bytes[other]! * this.#runs[source]!;
  }
}
