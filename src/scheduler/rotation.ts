/**
 * Leaves sequences out of a step when the links cannot carry what all of them would read.
 *
 * Called by the scheduler before a step is put together. It corrects a forecast (a lender began to
 * run, lengths were misjudged) and admits nobody: who has waited longest reads first; once somebody
 * was left out more often than the TPOT target allows, the youngest left out is parked, keeps its
 * KV and uses no link. Parked for too long it gets a turn, or is preempted where it cannot be read,
 * so nothing waits for ever. A sequence that no step could carry takes part when its turn comes,
 * and the step is as long as it takes.
 *
 * Invariants: a sequence is active in the cache's read set iff it is neither parked nor left out;
 * what is local is never left out.
 */

import { assert } from "../base/index.ts";
import { LOCAL_SOURCE, type KvCache } from "../kvcache/index.ts";
import type { LinkPort } from "./memory-port.ts";
import type { Sequences } from "./sequences.ts";

/** A read set this much over the balance point is tolerated: the planner's forecast has noise. */
const PORT_SLACK = 1.1;

/** Writes the marks `skips` and `isParked` of Sequences, and who is active in the cache. */
export class Rotation {
  /** Times that a sequence was left out of a step, and that one was parked. */
  rotations = 0;
  parkings = 0;
  readonly #sequences: Sequences;
  readonly #kv: KvCache;
  readonly #link: LinkPort;
  readonly #hostSource: number;
  readonly #usedBytes: Float64Array;
  #skippedCount = 0;
  #parkedCount = 0;
  #order: number[] = [];

  constructor(sequences: Sequences, kv: KvCache, link: LinkPort, hostSource: number) {
    this.#sequences = sequences;
    this.#kv = kv;
    this.#link = link;
    this.#hostSource = hostSource;
    this.#usedBytes = new Float64Array(kv.sourceCount);
  }

  get skippedCount(): number {
    return this.#skippedCount;
  }

  get parkedCount(): number {
    return this.#parkedCount;
  }

  /** Whether somebody is left out: the links carry no more than they do. */
  get isLinkFull(): boolean {
    return this.#skippedCount > 0 || this.#parkedCount > 0;
  }

  /** @param stepNs how long the next step lasts if no group waits for remote bytes. */
  select(stepNs: number, skipsMax: number, nowNs: number): void {
    if (this.#skippedCount > 0) this.#forgiveSkips();
    if (this.#parkedCount > 0) this.#resumeParked(stepNs);
    this.#kv.syncReadSet();
    if (this.#kv.readSet.totalBytes() === 0 || this.#fits(stepNs)) {
      if (this.#skippedCount > 0) this.#clearSkips();
      return;
    }
    this.#leaveOut(stepNs, skipsMax, nowNs);
    this.#kv.syncReadSet();
  }

  /** The sequence keeps its KV and is left out until the links have room for it. */
  park(row: number, nowNs: number): void {
    if (this.#sequences.isParked[row] === 1) return;
    this.#sequences.isParked[row] = 1;
    this.#sequences.parkedSinceNs[row] = nowNs;
    this.#kv.setActive(row, false);
    this.#parkedCount++;
    this.parkings++;
  }

  /**
   * A parked sequence is due as if it had been left out as often as any may be: reading it once is
   * cheaper than computing it again.
   * @returns whether all of it can be read now; if not, it stays parked.
   */
  giveTurn(row: number, skipsMax: number): boolean {
    const { isParked, skips } = this.#sequences;
    for (let source = 1; source < this.#kv.sourceCount; source++) {
      if (this.#kv.blocksAt(row, source) === 0) continue;
      if (this.#link.sourceBytesPerSecond[source] === 0) return false;
    }
    isParked[row] = 0;
    this.#parkedCount--;
    if (skips[row] === 0) this.#skippedCount++;
    skips[row] = Math.max(skips[row]!, skipsMax);
    return true;
  }

  /** Whether blocks of the sequence are in the host's memory or on their way there. */
  isAtHost(row: number): boolean {
    return this.#kv.isBoundFor(row, this.#hostSource);
  }

  /** The row leaves the engine; its marks go with it. */
  forget(row: number): void {
    if (this.#sequences.isParked[row] === 1) this.#parkedCount--;
    this.#sequences.isParked[row] = 0;
    this.#clearSkip(row);
  }

  /** Counts marks again, and sees that who is marked reads nothing. */
  check(): void {
    const { order, count, skips, isParked } = this.#sequences;
    let skipped = 0;
    let parked = 0;
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      if (skips[row]! > 0) skipped++;
      if (isParked[row] === 1) parked++;
      const isReader = skips[row] === 0 && isParked[row] === 0;
      const text = `rotation: row ${row} reads ${!isReader}`;
      const isSame = this.#kv.isActive(row) === isReader;
      assert(isSame, () => `${text}, ${skips[row]} skips, parked ${isParked[row]}`);
    }
    const isKept = skipped === this.#skippedCount && parked === this.#parkedCount;
    assert(isKept, () => `rotation: ${skipped} skipped, ${parked} parked, kept differently`);
  }

  /** @returns whether the links carry within the step what all active sequences read. */
  #fits(stepNs: number): boolean {
    const { readSet, layout } = this.#kv;
    const bytesPerNs = this.#link.portBytesPerSecond / 1e9;
    if (readSet.totalBytes() * layout.layers > bytesPerNs * stepNs * PORT_SLACK) return false;
    for (let source = 1; source < this.#kv.sourceCount; source++) {
      const bytes = (readSet.stagedBytes[source]! + readSet.directBytes[source]!) * layout.layers;
      if (bytes > (this.#link.sourceBytesPerSecond[source]! / 1e9) * stepNs) return false;
    }
    return true;
  }

  #leaveOut(stepNs: number, skipsMax: number, nowNs: number): void {
    const { order, count, lastTokenNs, isParked, skips } = this.#sequences;
    this.#order.length = 0;
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      if (isParked[row] === 1) continue;
      if (this.#isRemote(row)) this.#order.push(row);
      else this.#clearSkip(row);
    }
    this.#order.sort((a, b) => lastTokenNs[a]! - lastTokenNs[b]!);
    this.#usedBytes.fill(0);
    const isAlone = this.#order.length + this.#parkedCount === count;
    let starved = -1;
    let isForced = false;
    for (const row of this.#order) {
      // What no step of usual length could carry makes one step longer when its turn comes.
      const isDue = isAlone || skips[row]! >= skipsMax;
      const isTooLarge = isDue && !isForced && this.#isTooLarge(row, stepNs);
      if (isTooLarge) isForced = true;
      if (isTooLarge || this.#takesPart(row, stepNs)) {
        this.#clearSkip(row);
        continue;
      }
      if (skips[row]! === 0) this.#skippedCount++;
      skips[row]!++;
      this.rotations++;
      this.#kv.setActive(row, false);
      if (skips[row]! > skipsMax) starved = row;
    }
    if (starved >= 0) this.#parkYoungest(nowNs);
  }

  /** Takes the sequence's bytes from the budgets if all of them have room. */
  #takesPart(row: number, stepNs: number): boolean {
    const { blockBytes } = this.#kv.layout;
    let total = this.#usedBytes[LOCAL_SOURCE]!;
    for (let source = 1; source < this.#kv.sourceCount; source++) {
      const blocks = this.#kv.blocksAt(row, source);
      if (blocks === 0) continue;
      const bytes = blocks * blockBytes;
      const budget = (this.#link.sourceBytesPerSecond[source]! / 1e9) * stepNs;
      if (this.#usedBytes[source]! + bytes > budget) return false;
      total += bytes;
    }
    const isRemote = total > this.#usedBytes[LOCAL_SOURCE]!;
    if (isRemote && total > (this.#link.portBytesPerSecond / 1e9) * stepNs) return false;
    for (let source = 1; source < this.#kv.sourceCount; source++) {
      this.#usedBytes[source]! += this.#kv.blocksAt(row, source) * blockBytes;
    }
    // The local entry carries the sum over all sources: nothing local crosses a link.
    this.#usedBytes[LOCAL_SOURCE] = total;
    return true;
  }

  /** Whether a step would be too short for the sequence alone, though all of it can be read. */
  #isTooLarge(row: number, stepNs: number): boolean {
    const { blockBytes } = this.#kv.layout;
    let longestNs = 0;
    let total = 0;
    for (let source = 1; source < this.#kv.sourceCount; source++) {
      const bytes = this.#kv.blocksAt(row, source) * blockBytes;
      if (bytes === 0) continue;
      const bytesPerSecond = this.#link.sourceBytesPerSecond[source]!;
      if (bytesPerSecond === 0) return false;
      longestNs = Math.max(longestNs, (bytes * 1e9) / bytesPerSecond);
      total += bytes;
    }
    return Math.max(longestNs, (total * 1e9) / this.#link.portBytesPerSecond) > stepNs;
  }

  #isRemote(row: number): boolean {
    return this.#kv.blocksAt(row, LOCAL_SOURCE) < this.#kv.blockCount(row);
  }

  #parkYoungest(nowNs: number): void {
    const { order, count, skips, isParked } = this.#sequences;
    for (let index = count - 1; index >= 0; index--) {
      const row = order[index]!;
      if (isParked[row] === 0 && skips[row]! > 0) {
        this.park(row, nowNs);
        return;
      }
    }
  }

  #forgiveSkips(): void {
    const { order, count, skips, isParked } = this.#sequences;
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      if (skips[row]! > 0 && isParked[row] === 0) this.#kv.setActive(row, true);
    }
  }

  #clearSkips(): void {
    const { order, count, isParked } = this.#sequences;
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      if (isParked[row] === 0) this.#clearSkip(row);
    }
  }

  #clearSkip(row: number): void {
    const { skips } = this.#sequences;
    if (skips[row]! > 0) this.#skippedCount--;
    skips[row] = 0;
  }

  /** Brings back parked sequences, oldest first, while the links have room for them. */
  #resumeParked(stepNs: number): void {
    const { order, count, isParked } = this.#sequences;
    const { readSet, layout } = this.#kv;
    this.#kv.syncReadSet();
    this.#usedBytes.fill(0);
    for (let source = 1; source < this.#kv.sourceCount; source++) {
      const perLayer = readSet.stagedBytes[source]! + readSet.directBytes[source]!;
      this.#usedBytes[source] = perLayer * layout.layers;
      this.#usedBytes[LOCAL_SOURCE]! += perLayer * layout.layers;
    }
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      if (isParked[row] === 0 || this.isAtHost(row)) continue;
      if (!this.#takesPart(row, stepNs)) continue;
      isParked[row] = 0;
      this.#clearSkip(row);
      this.#parkedCount--;
      this.#kv.setActive(row, true);
    }
  }
}
