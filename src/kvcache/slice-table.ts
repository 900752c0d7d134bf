/**
 * The slices an engine may use, own and borrowed alike, and which block slots in them are taken.
 *
 * Called by KvCache only. It knows where a slice lies (its source) but not what a sequence is: a
 * slot holds an opaque owner and index. A row is a slice's server-wide id, so no map is needed.
 *
 *               admit                      close                  drop (when empty)
 *     ABSENT ----------> USABLE ----------------------> CLOSING ------------------> ABSENT
 *                          ^  |  reserve (when empty)      |
 *                          |  v                            | reopen
 *                         RING                             v
 *                                                        USABLE
 *
 * Usable rows of one source with equally many free slots form one list, so the fullest row with
 * room is found at once: blocks are packed, and whole rows stay free for lending. Of equally full
 * rows the last one to become so is taken, or the first where the table is told so.
 *
 * Invariants: used + free = blocksPerSlice for every row; a row is in exactly one list if it is
 * USABLE and in none otherwise.
 */

import { assert } from "../base/index.ts";

/** See the drawing above; CLOSING and RING rows take no new blocks. */
export const RowState = { Absent: 0, Usable: 1, Closing: 2, Ring: 3 } as const;
export type RowState = (typeof RowState)[keyof typeof RowState];

const NONE = -1;

/** A misuse is an assertion; only `emptyRow` and `fullestRow` may miss. */
export class SliceTable {
  readonly blocksPerSlice: number;
  readonly sourceCount: number;
  /** (rows) which source a row belongs to; 0 is the engine's own device. */
  readonly source: Int16Array;
  readonly state: Uint8Array;
  /** (rows) slots taken. */
  readonly used: Int32Array;
  /** (rows x blocksPerSlice) opaque owner of the slot, or -1. */
  readonly slotOwner: Int32Array;
  /** (rows x blocksPerSlice) the owner's index for the slot. */
  readonly slotIndex: Int32Array;
  /** (sources) free slots in USABLE rows. */
  readonly freeBlocks: Float64Array;
  /** (sources) USABLE rows without any taken slot. */
  readonly emptyRows: Int32Array;
  /** (sources) rows that are not ABSENT. */
  readonly heldRows: Int32Array;
  /** (sources) slots taken in any row. */
  readonly usedBlocks: Float64Array;

  readonly #isFirstFreedFirst: boolean;
  /** (rows) no slot below this one is free; (sources) no list of fewer free slots has a row. */
  readonly #freeSlotMin: Int32Array;
  readonly #freeListMin: Int32Array;
  readonly #head: Int32Array;
  readonly #tail: Int32Array;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;

  /**
   * @param source (rows) the source of every row, fixed for the life of the table.
   * @param isFirstFreedFirst of equally full rows, the one that has been so for longest is taken.
   */
  constructor(
    source: Int16Array,
    sourceCount: number,
    blocksPerSlice: number,
    isFirstFreedFirst = false,
  ) {
    const rows = source.length;
    this.source = source;
    this.sourceCount = sourceCount;
    this.blocksPerSlice = blocksPerSlice;
    this.state = new Uint8Array(rows);
    this.used = new Int32Array(rows);
    this.slotOwner = new Int32Array(rows * blocksPerSlice).fill(NONE);
    this.slotIndex = new Int32Array(rows * blocksPerSlice);
    this.freeBlocks = new Float64Array(sourceCount);
    this.emptyRows = new Int32Array(sourceCount);
    this.heldRows = new Int32Array(sourceCount);
    this.usedBlocks = new Float64Array(sourceCount);
    this.#isFirstFreedFirst = isFirstFreedFirst;
    this.#freeSlotMin = new Int32Array(rows);
    this.#freeListMin = new Int32Array(sourceCount).fill(1);
    this.#head = new Int32Array(sourceCount * (blocksPerSlice + 1)).fill(NONE);
    this.#tail = new Int32Array(this.#head.length).fill(NONE);
    this.#next = new Int32Array(rows).fill(NONE);
    this.#previous = new Int32Array(rows).fill(NONE);
  }

  /** The engine may use this slice from now on. */
  admit(row: number): void {
    assert(this.state[row] === RowState.Absent, () => `slice table: row ${row} admitted twice`);
    this.heldRows[this.source[row]!]!++;
    this.#makeUsable(row);
  }

  /** No new blocks go there; what is there stays until it is freed. */
  close(row: number): void {
    this.#leaveUsable(row);
    this.state[row] = RowState.Closing;
  }

  reopen(row: number): void {
    assert(this.state[row] === RowState.Closing, () => `slice table: row ${row} is not closing`);
    this.#makeUsable(row);
  }

  /** The engine gives the slice up; it must be empty. */
  drop(row: number): void {
    const used = this.used[row]!;
    assert(used === 0, () => `slice table: row ${row} dropped with ${used} blocks`);
    if (this.state[row] === RowState.Usable) this.#leaveUsable(row);
    assert(this.state[row] !== RowState.Absent, () => `slice table: row ${row} dropped twice`);
    this.state[row] = RowState.Absent;
    this.heldRows[this.source[row]!]!--;
  }

  /** Takes an empty usable row of the engine's own for the staging ring. */
  reserveForRing(row: number): void {
    assert(this.used[row] === 0, () => `slice table: ring row ${row} is not empty`);
    assert(this.source[row] === 0, () => `slice table: ring row ${row} is not local`);
    this.#leaveUsable(row);
    this.state[row] = RowState.Ring;
  }

  releaseFromRing(row: number): void {
    assert(this.state[row] === RowState.Ring, () => `slice table: row ${row} is not a ring row`);
    this.#makeUsable(row);
  }

  /** @returns a usable row of the source without any block, or -1. */
  emptyRow(source: number): number {
    return this.#head[source * (this.blocksPerSlice + 1) + this.blocksPerSlice]!;
  }

  /** @returns the next row of the same list, to walk the empty rows of a source; -1 at its end. */
  nextInList(row: number): number {
    return this.#next[row]!;
  }

  /** @returns the fullest usable row of the source that still has a free slot, or -1. */
  fullestRow(source: number): number {
    const base = source * (this.blocksPerSlice + 1);
    let free = this.#freeListMin[source]!;
    while (free <= this.blocksPerSlice && this.#head[base + free] === NONE) free++;
    this.#freeListMin[source] = free;
    return free <= this.blocksPerSlice ? this.#head[base + free]! : NONE;
  }

  /** Takes a free slot of the row. @returns the slot's handle: row * blocksPerSlice + slot. */
  take(row: number, owner: number, index: number): number {
    const isUsable = this.state[row] === RowState.Usable;
    assert(isUsable, () => `slice table: take from row ${row} not usable`);
    assert(this.used[row]! < this.blocksPerSlice, () => `slice table: row ${row} is full`);
    let handle = row * this.blocksPerSlice + this.#freeSlotMin[row]!;
    while (this.slotOwner[handle] !== NONE) handle++;
    this.#freeSlotMin[row] = handle + 1 - row * this.blocksPerSlice;
    this.#unlink(row);
    this.slotOwner[handle] = owner;
    this.slotIndex[handle] = index;
    const source = this.source[row]!;
    if (this.used[row] === 0) this.emptyRows[source]!--;
    this.used[row]!++;
    this.usedBlocks[source]!++;
    this.freeBlocks[source]!--;
    this.#link(row);
    return handle;
  }

  /** Frees a slot, also in a row that takes no new blocks any more. */
  free(handle: number): void {
    const row = Math.floor(handle / this.blocksPerSlice);
    const isTaken = (this.slotOwner[handle] ?? NONE) !== NONE;
    assert(isTaken, () => `slice table: double free of block ${handle}`);
    const source = this.source[row]!;
    const isUsable = this.state[row] === RowState.Usable;
    if (isUsable) this.#unlink(row);
    this.slotOwner[handle] = NONE;
    const slot = handle - row * this.blocksPerSlice;
    if (slot < this.#freeSlotMin[row]!) this.#freeSlotMin[row] = slot;
    this.used[row]!--;
    this.usedBlocks[source]!--;
    if (!isUsable) return;
    this.freeBlocks[source]!++;
    if (this.used[row] === 0) this.emptyRows[source]!++;
    this.#link(row);
  }

  /** Walks every invariant of the table. */
  check(): void {
    const rows = this.source.length;
    const free = new Float64Array(this.sourceCount);
    const empty = new Int32Array(this.sourceCount);
    const held = new Int32Array(this.sourceCount);
    const used = new Float64Array(this.sourceCount);
    for (let row = 0; row < rows; row++) {
      let [taken, isMinKept] = [0, true];
      for (let slot = 0; slot < this.blocksPerSlice; slot++) {
        if (this.slotOwner[row * this.blocksPerSlice + slot] !== NONE) taken++;
        else if (slot < this.#freeSlotMin[row]!) isMinKept = false;
      }
      const kept = this.used[row];
      assert(taken === kept, () => `slice table: row ${row} holds ${taken}, kept ${kept}`);
      assert(isMinKept, () => `slice table: a free slot of row ${row} is forgotten`);
      const source = this.source[row]!;
      used[source]! += taken;
      if (this.state[row] === RowState.Absent) {
        assert(taken === 0, () => `slice table: absent row ${row} holds ${taken} blocks`);
        continue;
      }
      held[source]!++;
      if (this.state[row] !== RowState.Usable) continue;
      free[source]! += this.blocksPerSlice - taken;
      if (taken === 0) empty[source]!++;
    }
    for (let source = 0; source < this.sourceCount; source++) {
      const where = `slice table: source ${source}`;
      assert(free[source] === this.freeBlocks[source], () => `${where} free ${free[source]}`);
      assert(empty[source] === this.emptyRows[source], () => `${where} empty ${empty[source]}`);
      assert(held[source] === this.heldRows[source], () => `${where} held ${held[source]}`);
      assert(used[source] === this.usedBlocks[source], () => `${where} used ${used[source]}`);
      this.#checkLists(source);
    }
  }

  #checkLists(source: number): void {
    let listed = 0;
    for (let free = 0; free <= this.blocksPerSlice; free++) {
      let row = this.#head[source * (this.blocksPerSlice + 1) + free]!;
      while (row !== NONE) {
        const has = this.blocksPerSlice - this.used[row]!;
        const isFound = free === 0 || free >= this.#freeListMin[source]!;
        assert(isFound, () => `slice table: list ${free} of source ${source} is forgotten`);
        assert(has === free, () => `slice table: row ${row} with ${has} free in list ${free}`);
        assert(this.state[row] === RowState.Usable, () => `slice table: row ${row} listed`);
        const next = this.#next[row]!;
        const isBack = next === NONE || this.#previous[next] === row;
        assert(isBack, () => `slice table: row ${next} looks back wrongly`);
        listed++;
        row = next;
      }
    }
    let usable = 0;
    for (let row = 0; row < this.source.length; row++) {
      if (this.source[row] === source && this.state[row] === RowState.Usable) usable++;
    }
    assert(listed === usable, () => `slice table: ${listed} of ${usable} usable rows listed`);
  }

  #makeUsable(row: number): void {
    const source = this.source[row]!;
    this.state[row] = RowState.Usable;
    this.freeBlocks[source]! += this.blocksPerSlice - this.used[row]!;
    if (this.used[row] === 0) this.emptyRows[source]!++;
    this.#link(row);
  }

  #leaveUsable(row: number): void {
    assert(this.state[row] === RowState.Usable, () => `slice table: row ${row} is not usable`);
    const source = this.source[row]!;
    this.#unlink(row);
    this.freeBlocks[source]! -= this.blocksPerSlice - this.used[row]!;
    if (this.used[row] === 0) this.emptyRows[source]!--;
  }

  #listOf(row: number): number {
    const free = this.blocksPerSlice - this.used[row]!;
    return this.source[row]! * (this.blocksPerSlice + 1) + free;
  }

  #link(row: number): void {
    const free = this.blocksPerSlice - this.used[row]!;
    const source = this.source[row]!;
    if (free > 0 && free < this.#freeListMin[source]!) this.#freeListMin[source] = free;
    const list = this.#listOf(row);
    const before = this.#isFirstFreedFirst ? this.#tail[list]! : NONE;
    const after = this.#isFirstFreedFirst ? NONE : this.#head[list]!;
    this.#previous[row] = before;
    this.#next[row] = after;
    if (before === NONE) this.#head[list] = row;
    else this.#next[before] = row;
    if (after === NONE) this.#tail[list] = row;
    else this.#previous[after] = row;
  }

  #unlink(row: number): void {
    const next = this.#next[row]!;
    const previous = this.#previous[row]!;
    if (previous === NONE) this.#head[this.#listOf(row)] = next;
    else this.#next[previous] = next;
    if (next === NONE) this.#tail[this.#listOf(row)] = previous;
    else this.#previous[next] = previous;
  }
}
