/**
 * What freed blocks still hold: a preempted request finds its own KV again while nobody took it.
 *
 * Used by KvCache where slices are one block and the block freed first is taken first, as vLLM's
 * free queue is; that order is the slice table's. This is the part of a prefix cache that a request
 * has with itself: two requests never share a block.
 *
 *     slot    17   4   9   2          remembered as block 0, 1, 2, 3 of request 8
 *     held     8   8   -   8          slot 9 has been taken since: blocks 0 and 1 are found
 *
 * Invariant: a slot is held for at most one request, and for none from when it is taken.
 */

import { assert } from "../base/index.ts";
import type { BlockTables } from "./block-tables.ts";
import type { SliceTable } from "./slice-table.ts";

const NONE = -1;

/** Of each request what its last release left; a restore forgets it. */
export class FreedKv {
  readonly #slices: SliceTable;
  readonly #tables: BlockTables;
  /** (slots) the request whose block the slot still holds, or -1. */
  readonly #holder: Int32Array;
  /** (slots) which block of it. */
  readonly #block: Int32Array;
  /** Slots of each preempted request, in the order of its blocks. */
  readonly #slots = new Map<number, Int32Array>();

  constructor(slices: SliceTable, tables: BlockTables) {
    this.#slices = slices;
    this.#tables = tables;
    this.#holder = new Int32Array(slices.slotOwner.length).fill(NONE);
    this.#block = new Int32Array(slices.slotOwner.length);
  }

  /** The sequence is about to be released; its first `count` blocks are full. */
  remember(sequence: number, request: number, count: number): void {
    const slots = new Int32Array(count);
    for (let block = 0; block < count; block++) {
      const slot = this.#tables.handle(sequence, block);
      slots[block] = slot;
      this.#holder[slot] = request;
      this.#block[slot] = block;
    }
    this.#slots.set(request, slots);
  }

  /** The slot is taken: what it held is overwritten. */
  taken(slot: number): void {
    this.#holder[slot] = NONE;
  }

  /** The slots of some entries of a sequence's table are taken. */
  takenAll(handles: Int32Array, from: number, end: number): void {
    for (let at = from; at < end; at++) this.taken(handles[at]!);
  }

  /** Frees the slots of entries, the first of them last: it is found again for longest. */
  free(handles: Int32Array, from: number, end: number): void {
    for (let at = end - 1; at >= from; at--) this.#slices.free(handles[at]!);
  }

  /**
   * Gives an empty sequence the leading blocks of the request that still hold them, at most
   * `blocksMax`, and forgets the rest. @returns how many.
   */
  restore(sequence: number, request: number, blocksMax: number): number {
    const slots = this.#slots.get(request);
    if (slots === undefined) return 0;
    this.#slots.delete(request);
    const most = Math.min(slots.length, blocksMax);
    let found = 0;
    while (found < most && this.#holds(slots[found]!, request, found)) {
      // A slice is one block, so the row of a slot has the slot's number.
      this.#tables.append(sequence, this.#slices.take(slots[found]!, sequence, found));
      this.taken(slots[found]!);
      found++;
    }
    if (found > 0) this.#tables.seal(sequence, found);
    return found;
  }

  /** A slot that holds something is free, or still its owner's. */
  check(): void {
    for (const [request, slots] of this.#slots) {
      const distinct = new Set(slots).size;
      assert(distinct === slots.length, () => `freed kv: request ${request} has a slot twice`);
    }
    this.#holder.forEach((request, slot) => {
      const isFree = this.#slices.slotOwner[slot]! < 0;
      assert(request < 0 || isFree, () => `freed kv: slot ${slot} is taken and holds ${request}`);
    });
  }

  #holds(slot: number, request: number, block: number): boolean {
    return this.#holder[slot] === request && this.#block[slot] === block;
  }
}
