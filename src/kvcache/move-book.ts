/**
 * Moves of sealed blocks between places: out to a borrowed slice, home, to another lender, to host.
 *
 * Kept by KvCache, carried out by the engine's copy engine, which it does not know. A sealed block
 * never changes, so the source stays readable while the copy runs, and a move may be given up at
 * any time without loss.
 *
 *     COPYING --(copy done)--> the table points to the target, the source's slots are free
 *        |
 *        +--(sequence released, or move given up)--> ORPHANED --(copy done)--> target slots free
 *        |                                              |
 *        +------------(target's lender gone)------------+--> LOST: its slots are free at once
 *
 * Invariants: exactly the blocks that a COPYING move copies from are marked as moving; a move's
 * target slots are taken until it has ended or its target is lost.
 */

import { assert } from "../base/index.ts";
import type { BlockTables } from "./block-tables.ts";
import type { KvLayout } from "./layout.ts";
import type { SliceTable } from "./slice-table.ts";

/** Why a move was started; the recall ladder and the statistics tell them apart. */
export type MoveReason = "out" | "home" | "other-lender" | "host" | "back";

/** Plain data but for its two flags, which the book alone sets. */
export interface Move {
  readonly id: number;
  readonly sequence: number;
  readonly firstBlock: number;
  readonly blockCount: number;
  readonly targetRow: number;
  readonly sourceSource: number;
  readonly targetSource: number;
  readonly bytes: number;
  /** Contiguous copies it takes: runs of the source times layer groups. */
  readonly copies: number;
  readonly reason: MoveReason;
  /** (blockCount) slots the blocks lay in when the move began. */
  readonly sourceHandles: Int32Array;
  /** (blockCount) slots reserved in the target row. */
  readonly targetHandles: Int32Array;
  /** Given up: the table is not touched when the copy ends. */
  isOrphaned: boolean;
  /** The target's memory is gone with its lender, and its slots are free already. */
  isTargetLost: boolean;
}

const LOCAL = 0;

export class MoveBook {
  /** Moves by id until their copy has ended. */
  readonly open = new Map<number, Move>();
  readonly #slices: SliceTable;
  readonly #tables: BlockTables;
  readonly #layout: KvLayout;
  readonly #isMoving: Uint8Array; // (slots)
  /** (sequences) sealed local blocks that COPYING moves copy out. */
  readonly #outgoing: number[] = [];
  #nextId = 1;

  constructor(slices: SliceTable, tables: BlockTables, layout: KvLayout) {
    this.#slices = slices;
    this.#tables = tables;
    this.#layout = layout;
    this.#isMoving = new Uint8Array(slices.slotOwner.length);
  }

  isMoving(handle: number): boolean {
    return this.#isMoving[handle] === 1;
  }

  /** Whether blocks of the sequence are being copied to a source. */
  isBoundFor(sequence: number, source: number): boolean {
    for (const move of this.open.values()) {
      const isGoing = move.sequence === sequence && move.targetSource === source;
      if (isGoing && !move.isOrphaned) return true;
    }
    return false;
  }

  outgoingBlocks(sequence: number): number {
    return this.#outgoing[sequence] ?? 0;
  }

  /** Reserves slots in `targetRow` for neighbouring sealed blocks of one source. */
  begin(
    sequence: number,
    firstBlock: number,
    count: number,
    targetRow: number,
    reason: MoveReason,
  ): Move {
    const isSealed = count > 0 && firstBlock + count <= this.#tables.sealed(sequence);
    assert(isSealed, () => `moves: ${count} blocks from ${firstBlock} on are not all sealed`);
    const sourceSource = this.#sourceOf(this.#tables.handle(sequence, firstBlock));
    const sourceHandles = new Int32Array(count);
    const targetHandles = new Int32Array(count);
    let runs = 0;
    let previous = -Infinity;
    for (let offset = 0; offset < count; offset++) {
      const handle = this.#tables.handle(sequence, firstBlock + offset);
      const isThere = this.#sourceOf(handle) === sourceSource;
      assert(isThere, () => `moves: block ${handle} is not at source ${sourceSource}`);
      assert(!this.isMoving(handle), () => `moves: block ${handle} moves twice`);
      this.#isMoving[handle] = 1;
      if (previous + 1 !== handle) runs++;
      previous = handle;
      sourceHandles[offset] = handle;
      targetHandles[offset] = this.#slices.take(targetRow, sequence, firstBlock + offset);
    }
    const move: Move = {
      id: this.#nextId++,
      sequence,
      firstBlock,
      blockCount: count,
      targetRow,
      sourceSource,
      targetSource: this.#slices.source[targetRow]!,
      bytes: count * this.#layout.blockBytes,
      copies: runs * this.#layout.layers,
      reason,
      sourceHandles,
      targetHandles,
      isOrphaned: false,
      isTargetLost: false,
    };
    this.open.set(move.id, move);
    this.#countOutgoing(move, count);
    return move;
  }

  /** Gives a move up; one that has ended or was given up stays as it is. */
  abandon(id: number): void {
    const move = this.open.get(id);
    if (move !== undefined) this.#orphan(move);
  }

  /** Gives up what moves blocks of the sequence from `blocks` on. Its table is still whole. */
  orphanBeyond(sequence: number, blocks: number): void {
    if (this.open.size === 0) return;
    for (const move of this.open.values()) {
      const isCut = move.sequence === sequence && move.firstBlock + move.blockCount > blocks;
      if (isCut) this.#orphan(move);
    }
  }

  /** Gives up what moves to a slice whose memory is gone, and frees its slots there. */
  loseTargets(row: number): void {
    for (const move of this.open.values()) {
      if (move.targetRow !== row || move.isTargetLost) continue;
      this.#orphan(move);
      this.#freeTargets(move);
      move.isTargetLost = true;
    }
  }

  /** The copy has ended. The caller puts the targets of a move not orphaned into the table. */
  end(id: number): Move {
    const move = this.open.get(id);
    assert(move !== undefined, () => `moves: ${id} is unknown`);
    this.open.delete(id);
    if (!move.isOrphaned) this.#unmark(move);
    else if (!move.isTargetLost) this.#freeTargets(move);
    return move;
  }

  /** Walks marks, counts and targets. */
  check(): void {
    const sources = new Set<number>();
    const outgoing: number[] = [];
    for (const move of this.open.values()) {
      const { id, sequence, firstBlock, blockCount } = move;
      move.targetHandles.forEach((handle, offset) => {
        const isTaken = this.#slices.slotOwner[handle] === sequence &&
          this.#slices.slotIndex[handle] === firstBlock + offset;
        assert(isTaken || move.isTargetLost, () => `moves: ${id} does not hold slot ${handle}`);
      });
      if (move.isOrphaned) continue;
      for (let block = firstBlock; block < firstBlock + blockCount; block++) {
        sources.add(this.#tables.handle(sequence, block));
      }
      if (move.sourceSource !== LOCAL) continue;
      outgoing[sequence] = (outgoing[sequence] ?? 0) + blockCount;
    }
    this.#isMoving.forEach((mark, handle) => {
      assert((mark === 1) === sources.has(handle), () => `moves: slot ${handle} marked ${mark}`);
    });
    this.#outgoing.forEach((kept, sequence) => {
      const found = outgoing[sequence] ?? 0;
      assert(kept === found, () => `moves: ${kept} blocks of ${sequence} go out, found ${found}`);
    });
  }

  /** Slots that moves will fill; for the cache's check(). */
  targets(): Set<number> {
    const targets = new Set<number>();
    for (const { targetHandles, isTargetLost } of this.open.values()) {
      if (!isTargetLost) for (const handle of targetHandles) targets.add(handle);
    }
    return targets;
  }

  #sourceOf(handle: number): number {
    return this.#slices.source[Math.floor(handle / this.#layout.blocksPerSlice)]!;
  }

  #orphan(move: Move): void {
    if (move.isOrphaned) return;
    move.isOrphaned = true;
    this.#unmark(move);
  }

  /** The table still names the blocks that the move copied from. */
  #unmark(move: Move): void {
    for (let offset = 0; offset < move.blockCount; offset++) {
      this.#isMoving[this.#tables.handle(move.sequence, move.firstBlock + offset)] = 0;
    }
    this.#countOutgoing(move, -move.blockCount);
  }

  #countOutgoing(move: Move, blocks: number): void {
    if (move.sourceSource !== LOCAL) return;
    this.#outgoing[move.sequence] = this.outgoingBlocks(move.sequence) + blocks;
  }

  #freeTargets(move: Move): void {
    for (const target of move.targetHandles) this.#slices.free(target);
  }
}
