/**
 * Rows of slices by source and by how many slots are free in them, so that a row is found at once.
 *
 * Used by SliceTable alone, which says when a row comes, goes or fills. It knows neither slots nor
 * states. Of equally full rows the last one to become so is first, or the one that has been so for
 * longest where the lists are told so.
 *
 *     (source, free)   head -> row <-> row <-> row <- tail
 *
 * Invariants: a linked row is in one list; no list of a source below its `freeMin` has a row.
 */

import { assert } from "../base/index.ts";

const NONE = -1;

/** A row's list is named by whoever links it, and has to be named again to unlink it. */
export class RowLists {
  readonly #blocksPerSlice: number;
  readonly #isLongestFirst: boolean;
  /** (sources x (blocksPerSlice + 1)) by free slots. */
  readonly #head: Int32Array;
  readonly #tail: Int32Array;
  /** (rows) */
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  /** (sources) where the search for the fullest row with room begins. */
  readonly #freeMin: Int32Array;

  constructor(sources: number, rows: number, blocksPerSlice: number, isLongestFirst: boolean) {
    this.#blocksPerSlice = blocksPerSlice;
    this.#isLongestFirst = isLongestFirst;
    this.#head = new Int32Array(sources * (blocksPerSlice + 1)).fill(NONE);
    this.#tail = new Int32Array(this.#head.length).fill(NONE);
    this.#next = new Int32Array(rows).fill(NONE);
    this.#previous = new Int32Array(rows).fill(NONE);
    this.#freeMin = new Int32Array(sources).fill(1);
  }

  /** @returns the first row of a list, or -1. */
  first(source: number, free: number): number {
    return this.#head[source * (this.#blocksPerSlice + 1) + free]!;
  }

  /** @returns the row after this one in its list; -1 at its end. */
  next(row: number): number {
    return this.#next[row]!;
  }

  /** @returns the row with the fewest free slots that has any, or -1. */
  fullest(source: number): number {
    let free = this.#freeMin[source]!;
    while (free <= this.#blocksPerSlice && this.first(source, free) === NONE) free++;
    this.#freeMin[source] = free;
    return free <= this.#blocksPerSlice ? this.first(source, free) : NONE;
  }

  link(row: number, source: number, free: number): void {
    if (free > 0 && free < this.#freeMin[source]!) this.#freeMin[source] = free;
    const list = source * (this.#blocksPerSlice + 1) + free;
    const before = this.#isLongestFirst ? this.#tail[list]! : NONE;
    const after = this.#isLongestFirst ? NONE : this.#head[list]!;
    this.#previous[row] = before;
    this.#next[row] = after;
    if (before === NONE) this.#head[list] = row;
    else this.#next[before] = row;
    if (after === NONE) this.#tail[list] = row;
    else this.#previous[after] = row;
  }

  unlink(row: number, source: number, free: number): void {
    const list = source * (this.#blocksPerSlice + 1) + free;
    const next = this.#next[row]!;
    const previous = this.#previous[row]!;
    if (previous === NONE) this.#head[list] = next;
    else this.#next[previous] = next;
    if (next === NONE) this.#tail[list] = previous;
    else this.#previous[next] = previous;
  }

  /** Walks the lists of a source. @param freeOf free slots of a row. @returns how many rows. */
  check(source: number, freeOf: (row: number) => number): number {
    let listed = 0;
    for (let free = 0; free <= this.#blocksPerSlice; free++) {
      let row = this.first(source, free);
      const isFound = row === NONE || free === 0 || free >= this.#freeMin[source]!;
      assert(isFound, () => `row lists: list ${free} of source ${source} is never looked at`);
      while (row !== NONE) {
        const has = freeOf(row);
        assert(has === free, () => `row lists: row ${row} with ${has} free in list ${free}`);
        const next = this.#next[row]!;
        const isBack = next === NONE || this.#previous[next] === row;
        assert(isBack, () => `row lists: row ${next} looks back wrongly`);
        listed++;
        row = next;
      }
    }
    return listed;
  }
}
