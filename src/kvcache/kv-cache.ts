/**
 * Paged KV of one engine: block tables over local and borrowed slices alike.
 *
 * Called by the scheduler (extend, seal, release), by the recall ladder (moves) and by the engine,
 * which reads from `readSet` what a step must fetch. It does not know who lends, what a lease is or
 * how long a copy takes; a source is a number, 0 being the engine's own device.
 *
 * A block is OPEN while tokens are appended to it and SEALED once full. New blocks are always
 * local; only sealed ones move, so no copy ever races with a write.
 *
 * Invariants: every table entry is a taken slot that names the sequence and the block; a slot is
 * live if the table of its owner points back to it, else it is the target of a move in flight; a
 * synced read set names exactly the live remote blocks of active sequences.
 */

import { assert } from "../base/index.ts";
import type { ReadSet } from "../prefetch/index.ts";
import { BlockTables } from "./block-tables.ts";
import { FreedKv } from "./freed-kv.ts";
import type { KvLayout } from "./layout.ts";
import { MoveBook, type Move, type MoveReason } from "./move-book.ts";
import { RemoteReads } from "./remote-reads.ts";
import { RowState, SliceTable } from "./slice-table.ts";

/** The engine's own device. */
export const LOCAL_SOURCE = 0;

export interface KvCacheOptions {
  readonly layout: KvLayout;
  /** (rows) the source of every slice of the server, and of the host's after them. */
  readonly sourceOfRow: Int16Array;
  readonly sourceCount: number;
  readonly readSet: ReadSet;
  /** Holes of up to so many blocks are copied along, because a copy costs more than their bytes. */
  readonly bridgedBlocksMax: number;
  /** Freed blocks are taken again in the order they were freed, so their KV can be found again. */
  readonly remembersFreed?: boolean;
}

/** Blocks of all sequences of an engine. A sequence is named by its row in the scheduler. */
export class KvCache {
  readonly layout: KvLayout;
  readonly slices: SliceTable;
  readonly readSet: ReadSet;
  readonly sourceCount: number;
  /** Blocks ever taken for new tokens: what headroom is sized by. */
  allocatedBlocks = 0;

  readonly #tables: BlockTables;
  readonly #reads: RemoteReads;
  readonly #book: MoveBook;
  readonly #freed: FreedKv | null;

  constructor(options: KvCacheOptions) {
    const { layout, sourceOfRow, sourceCount, readSet, remembersFreed = false } = options;
    this.layout = layout;
    this.sourceCount = sourceCount;
    this.readSet = readSet;
    assert(!remembersFreed || layout.blocksPerSlice === 1, "kv cache: slices of one block");
    this.slices = new SliceTable(sourceOfRow, sourceCount, layout.blocksPerSlice, remembersFreed);
    this.#tables = new BlockTables(sourceCount, (handle) => this.#sourceOf(handle));
    this.#freed = remembersFreed ? new FreedKv(this.slices, this.#tables) : null;
    this.#book = new MoveBook(this.slices, this.#tables, layout);
    const { bridgedBlocksMax } = options;
    const isRead = (handle: number): boolean => this.isActive(this.liveOwner(handle));
    this.#reads = new RemoteReads(this.slices, layout, readSet, bridgedBlocksMax, isRead);
  }

  /** Moves under way by id, orphaned ones included. */
  get moves(): ReadonlyMap<number, Move> {
    return this.#book.open;
  }

  blockCount(sequence: number): number {
    return this.#tables.count(sequence);
  }

  blocksAt(sequence: number, source: number): number {
    return this.#tables.countAt(sequence, source);
  }

  sealedBlocks(sequence: number): number {
    return this.#tables.sealed(sequence);
  }

  /** Sealed blocks on the own device that no move copies out; open ones are always there. */
  movableLocalBlocks(sequence: number): number {
    const open = this.blockCount(sequence) - this.sealedBlocks(sequence);
    return this.blocksAt(sequence, LOCAL_SOURCE) - open - this.#book.outgoingBlocks(sequence);
  }

  isActive(sequence: number): boolean {
    return this.#tables.isActive(sequence);
  }

  /** Blocks that `tokens` need beyond what the sequence has; negative when it has more. */
  missingBlocks(sequence: number, tokens: number): number {
    return Math.ceil(tokens / this.layout.blockTokens) - this.blockCount(sequence);
  }

  /**
   * Makes room for `tokens` tokens of the sequence in local blocks.
   *
   * @returns false on a miss, with nothing taken.
   */
  extend(sequence: number, tokens: number): boolean {
    // Most calls are for one more token, which the last block has room for.
    if (tokens <= this.blockCount(sequence) * this.layout.blockTokens) return true;
    const missing = this.missingBlocks(sequence, tokens);
    if (this.slices.freeBlocks[LOCAL_SOURCE]! < missing) return false;
    const first = this.blockCount(sequence);
    const end = first + missing;
    const handles = this.#tables.entries(sequence, end);
    for (let at = first; at < end; ) {
      const row = this.slices.fullestRow(LOCAL_SOURCE);
      at += this.slices.takeRun(row, sequence, at, end - at, handles);
    }
    this.#tables.appendWritten(sequence, missing);
    this.#freed?.takenAll(handles, first, end);
    this.allocatedBlocks += missing;
    return true;
  }

  /** KV of the first `tokens` tokens is complete: full blocks are sealed from now on. */
  seal(sequence: number, tokens: number): void {
    this.#tables.seal(sequence, Math.floor(tokens / this.layout.blockTokens));
  }

  /** Frees every block; moves of the sequence are orphaned and end by themselves. */
  release(sequence: number): void {
    this.truncate(sequence, 0);
    this.setActive(sequence, false);
  }

  /** To be called before a release: the first `tokens` tokens' full blocks can be restored. */
  remember(sequence: number, request: number, tokens: number): void {
    this.#freed?.remember(sequence, request, Math.floor(tokens / this.layout.blockTokens));
  }

  /** @returns how many leading blocks of a remembered request an empty sequence has again. */
  restore(sequence: number, request: number, blocksMax: number): number {
    return this.#freed?.restore(sequence, request, blocksMax) ?? 0;
  }

  /** Keeps the first `blocks` blocks and frees the rest. */
  truncate(sequence: number, blocks: number): void {
    this.#book.orphanBeyond(sequence, blocks);
    const count = this.blockCount(sequence);
    if (blocks >= count) return;
    const handles = this.#tables.entries(sequence, count);
    if (this.#freed !== null) this.#freed.free(handles, blocks, count);
    else for (let at = blocks; at < count; ) at = this.slices.freeRun(handles, at, count);
    const isLocal = this.blocksAt(sequence, LOCAL_SOURCE) === count;
    for (let at = isLocal ? count : blocks; at < count; at++) {
      this.#reads.mark(this.rowOf(handles[at]!));
    }
    this.#tables.truncate(sequence, blocks);
  }

  /** Whether the sequence's remote blocks belong to the read set of the next step. */
  setActive(sequence: number, isActive: boolean): void {
    if (this.isActive(sequence) === isActive) return;
    this.#tables.setActive(sequence, isActive);
    const count = this.blockCount(sequence);
    if (this.blocksAt(sequence, LOCAL_SOURCE) === count) return;
    for (let block = 0; block < count; block++) {
      this.#reads.mark(this.rowOf(this.handleOf(sequence, block)));
    }
  }

  rowOf(handle: number): number {
    return Math.floor(handle / this.layout.blocksPerSlice);
  }

  /** @returns the sequence whose live block the slot holds, or -1. */
  liveOwner(handle: number): number {
    const owner = this.slices.slotOwner[handle]!;
    if (owner < 0) return -1;
    return this.#tables.isAt(owner, this.slices.slotIndex[handle]!, handle) ? owner : -1;
  }

  /** Whether blocks of the sequence lie at a source, or are being copied there. */
  isBoundFor(sequence: number, source: number): boolean {
    return this.blocksAt(sequence, source) > 0 || this.#book.isBoundFor(sequence, source);
  }

  /** Whether any block of the sequence lies in one of these rows. */
  touches(sequence: number, rows: ReadonlySet<number>): boolean {
    for (let block = 0; block < this.blockCount(sequence); block++) {
      if (rows.has(this.rowOf(this.handleOf(sequence, block)))) return true;
    }
    return false;
  }

  /** The slot of a block that the sequence has. */
  handleOf(sequence: number, block: number): number {
    return this.#tables.handle(sequence, block);
  }

  /**
   * The first run of sealed blocks at `source` that no move touches, from block `from` on.
   *
   * @returns its first block and its length, at most `max`; a length of 0 when there is none.
   */
  findMovable(sequence: number, source: number, from: number, max: number): [number, number] {
    const sealed = this.sealedBlocks(sequence);
    if (this.blocksAt(sequence, source) === 0) return [sealed, 0];
    let first = from;
    while (first < sealed && !this.#isMovable(sequence, first, source)) first++;
    let end = first;
    while (end < sealed && end - first < max && this.#isMovable(sequence, end, source)) end++;
    return [first, end - first];
  }

  /** Reserves slots in `targetRow` and starts a move of neighbouring sealed blocks of a source. */
  beginMove(
    sequence: number,
    firstBlock: number,
    count: number,
    targetRow: number,
    reason: MoveReason,
  ): Move {
    return this.#book.begin(sequence, firstBlock, count, targetRow, reason);
  }

  /** Gives a move up: the blocks stay, the target is freed when the copy has ended. */
  abandonMove(id: number): void {
    this.#book.abandon(id);
  }

  /** The copy has ended. @returns false when the move had been given up. */
  completeMove(id: number): boolean {
    const move = this.#book.end(id);
    if (move.isOrphaned) return false;
    const { sequence, firstBlock, targetRow } = move;
    move.targetHandles.forEach((target, offset) => {
      const old = this.#tables.replace(sequence, firstBlock + offset, target);
      this.slices.free(old);
      this.#reads.mark(this.rowOf(old));
    });
    this.#reads.mark(targetRow);
    return true;
  }

  /**
   * Drops a slice whose memory is gone: copies on their way there are given up, and end without a
   * target. Sequences with blocks there have been released before.
   */
  loseRow(row: number): void {
    this.#book.loseTargets(row);
    this.slices.drop(row);
  }

  /** Brings the read set up to date with what changed since the last call. */
  syncReadSet(): void {
    this.#reads.sync();
  }

  /** Slots taken at a source, targets of moves in flight counted in. */
  usedBlocks(source: number): number {
    return this.slices.usedBlocks[source]!;
  }

  /** Walks every table, slot and move. */
  check(): void {
    this.slices.check();
    this.#tables.check();
    for (let sequence = 0; sequence < this.#tables.size; sequence++) {
      for (let block = 0; block < this.blockCount(sequence); block++) {
        const handle = this.handleOf(sequence, block);
        const isOwn =
          this.slices.slotOwner[handle] === sequence && this.slices.slotIndex[handle] === block;
        const text = (): string => `kv cache: block ${block} of sequence ${sequence} (${handle})`;
        assert(isOwn, () => `${text()} is not its own`);
        const state = this.slices.state[this.rowOf(handle)]!;
        const isHeld = state === RowState.Usable || state === RowState.Closing;
        assert(isHeld, () => `${text()} is in a row of state ${state}`);
      }
    }
    this.#book.check();
    const targets = this.#book.targets();
    this.slices.slotOwner.forEach((owner, handle) => {
      if (owner < 0 || this.liveOwner(handle) >= 0 || targets.has(handle)) return;
      assert(false, () => `kv cache: slot ${handle} is leaked`);
    });
    this.#reads.check();
    this.#freed?.check();
  }

  #sourceOf(handle: number): number {
    return this.slices.source[this.rowOf(handle)]!;
  }

  #isMovable(sequence: number, block: number, source: number): boolean {
    const handle = this.handleOf(sequence, block);
    return this.#sourceOf(handle) === source && !this.#book.isMoving(handle);
  }
}
