/**
 * Paged KV of one engine: block tables over local and borrowed slices alike.
 *
 * Called by the scheduler (extend, seal, release), by the recall ladder (moves) and by the engine,
 * which reads from `readSet` what a step must fetch. It does not know who lends, what a lease is or
 * how long a copy takes; a source is a number, 0 being the engine's own device.
 *
 * A block is OPEN while tokens are appended to it and SEALED once full. New blocks are always local;
 * only sealed ones move, so no copy ever races with a write.
 *
 * Invariants: every table entry is a taken slot that names the sequence and the block; a slot is
 * live if the table of its owner points back to it, else it is the target of a move in flight; the
 * counts per source equal the tables.
 */

import { assert } from "../base/index.ts";
import type { ReadSet } from "../prefetch/index.ts";
import type { KvLayout } from "./layout.ts";
import type { Move, MoveReason } from "./moves.ts";
import { RowState, SliceTable } from "./slice-table.ts";

export const LOCAL_SOURCE = 0;

export interface KvCacheOptions {
  readonly layout: KvLayout;
  /** (rows) the source of every slice of the server, and of the host's after them. */
  readonly sourceOfRow: Int16Array;
  readonly sourceCount: number;
  readonly readSet: ReadSet;
  /** Holes of up to so many blocks are copied along, because a copy costs more than their bytes. */
  readonly bridgedBlocksMax: number;
}

export class KvCache {
  readonly layout: KvLayout;
  readonly slices: SliceTable;
  readonly readSet: ReadSet;
  readonly moves = new Map<number, Move>();
  readonly sourceCount: number;

  #tables: Int32Array[] = [];
  #blockCount = new Int32Array(64);
  #sealedBlocks = new Int32Array(64);
  #isActive = new Uint8Array(64);
  /** (sequences x sources) blocks of a sequence at each source. */
  #blocksAt: Int32Array;
  /** Sealed local blocks of a sequence that moves copy out just now. */
  #outgoing = new Int32Array(64);
  /** (slots) 1 while a move copies from the slot. */
  readonly #isMoving: Uint8Array;
  readonly #isDirty: Uint8Array;
  readonly #dirtyRows: number[] = [];
  readonly #bridgedBlocksMax: number;
  /** Blocks ever taken for new tokens: what headroom is sized by. */
  allocatedBlocks = 0;
  #nextMoveId = 1;

  constructor(options: KvCacheOptions) {
    this.layout = options.layout;
    this.sourceCount = options.sourceCount;
    const { blocksPerSlice } = options.layout;
    this.slices = new SliceTable(options.sourceOfRow, options.sourceCount, blocksPerSlice);
    this.readSet = options.readSet;
    this.#bridgedBlocksMax = options.bridgedBlocksMax;
    this.#blocksAt = new Int32Array(64 * options.sourceCount);
    this.#isMoving = new Uint8Array(options.sourceOfRow.length * blocksPerSlice);
    this.#isDirty = new Uint8Array(options.sourceOfRow.length);
  }

  blockCount(sequence: number): number {
    return this.#blockCount[sequence] ?? 0;
  }

  blocksAt(sequence: number, source: number): number {
    return this.#blocksAt[sequence * this.sourceCount + source] ?? 0;
  }

  sealedBlocks(sequence: number): number {
    return this.#sealedBlocks[sequence] ?? 0;
  }

  /** Sealed blocks on the own device that no move touches; an upper bound, at most one too many. */
  movableLocalBlocks(sequence: number): number {
    const open = this.blockCount(sequence) - this.sealedBlocks(sequence);
    return this.blocksAt(sequence, LOCAL_SOURCE) - open - (this.#outgoing[sequence] ?? 0);
  }

  isActive(sequence: number): boolean {
    return this.#isActive[sequence] === 1;
  }

  /** Blocks that `tokens` need beyond what the sequence has. */
  missingBlocks(sequence: number, tokens: number): number {
    return Math.ceil(tokens / this.layout.blockTokens) - this.blockCount(sequence);
  }

  /**
   * Makes room for `tokens` tokens of the sequence in local blocks.
   *
   * @returns false on a miss, with nothing taken.
   */
  extend(sequence: number, tokens: number): boolean {
    this.#ensureSequence(sequence);
    const missing = this.missingBlocks(sequence, tokens);
    if (missing <= 0) return true;
    if (this.slices.freeBlocks[LOCAL_SOURCE]! < missing) return false;
    const first = this.#blockCount[sequence]!;
    this.#ensureTable(sequence, first + missing);
    const table = this.#tables[sequence]!;
    for (let block = first; block < first + missing; block++) {
      const row = this.slices.fullestRow(LOCAL_SOURCE);
      table[block] = this.slices.take(row, sequence, block);
    }
    this.#blockCount[sequence] = first + missing;
    this.allocatedBlocks += missing;
    this.#blocksAt[sequence * this.sourceCount + LOCAL_SOURCE]! += missing;
    return true;
  }

  /** KV of the first `tokens` tokens is complete: full blocks are sealed from now on. */
  seal(sequence: number, tokens: number): void {
    this.#sealedBlocks[sequence] = Math.floor(tokens / this.layout.blockTokens);
  }

  /** Frees every block; moves of the sequence are orphaned and end by themselves. */
  release(sequence: number): void {
    this.truncate(sequence, 0);
    this.setActive(sequence, false);
  }

  /** Keeps the first `blocks` blocks and frees the rest; a recomputation starts there. */
  truncate(sequence: number, blocks: number): void {
    const table = this.#tables[sequence];
    const count = this.blockCount(sequence);
    if (table === undefined) return;
    for (const move of this.moves.values()) {
      const isOf = move.sequence === sequence && !move.isOrphaned;
      if (isOf && move.firstBlock + move.blockCount > blocks) this.#orphan(move);
    }
    for (let block = blocks; block < count; block++) this.#freeBlock(sequence, table[block]!);
    this.#blockCount[sequence] = Math.min(count, blocks);
    this.#sealedBlocks[sequence] = Math.min(this.#sealedBlocks[sequence]!, blocks);
  }

  /** Whether the sequence's remote blocks belong to the read set of the next step. */
  setActive(sequence: number, isActive: boolean): void {
    this.#ensureSequence(sequence);
    if ((this.#isActive[sequence] === 1) === isActive) return;
    this.#isActive[sequence] = isActive ? 1 : 0;
    const count = this.#blockCount[sequence]!;
    if (this.blocksAt(sequence, LOCAL_SOURCE) === count) return;
    const table = this.#tables[sequence]!;
    for (let block = 0; block < count; block++) this.#markDirty(this.rowOf(table[block]!));
  }

  rowOf(handle: number): number {
    return Math.floor(handle / this.layout.blocksPerSlice);
  }

  /** @returns the sequence whose live block the slot holds, or -1. */
  liveOwner(handle: number): number {
    const owner = this.slices.slotOwner[handle]!;
    if (owner < 0) return -1;
    const block = this.slices.slotIndex[handle]!;
    return block < this.#blockCount[owner]! && this.#tables[owner]![block] === handle ? owner : -1;
  }

  handleOf(sequence: number, block: number): number {
    return this.#tables[sequence]![block]!;
  }

  /** Length of the first run of sealed blocks at `source` that no move touches, from `from` on. */
  findMovable(sequence: number, source: number, from: number, max: number): [number, number] {
    const table = this.#tables[sequence];
    const sealed = this.sealedBlocks(sequence);
    if (table === undefined || this.blocksAt(sequence, source) === 0) return [sealed, 0];
    let first = from;
    while (first < sealed && !this.#isMovable(table[first]!, source)) first++;
    let end = first;
    while (end < sealed && end - first < max && this.#isMovable(table[end]!, source)) end++;
    return [first, end - first];
  }

  #isMovable(handle: number, source: number): boolean {
    return this.slices.source[this.rowOf(handle)] === source && this.#isMoving[handle] === 0;
  }

  /** Reserves slots in `targetRow` and starts a move of neighbouring sealed blocks of one source. */
  beginMove(
    sequence: number,
    firstBlock: number,
    count: number,
    targetRow: number,
    reason: MoveReason,
  ): Move {
    const table = this.#tables[sequence]!;
    const sourceSource = this.slices.source[this.rowOf(table[firstBlock]!)]!;
    const targetHandles = new Int32Array(count);
    let runs = 0;
    for (let offset = 0; offset < count; offset++) {
      const handle = table[firstBlock + offset]!;
      assert(this.#isMoving[handle] === 0, `kv cache: block ${handle} moves twice`);
      this.#isMoving[handle] = 1;
      if (offset === 0 || table[firstBlock + offset - 1]! + 1 !== handle) runs++;
      targetHandles[offset] = this.slices.take(targetRow, sequence, firstBlock + offset);
    }
    const move: Move = {
      id: this.#nextMoveId++,
      sequence,
      firstBlock,
      blockCount: count,
      targetRow,
      sourceSource,
      targetSource: this.slices.source[targetRow]!,
      bytes: count * this.layout.blockBytes,
      copies: runs * this.layout.layers,
      reason,
      targetHandles,
      isOrphaned: false,
    };
    this.moves.set(move.id, move);
    if (sourceSource === LOCAL_SOURCE) this.#outgoing[sequence]! += count;
    return move;
  }

  /** Gives a move up: the blocks stay where they are, the target is freed when the copy has ended. */
  abandonMove(id: number): void {
    const move = this.moves.get(id);
    if (move !== undefined && !move.isOrphaned) this.#orphan(move);
  }

  /** The copy has ended. @returns false when the move had been given up. */
  completeMove(id: number): boolean {
    const move = this.moves.get(id);
    assert(move !== undefined, `kv cache: move ${id} is unknown`);
    this.moves.delete(id);
    const table = this.#tables[move.sequence]!;
    for (let offset = 0; offset < move.blockCount; offset++) {
      const target = move.targetHandles[offset]!;
      if (move.isOrphaned) {
        this.slices.free(target);
        continue;
      }
      const old = table[move.firstBlock + offset]!;
      this.#isMoving[old] = 0;
      this.#freeBlock(move.sequence, old);
      table[move.firstBlock + offset] = target;
      this.#blocksAt[move.sequence * this.sourceCount + move.targetSource]!++;
    }
    this.#markDirty(move.targetRow);
    if (!move.isOrphaned) this.#forgetOutgoing(move);
    return !move.isOrphaned;
  }

  /** Brings the read set up to date with what changed since the last call. */
  syncReadSet(): void {
    for (const row of this.#dirtyRows) {
      this.#isDirty[row] = 0;
      this.#refreshRow(row);
    }
    this.#dirtyRows.length = 0;
  }

  /** Slots taken at a source, targets of moves in flight counted in. */
  usedBlocks(source: number): number {
    return this.slices.usedBlocks[source]!;
  }

  check(): void {
    this.slices.check();
    const counts = new Map<number, number>();
    for (let sequence = 0; sequence < this.#tables.length; sequence++) {
      counts.clear();
      const table = this.#tables[sequence]!;
      for (let block = 0; block < this.#blockCount[sequence]!; block++) {
        const handle = table[block]!;
        assert(
          this.slices.slotOwner[handle] === sequence && this.slices.slotIndex[handle] === block,
          () => `kv cache: block ${block} of sequence ${sequence} is not its own (${handle})`,
        );
        const source = this.slices.source[this.rowOf(handle)]!;
        counts.set(source, (counts.get(source) ?? 0) + 1);
        const state = this.slices.state[this.rowOf(handle)]!;
        const isHeld = state === RowState.Usable || state === RowState.Closing;
        assert(isHeld, () => `kv cache: block in a row of state ${state}`);
      }
      for (let source = 0; source < this.sourceCount; source++) {
        const has = this.blocksAt(sequence, source);
        const found = counts.get(source) ?? 0;
        assert(has === found, () => `kv cache: sequence ${sequence} at ${source}: ${has} != ${found}`);
      }
    }
    this.#checkSlots();
  }

  #checkSlots(): void {
    const targets = new Set<number>();
    for (const move of this.moves.values()) {
      for (const handle of move.targetHandles) targets.add(handle);
    }
    for (let handle = 0; handle < this.slices.slotOwner.length; handle++) {
      if (this.slices.slotOwner[handle]! < 0) continue;
      const isLive = this.liveOwner(handle) >= 0;
      assert(isLive || targets.has(handle), () => `kv cache: slot ${handle} is leaked`);
    }
    this.readSet.check();
  }

  #orphan(move: Move): void {
    move.isOrphaned = true;
    this.#forgetOutgoing(move);
    const table = this.#tables[move.sequence]!;
    for (let offset = 0; offset < move.blockCount; offset++) {
      this.#isMoving[table[move.firstBlock + offset]!] = 0;
    }
  }

  #forgetOutgoing(move: Move): void {
    if (move.sourceSource === LOCAL_SOURCE) this.#outgoing[move.sequence]! -= move.blockCount;
  }

  #freeBlock(sequence: number, handle: number): void {
    const row = this.rowOf(handle);
    this.#isMoving[handle] = 0;
    this.slices.free(handle);
    this.#blocksAt[sequence * this.sourceCount + this.slices.source[row]!]!--;
    this.#markDirty(row);
  }

  #markDirty(row: number): void {
    if (this.slices.source[row] === LOCAL_SOURCE || this.#isDirty[row] === 1) return;
    this.#isDirty[row] = 1;
    this.#dirtyRows.push(row);
  }

  /** Counts the contiguous copies of one row and their bytes; small holes are bridged. */
  #refreshRow(row: number): void {
    const { blocksPerSlice, blockLayerBytes } = this.layout;
    const first = row * blocksPerSlice;
    let runs = 0;
    let blocks = 0;
    let lastRead = -Infinity;
    for (let slot = 0; slot < blocksPerSlice; slot++) {
      const owner = this.liveOwner(first + slot);
      if (owner < 0 || this.#isActive[owner] !== 1) continue;
      const hole = slot - lastRead - 1;
      if (hole > this.#bridgedBlocksMax) runs++;
      else blocks += hole;
      blocks++;
      lastRead = slot;
    }
    if (blocks === 0) this.readSet.delete(row);
    else this.readSet.set(row, this.slices.source[row]!, runs, blocks * blockLayerBytes);
  }

  #ensureTable(sequence: number, blocks: number): void {
    const table = this.#tables[sequence]!;
    if (table.length >= blocks) return;
    const larger = new Int32Array(Math.max(blocks, table.length * 2));
    larger.set(table);
    this.#tables[sequence] = larger;
  }

  #ensureSequence(sequence: number): void {
    while (this.#tables.length <= sequence) this.#tables.push(new Int32Array(32));
    if (sequence < this.#blockCount.length) return;
    const capacity = Math.max(sequence + 1, this.#blockCount.length * 2);
    const grow = <T extends Int32Array | Uint8Array>(from: T, to: T): T => (to.set(from), to);
    this.#blockCount = grow(this.#blockCount, new Int32Array(capacity));
    this.#sealedBlocks = grow(this.#sealedBlocks, new Int32Array(capacity));
    this.#outgoing = grow(this.#outgoing, new Int32Array(capacity));
    this.#isActive = grow(this.#isActive, new Uint8Array(capacity));
    this.#blocksAt = grow(this.#blocksAt, new Int32Array(capacity * this.sourceCount));
  }
}
