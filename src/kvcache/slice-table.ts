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
 * Usable rows are listed by their free slots (row-lists.ts), so the fullest row with room is found
 * at once: blocks are packed, and whole rows stay free for lending. Within a row the lowest free
 * slot is taken. Neighbouring blocks of a sequence are taken and freed a run at a time.
 *
 * Invariants: used + free = blocksPerSlice for every row; a row is in exactly one list if it is
 * USABLE and in none otherwise.
 */

import { assert } from "../base/index.ts";
import { RowLists } from "./row-lists.ts";

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

  readonly #lists: RowLists;
  /** (rows) no slot below this one is free. */
  readonly #freeSlotMin: Int32Array;
  /** The list that freeing one slot hands on. */
  readonly #single = new Int32Array(1);

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
    this.#lists = new RowLists(sourceCount, rows, blocksPerSlice, isFirstFreedFirst);
    this.#freeSlotMin = new Int32Array(rows);
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
    return this.#lists.first(source, this.blocksPerSlice);
  }

  /** @returns the next row of the same list, to walk the empty rows of a source; -1 at its end. */
  nextInList(row: number): number {
    return this.#lists.next(row);
  }

  /** @returns the fullest usable row of the source that still has a free slot, or -1. */
  fullestRow(source: number): number {
    return this.#lists.fullest(source);
  }

  /** Takes a free slot of the row. @returns the slot's handle: row * blocksPerSlice + slot. */
  take(row: number, owner: number, index: number): number {
    this.#beginTake(row, 1);
    const handle = this.#occupy(row, owner, index);
    this.#endTake(row, 1);
    return handle;
  }

  /**
   * Takes free slots of the row for the owner's blocks from `index` on, as many as there are up to
   * `max`, and writes their handles to `handles` at their blocks' index. @returns how many.
   */
  takeRun(row: number, owner: number, index: number, max: number, handles: Int32Array): number {
    const count = Math.min(max, this.blocksPerSlice - this.used[row]!);
    this.#beginTake(row, count);
    for (let at = index; at < index + count; at++) handles[at] = this.#occupy(row, owner, at);
    this.#endTake(row, count);
    return count;
  }

  /** Frees a slot, also in a row that takes no new blocks any more. */
  free(handle: number): void {
    this.#single[0] = handle;
    this.freeRun(this.#single, 0, 1);
  }

  /**
   * Frees the slots of `handles` from one entry on, up to another or the first in another row.
   * @returns the entry it stopped before.
   */
  freeRun(handles: Int32Array, from: number, end: number): number {
    const row = Math.floor(handles[from]! / this.blocksPerSlice);
    const first = row * this.blocksPerSlice;
    this.#assertTaken(handles[from]!);
    const isUsable = this.state[row] === RowState.Usable;
    if (isUsable) this.#unlink(row);
    let at = from;
    for (; at < end; at++) {
      const slot = handles[at]! - first;
      if (slot < 0 || slot >= this.blocksPerSlice) break;
      this.#assertTaken(handles[at]!);
      this.slotOwner[handles[at]!] = NONE;
      if (slot < this.#freeSlotMin[row]!) this.#freeSlotMin[row] = slot;
    }
    const source = this.source[row]!;
    this.used[row]! -= at - from;
    this.usedBlocks[source]! -= at - from;
    if (!isUsable) return at;
    this.freeBlocks[source]! += at - from;
    if (this.used[row] === 0) this.emptyRows[source]!++;
    this.#link(row);
    return at;
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
    const listed = this.#lists.check(source, (row) => {
      assert(this.state[row] === RowState.Usable, () => `slice table: row ${row} listed`);
      return this.blocksPerSlice - this.used[row]!;
    });
    let usable = 0;
    for (let row = 0; row < this.source.length; row++) {
      if (this.source[row] === source && this.state[row] === RowState.Usable) usable++;
    }
    assert(listed === usable, () => `slice table: ${listed} of ${usable} usable rows listed`);
  }

  #beginTake(row: number, count: number): void {
    const isUsable = this.state[row] === RowState.Usable;
    assert(isUsable, () => `slice table: take from row ${row} not usable`);
    const room = this.blocksPerSlice - this.used[row]!;
    assert(count > 0 && count <= room, () => `slice table: row ${row} is full`);
    this.#unlink(row);
  }

  /** Takes the lowest free slot of a row that has one. */
  #occupy(row: number, owner: number, index: number): number {
    const first = row * this.blocksPerSlice;
    let handle = first + this.#freeSlotMin[row]!;
    while (this.slotOwner[handle] !== NONE) handle++;
    this.#freeSlotMin[row] = handle + 1 - first;
    this.slotOwner[handle] = owner;
    this.slotIndex[handle] = index;
    return handle;
  }

  #endTake(row: number, count: number): void {
    const source = this.source[row]!;
    if (this.used[row] === 0) this.emptyRows[source]!--;
    this.used[row]! += count;
    this.usedBlocks[source]! += count;
    this.freeBlocks[source]! -= count;
    this.#link(row);
  }

  #assertTaken(handle: number): void {
    const isTaken = (this.slotOwner[handle] ?? NONE) !== NONE;
    assert(isTaken, () => `slice table: double free of block ${handle}`);
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

  #link(row: number): void {
    this.#lists.link(row, this.source[row]!, this.blocksPerSlice - this.used[row]!);
  }

  #unlink(row: number): void {
    this.#lists.unlink(row, this.source[row]!, this.blocksPerSlice - this.used[row]!);
  }
}
