/**
 * Which slot holds which block of which sequence, and the counts per sequence that follow from it.
 *
 * Used by KvCache alone, which keeps it in step with the slots. It does not know whether a slot is
 * free, what a move is, or who reads. A slot is named by its handle: row * blocksPerSlice + slot.
 *
 *     sequence 5:  | handle | handle | ... | handle |   stale   |
 *                    block 0  block 1        count-1
 *                  <------ sealed ------>< open >
 *
 * Invariants: sealed <= count; the counts per source are those of the tables. Entries from `count`
 * on are stale and never read.
 */

import { assert } from "../base/index.ts";

/** Grows with the largest sequence number seen; what is unknown has no blocks. */
export class BlockTables {
  readonly #sourceCount: number;
  readonly #sourceOf: (handle: number) => number;
  readonly #tables: Int32Array[] = [];
  // (sequences)
  #count = new Int32Array(64);
  #sealed = new Int32Array(64);
  #isActive = new Uint8Array(64);
  /** (sequences x sources) */
  #countAt: Int32Array;

  /** @param sourceOf where the slot of a handle lies. */
  constructor(sourceCount: number, sourceOf: (handle: number) => number) {
    this.#sourceCount = sourceCount;
    this.#sourceOf = sourceOf;
    this.#countAt = new Int32Array(64 * sourceCount);
  }

  /** Sequences that were ever named; their numbers are below this. */
  get size(): number {
    return this.#tables.length;
  }

  count(sequence: number): number {
    return this.#count[sequence] ?? 0;
  }

  sealed(sequence: number): number {
    return this.#sealed[sequence] ?? 0;
  }

  countAt(sequence: number, source: number): number {
    return this.#countAt[sequence * this.#sourceCount + source] ?? 0;
  }

  isActive(sequence: number): boolean {
    return this.#isActive[sequence] === 1;
  }

  setActive(sequence: number, isActive: boolean): void {
    this.#ensure(sequence);
    this.#isActive[sequence] = isActive ? 1 : 0;
  }

  /** The first `blocks` blocks are full from now on; at most those there are. */
  seal(sequence: number, blocks: number): void {
    const count = this.count(sequence);
    assert(blocks <= count, () => `block tables: ${blocks} of ${count} blocks sealed`);
    this.#sealed[sequence] = blocks;
  }

  /** The slot of a block below `count`. */
  handle(sequence: number, block: number): number {
    return this.#tables[sequence]![block]!;
  }

  /** Whether the sequence's block lies in that slot, and not in a stale entry. */
  isAt(sequence: number, block: number, handle: number): boolean {
    return block < this.count(sequence) && this.#tables[sequence]![block] === handle;
  }

  /**
   * The sequence's own entries, with room for `blocks`: what is written behind those there are
   * counts once it is appended. Valid until there has to be more room.
   */
  entries(sequence: number, blocks: number): Int32Array {
    this.#ensure(sequence);
    let table = this.#tables[sequence]!;
    if (blocks > table.length) {
      table = new Int32Array(Math.max(blocks, table.length * 2));
      table.set(this.#tables[sequence]!);
      this.#tables[sequence] = table;
    }
    return table;
  }

  append(sequence: number, handle: number): void {
    const block = this.count(sequence);
    this.entries(sequence, block + 1)[block] = handle;
    this.appendWritten(sequence, 1);
  }

  /** The next `blocks` entries are written and lie at one source: they count from now on. */
  appendWritten(sequence: number, blocks: number): void {
    const first = this.#tables[sequence]![this.#count[sequence]!]!;
    this.#count[sequence]! += blocks;
    this.#countAt[this.#at(sequence, first)]! += blocks;
  }

  /** Forgets the blocks from `blocks` on; no-op where there are none. */
  truncate(sequence: number, blocks: number): void {
    const count = this.count(sequence);
    if (blocks === 0) {
      this.#countAt.fill(0, sequence * this.#sourceCount, (sequence + 1) * this.#sourceCount);
    } else {
      for (let block = blocks; block < count; block++) {
        this.#countAt[this.#at(sequence, this.handle(sequence, block))]!--;
      }
    }
    if (blocks < count) this.#count[sequence] = blocks;
    if (blocks < this.sealed(sequence)) this.#sealed[sequence] = blocks;
  }

  /** The block lies elsewhere from now on. @returns the slot it lay in. */
  replace(sequence: number, block: number, handle: number): number {
    const table = this.#tables[sequence]!;
    const old = table[block]!;
    table[block] = handle;
    this.#countAt[this.#at(sequence, old)]!--;
    this.#countAt[this.#at(sequence, handle)]!++;
    return old;
  }

  check(): void {
    for (let sequence = 0; sequence < this.size; sequence++) {
      const counts = new Int32Array(this.#sourceCount);
      const [count, sealed] = [this.count(sequence), this.sealed(sequence)];
      const text = `block tables: sequence ${sequence}`;
      assert(sealed <= count, () => `${text} has sealed ${sealed} of ${count}`);
      for (let block = 0; block < count; block++) {
        counts[this.#sourceOf(this.handle(sequence, block))]!++;
      }
      counts.forEach((found, source) => {
        const kept = this.countAt(sequence, source);
        assert(kept === found, () => `${text} keeps ${kept} at source ${source}, has ${found}`);
      });
    }
  }

  #at(sequence: number, handle: number): number {
    return sequence * this.#sourceCount + this.#sourceOf(handle);
  }

  #ensure(sequence: number): void {
    while (this.#tables.length <= sequence) this.#tables.push(new Int32Array(32));
    if (sequence < this.#count.length) return;
    const capacity = Math.max(sequence + 1, this.#count.length * 2);
    const grow = <T extends Int32Array | Uint8Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.#count = grow(this.#count, new Int32Array(capacity));
    this.#sealed = grow(this.#sealed, new Int32Array(capacity));
    this.#isActive = grow(this.#isActive, new Uint8Array(capacity));
    this.#countAt = grow(this.#countAt, new Int32Array(capacity * this.#sourceCount));
  }
}
