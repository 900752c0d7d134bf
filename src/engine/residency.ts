/**
 * Where sealed blocks lie, and the moves that change it.
 *
 * Called by the engine: make local room for what comes next, leave lenders that began to run, bring
 * back what went to the host. The recall ladder uses it to find refuge for blocks of a slice that
 * is recalled. It decides places by source; it does not know tokens or leases.
 *
 * Moves end at step boundaries only (`settle`), so a table never changes under a step that reads
 * it.
 *
 * Invariant: outgoing blocks = blocks of not orphaned moves that leave the engine's own device.
 */

import { assert } from "../base/index.ts";
import {
  LOCAL_SOURCE,
  RowState,
  type Arena,
  type KvCache,
  type MoveReason,
} from "../kvcache/index.ts";
import type { Scheduler, Sequences } from "../scheduler/index.ts";
import type { EngineCounters } from "./engine-counters.ts";
import { blocksOut } from "./link-relief.ts";
import { Places } from "./places.ts";
import type { CopyEngine } from "./ports.ts";

export class Residency {
  /** Local blocks that moves under way will free. */
  outgoingBlocks = 0;
  /**
   * Blocks of one sequence that go out while others can: what links carry within half a step. With
   * more a step in which it takes part waits, and everybody with it.
   */
  sequenceBlocksOut = Infinity;
  /** Blocks of own slices that are being emptied for the ring: their room is not others'. */
  ringBlocks = 0;
  readonly places: Places;

  readonly #kv: KvCache;
  readonly #arena: Arena;
  readonly #copies: CopyEngine;
  readonly #sequences: Sequences;
  readonly #counters: EngineCounters;
  readonly #ended: number[] = [];

  constructor(
    kv: KvCache,
    arena: Arena,
    copies: CopyEngine,
    sequences: Sequences,
    counters: EngineCounters,
  ) {
    this.#kv = kv;
    this.#arena = arena;
    this.#copies = copies;
    this.#sequences = sequences;
    this.#counters = counters;
    this.places = new Places(kv, arena);
  }

  get hasEndedMoves(): boolean {
    return this.#ended.length > 0;
  }

  /** Whether the block there has been copied elsewhere; its table waits for the step to end. */
  isCopied(handle: number): boolean {
    return this.#ended.some((id) => {
      const move = this.#kv.moves.get(id);
      return move !== undefined && !move.isOrphaned && move.sourceHandles.includes(handle);
    });
  }

  /** Collects copies that have ended; their tables change in `settle`. */
  poll(nowNs: number): void {
    for (let id = this.#copies.poll(nowNs); id >= 0; id = this.#copies.poll(nowNs)) {
      this.#ended.push(id);
    }
  }

  /** A move is of no use any more: the blocks stay, and the target is free once the copy stops. */
  abandon(id: number, nowNs: number): void {
    this.#kv.abandonMove(id);
    this.#copies.abort(id, nowNs);
  }

  /** Between steps: tables point to the new places, the old ones are free. */
  settle(): void {
    if (this.#ended.length === 0) return;
    for (const id of this.#ended) {
      const move = this.#kv.moves.get(id);
      assert(move !== undefined, () => `residency: move ${id} is unknown`);
      this.places.leaving[move.sourceSource]!--;
      if (move.sourceSource === LOCAL_SOURCE) this.outgoingBlocks -= move.blockCount;
      this.#kv.completeMove(id);
    }
    this.#ended.length = 0;
  }

  /**
   * Room for the next steps' growth and the next chunk: sealed blocks move out for them. For a
   * request that waits, or may come, only while the links carry what is out already.
   */
  prepareRoom(
    scheduler: Scheduler,
    maxBatchTokens: number,
    arrivalBlocks: number,
    nowNs: number,
  ): void {
    const { blockTokens } = this.#kv.layout;
    const growth = Math.ceil((2 * scheduler.sequences.count) / blockTokens) + 2;
    this.places.localReserveBlocks = growth;
    let chunk = scheduler.claims.claimedBlocks;
    if (!scheduler.rotation.isLinkFull) {
      const isWaiting = scheduler.waiting.size > 0;
      const next = isWaiting ? scheduler.waiting.tokensAt(0) / blockTokens + 1 : arrivalBlocks;
      chunk = Math.max(chunk, next);
    }
    this.makeLocalRoom(growth + Math.min(maxBatchTokens / blockTokens, Math.ceil(chunk)), nowNs);
  }

  /**
   * Moves sealed blocks out to borrowed slices until `blocks` local ones are free or on the way.
   */
  makeLocalRoom(blocks: number, nowNs: number): void {
    const { slices } = this.#kv;
    while (slices.freeBlocks[LOCAL_SOURCE]! + this.outgoingBlocks < blocks) {
      const room = this.places.outwardBlocks() - this.ringBlocks;
      if (room <= 0) return;
      const target = this.places.outward();
      if (target < 0) return;
      const row = this.#bestOutward();
      if (row < 0 || !this.moveRun(row, LOCAL_SOURCE, target, "out", false, nowNs, room)) return;
    }
  }

  /**
   * Empties one of the engine's own slices, for the staging ring: it takes no new blocks, and what
   * is sealed in it moves out. Open blocks are sealed within a block's worth of steps.
   */
  vacate(row: number, nowNs: number): void {
    const { slices, layout } = this.#kv;
    if (slices.state[row] === RowState.Usable) slices.close(row);
    for (let slot = 0; slot < layout.blocksPerSlice; slot++) {
      const handle = row * layout.blocksPerSlice + slot;
      const owner = this.#kv.liveOwner(handle);
      if (owner < 0) continue;
      const block = slices.slotIndex[handle]!;
      const [first, count] = this.#kv.findMovable(owner, LOCAL_SOURCE, block, 1);
      if (count === 0 || first !== block) continue;
      const target = this.places.outward();
      if (target < 0) return;
      this.moveBlocks(owner, block, 1, target, "out", false, nowNs);
    }
  }

  /**
   * Moves blocks away from a source until at most `keepBytes` of it are left: home while there is
   * room, else to lenders that do not run.
   */
  evacuate(source: number, keepBytes: number, nowNs: number): void {
    const keepBlocks = Math.max(0, Math.floor(keepBytes / this.#kv.layout.blockBytes));
    this.#moveAway(source, keepBlocks, () => this.places.refuge(source, false), nowNs);
  }

  /** Brings home what is at a source as far as there is room, before anybody is admitted to it. */
  comeHome(source: number, nowNs: number): void {
    this.#moveAway(source, 0, () => (this.places.homeBlocks() > 0 ? LOCAL_SOURCE : -1), nowNs);
  }

  /** Moves what it can to lenders that have been calm for a while. */
  evacuateToCalm(source: number, nowNs: number): void {
    // Asked at every step of a borrower, and mostly in vain.
    if (this.places.calm(source) < 0) return;
    this.#moveAway(source, 0, () => this.places.calm(source), nowNs);
  }

  #moveAway(source: number, keepBlocks: number, target: () => number, nowNs: number): void {
    const { order, count } = this.#sequences;
    let remaining = this.stayingBlocks(source);
    for (let index = count - 1; index >= 0 && remaining > keepBlocks; index--) {
      const row = order[index]!;
      while (remaining > keepBlocks && this.#kv.blocksAt(row, source) > 0) {
        const place = target();
        if (place < 0) return;
        const reason = place === LOCAL_SOURCE ? "home" : "other-lender";
        const moved = this.moveRun(row, source, place, reason, false, nowNs);
        if (moved === 0) break;
        remaining -= moved;
      }
    }
  }

  /** Blocks of a source that no move takes away yet. */
  stayingBlocks(source: number): number {
    return this.#kv.usedBlocks(source) - this.#leavingBlocks(source);
  }

  /** Brings parked sequences' blocks back from the host while there is room for all of them. */
  bringBack(nowNs: number): void {
    const host = this.#arena.hostSource;
    if (this.#kv.usedBlocks(host) === 0) return;
    const { order, count } = this.#sequences;
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      let blocks = this.#kv.blocksAt(row, host);
      if (blocks === 0) continue;
      if (this.places.homeBlocks() < blocks) return;
      while (blocks > 0) {
        const moved = this.moveRun(row, host, LOCAL_SOURCE, "back", true, nowNs);
        if (moved === 0) return;
        blocks -= moved;
      }
    }
  }

  /** Starts one move of a run of blocks of a sequence. @returns blocks that move. */
  moveBlocks(
    sequence: number,
    firstBlock: number,
    count: number,
    target: number,
    reason: MoveReason,
    isExempt: boolean,
    nowNs: number,
  ): number {
    const { slices, layout } = this.#kv;
    const isWhole = count >= layout.blocksPerSlice && slices.emptyRow(target) >= 0;
    const targetRow = isWhole ? slices.emptyRow(target) : slices.fullestRow(target);
    if (targetRow < 0) return 0;
    const taken = Math.min(count, layout.blocksPerSlice - slices.used[targetRow]!);
    const move = this.#kv.beginMove(sequence, firstBlock, taken, targetRow, reason);
    this.places.leaving[move.sourceSource]!++;
    if (move.sourceSource === LOCAL_SOURCE) this.outgoingBlocks += taken;
    this.#counters.movedBytes += move.bytes;
    const { id, bytes, copies, sourceSource: source, sourceHandles, targetHandles } = move;
    const request = { id, source, target, bytes, copies, isExempt, sourceHandles, targetHandles };
    this.#copies.submit(request, nowNs);
    return taken;
  }

  /**
   * Starts one move of the next run of blocks that a sequence has at a source: a slice's worth at
   * most. @returns blocks.
   */
  moveRun(
    row: number,
    source: number,
    target: number,
    reason: MoveReason,
    isExempt: boolean,
    nowNs: number,
    blocksMax = Infinity,
  ): number {
    const most = Math.min(blocksMax, this.#kv.layout.blocksPerSlice);
    const [first, count] = this.#kv.findMovable(row, source, 0, most);
    return count === 0 ? 0 : this.moveBlocks(row, first, count, target, reason, isExempt, nowNs);
  }

  /**
   * The sequence with the most sealed local blocks that nothing moves yet; of those that have less
   * out than links carry, if there is one.
   */
  #bestOutward(): number {
    const { order, count, isParked } = this.#sequences;
    let best = -1;
    let most = 0;
    let isBestLight = false;
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      if (isParked[row] === 1) continue;
      const movable = this.#kv.movableLocalBlocks(row);
      if (movable === 0) continue;
      const isLight = blocksOut(this.#kv, row) < this.sequenceBlocksOut;
      if (isLight === isBestLight ? movable <= most : isBestLight) continue;
      most = movable;
      best = row;
      isBestLight = isLight;
    }
    return best;
  }

  #leavingBlocks(source: number): number {
    if (this.places.leaving[source] === 0) return 0;
    let blocks = 0;
    for (const move of this.#kv.moves.values()) {
      if (move.sourceSource === source && !move.isOrphaned) blocks += move.blockCount;
    }
    return blocks;
  }
}
