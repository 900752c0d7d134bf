/** A memory port over own slices, of which some are lent and come back when the test says so. */

import type { KvCache } from "../../src/kvcache/index.ts";
import type { MemoryAnswer, MemoryPort } from "../../src/scheduler/index.ts";

export const BLOCKS_PER_SLICE = 4;

/** Own slices, of which some are lent. What is asked for comes when `deliver` is called. */
export class StubMemory implements MemoryPort {
  chunkReserveBlocks = 0;
  /** More slices that could be borrowed at the very most. */
  borrowableSlices = 0;
  isComing = false;
  readonly isElastic = true;
  readonly lent: number[] = [];
  readonly #kv: KvCache;
  readonly #ownSlices: number;

  constructor(kv: KvCache, ownSlices: number) {
    this.#kv = kv;
    this.#ownSlices = ownSlices;
  }

  obtainLocal(blocks: number): MemoryAnswer {
    if (this.#kv.slices.freeBlocks[0]! >= blocks) return "ready";
    if (this.lent.length === 0) return "none";
    this.isComing = true;
    return "coming";
  }

  capacityBlocks(): number {
    return this.#ownSlices * BLOCKS_PER_SLICE;
  }

  capacityMaxBlocks(): number {
    return (this.#ownSlices + this.borrowableSlices) * BLOCKS_PER_SLICE;
  }

  freeBlocks(): number {
    return this.#kv.slices.freeBlocks[0]! + this.lent.length * BLOCKS_PER_SLICE;
  }

  freeLocalBlocks(): number {
    return this.#kv.slices.freeBlocks[0]!;
  }

  lend(): void {
    const row = this.#kv.slices.emptyRow(0);
    if (row < 0) return;
    this.#kv.slices.drop(row);
    this.lent.push(row);
  }

  deliver(): void {
    for (const row of this.lent.splice(0)) this.#kv.slices.admit(row);
    this.isComing = false;
  }
}
