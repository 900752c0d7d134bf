/**
 * Which source takes blocks that must go somewhere: out, home, to another lender, to the host.
 *
 * Asked by Residency, the recall ladder and the lender watch, which decide that blocks move; this
 * only says where to. It knows free blocks and who runs, not sequences.
 *
 * A lender that runs and is paced is busy: it takes blocks only as far as its share can carry them
 * within a step. One that has hardly run lately is calm.
 */

import { LOCAL_SOURCE, type Arena, type KvCache } from "../kvcache/index.ts";

export class Places {
  /** Local blocks kept free from refugees: the next steps' growth. */
  localReserveBlocks = 0;
  /**
   * Set from when a sequence leaves the step in flight until that ends: the step may still write
   * blocks that are free by then, so no copy may land there.
   */
  isHomeClosed = false;
  /** (sources) moves under way that leave a source. */
  readonly leaving: Int32Array;
  /** (sources) bytes that a running lender's share carries in a step; Infinity: not paced. */
  readonly sharedBytes: Float64Array;
  /** (sources) 1 for calm lenders; set by the lender watch. */
  readonly isCalm: Uint8Array;
  readonly #kv: KvCache;
  readonly #arena: Arena;

  constructor(kv: KvCache, arena: Arena) {
    this.#kv = kv;
    this.#arena = arena;
    this.leaving = new Int32Array(kv.sourceCount);
    this.isCalm = new Uint8Array(kv.sourceCount);
    this.sharedBytes = new Float64Array(kv.sourceCount).fill(Infinity);
  }

  /** Slices of a running lender that are worth holding. */
  sharedRows(source: number): number {
    return Math.floor(this.sharedBytes[source]! / this.#kv.layout.sliceBytes);
  }

  /** Blocks that could leave `source` right now without a new lease. */
  refugeBlocks(source: number): number {
    let free = this.homeBlocks();
    for (let other = 1; other < this.#arena.hostSource; other++) {
      if (other !== source && !this.#isBusy(other)) free += this.#free(other);
    }
    return free;
  }

  /** Local blocks that refugees may take. */
  homeBlocks(): number {
    if (this.isHomeClosed) return 0;
    return Math.max(0, this.#free(LOCAL_SOURCE) - this.localReserveBlocks);
  }

  /** @returns a source for blocks that leave `source`, nearest first; -1 when there is none. */
  refuge(source: number, isHostAllowed: boolean): number {
    if (source !== LOCAL_SOURCE && this.homeBlocks() > 0) return LOCAL_SOURCE;
    const lender = this.#roomiest(source, (other) => !this.#isBusy(other));
    if (lender >= 0 || !isHostAllowed) return lender;
    return this.#free(this.#arena.hostSource) > 0 ? this.#arena.hostSource : -1;
  }

  /** @returns a calm lender with room, or -1. */
  calm(source: number): number {
    return this.#roomiest(source, (other) => this.isCalm[other] === 1);
  }

  /**
   * @returns where local blocks go: the least to read, running lenders within their budget; or -1.
   */
  outward(): number {
    const { slices, layout } = this.#kv;
    let best = -1;
    for (let source = 1; source < this.#arena.hostSource; source++) {
      if (this.#free(source) <= 0) continue;
      if (this.#isBusy(source)) {
        const next = (slices.usedBlocks[source]! + layout.blocksPerSlice) * layout.blockBytes;
        if (next > this.sharedBytes[source]! || this.leaving[source]! > 0) continue;
      }
      if (best < 0 || this.#isBetterOutward(source, best)) best = source;
    }
    return best;
  }

  /** Borrowed blocks that nothing is in. */
  outwardBlocks(): number {
    let free = 0;
    for (let source = 1; source < this.#arena.hostSource; source++) free += this.#free(source);
    return free;
  }

  /** Lenders that do not run come first, then those with less of this engine's blocks. */
  #isBetterOutward(source: number, best: number): boolean {
    if (this.#isBusy(source) !== this.#isBusy(best)) return this.#isBusy(best);
    return this.#kv.slices.usedBlocks[source]! < this.#kv.slices.usedBlocks[best]!;
  }

  #roomiest(source: number, isAllowed: (other: number) => boolean): number {
    let best = -1;
    for (let other = 1; other < this.#arena.hostSource; other++) {
      if (other === source || this.#free(other) === 0 || !isAllowed(other)) continue;
      if (best < 0 || this.#free(other) > this.#free(best)) best = other;
    }
    return best;
  }

  #free(source: number): number {
    return this.#kv.slices.freeBlocks[source]!;
  }

  #isBusy(source: number): boolean {
    return this.#arena.isLenderRunning[source - 1] === 1 && this.sharedBytes[source]! < Infinity;
  }
}
