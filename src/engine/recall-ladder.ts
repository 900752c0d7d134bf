/**
 * How a borrower gives slices back: the cheapest rung first.
 *
 * Called by the engine's tick while recalls are open. REFILL recalls may move data until their
 * deadline; DEMAND recalls, and refills that are overdue, drop what is not already elsewhere
 * (recall-dues.ts).
 *
 *     free           empty slices go at once
 *     twin           slices whose blocks are still being copied in: the originals are at home
 *     cached         unreferenced cached prefixes (none before there is a prefix cache)
 *     parked         blocks of parked sequences move
 *     home | other-lender | host     blocks of running sequences move
 *     drop-parked | drop-running     a sequence is preempted and computed again, youngest first
 *
 * It knows rows, sequences and recalls, not how a step reads: the engine tells it through `fence`
 * until when a slice is still being read.
 *
 * Invariant: a closing slice was chosen by exactly one rung and is given back when it is empty.
 */

import type { EngineId } from "../base/index.ts";
import { Arena, RowState, type KvCache, type MoveReason } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import type { Scheduler } from "../scheduler/index.ts";
import type { EngineCounters, LadderRung } from "./engine-counters.ts";
import { RecallDues } from "./recall-dues.ts";
import type { Residency } from "./residency.ts";

/** The engine's part in a recall. */
export interface LadderHost {
  /** Until when the step in flight may still read the slice; in the past when nothing reads it. */
  fenceNs(row: number, nowNs: number): number;
  /** Frees all of a sequence, also out of the step in flight. */
  preempt(row: number, nowNs: number): void;
}

/** Which rows are a lender's own slices. */
export interface LenderRows {
  readonly pool: Pick<Pool, "firstSliceOf">;
  readonly slicesOf: readonly number[];
}

export class RecallLadder {
  readonly #arena: Arena;
  readonly #kv: KvCache;
  readonly #scheduler: Scheduler;
  readonly #residency: Residency;
  readonly #counters: EngineCounters;
  readonly #host: LadderHost;
  readonly #rowsOf: LenderRows;
  readonly #dues: RecallDues;
  /** Closed rows that still hold blocks, with the rung that closed them; null: nobody asked. */
  readonly #emptying = new Map<number, LadderRung | null>();

  constructor(
    arena: Arena,
    kv: KvCache,
    scheduler: Scheduler,
    residency: Residency,
    counters: EngineCounters,
    host: LadderHost,
    rowsOf: LenderRows,
  ) {
    this.#arena = arena;
    this.#kv = kv;
    this.#scheduler = scheduler;
    this.#residency = residency;
    this.#counters = counters;
    this.#host = host;
    this.#rowsOf = rowsOf;
    this.#dues = new RecallDues(arena, kv, residency);
  }

  /** Answers what is open as far as it can be answered now. */
  process(nowNs: number): void {
    if (this.#emptying.size > 0) this.#sweep(nowNs);
    if (this.#arena.recalls.length === 0) return;
    // The list changes while slices are given back; lenders do not.
    const lenders = new Set(this.#arena.recalls.map((recall) => recall.lender));
    for (const lender of lenders) {
      this.#giveFree(lender, nowNs);
      this.#giveTwins(lender, nowNs);
      this.#moveOut(lender, nowNs);
      this.#drop(lender, nowNs);
    }
    this.#sweep(nowNs);
  }

  /** Gives back slices of a lender that hold nothing, unasked. @returns how many went. */
  returnEmpty(lender: EngineId, count: number, nowNs: number): number {
    const source = Arena.sourceOf(lender);
    let given = 0;
    while (given < count) {
      const row = this.#kv.slices.emptyRow(source);
      if (row < 0) break;
      this.#arena.giveBack(row, this.#host.fenceNs(row, nowNs), nowNs);
      given++;
    }
    return given;
  }

  /** Gives everything of a lender back, unasked: what is in use as soon as its sequences end. */
  leave(lender: EngineId, nowNs: number): void {
    this.returnEmpty(lender, Infinity, nowNs);
    const first = this.#rowsOf.pool.firstSliceOf(lender);
    const end = first + this.#rowsOf.slicesOf[lender]!;
    for (let row = first; row < end; row++) {
      if (this.#kv.slices.state[row] === RowState.Usable) this.#close(row, null);
    }
  }

  /**
   * Gives so many slices of any lenders back, unasked: empty ones at once, then those with the
   * least in them, as soon as their sequences end.
   */
  shed(count: number, nowNs: number): void {
    const lenders = this.#rowsOf.slicesOf
      .map((_, index) => index as EngineId)
      .filter((lender) => lender !== this.#arena.engine);
    let left = count - this.#emptying.size;
    for (const lender of lenders) left -= this.returnEmpty(lender, Math.max(0, left), nowNs);
    for (; left > 0; left--) {
      const rows = lenders.map((lender) => this.#leastRow(lender, false) ?? -1);
      const held = rows.filter((row) => row >= 0);
      if (held.length === 0) return;
      held.sort((a, b) => this.#liveBlocks(a) - this.#liveBlocks(b));
      this.#close(held[0]!, null);
    }
  }

  #giveFree(lender: EngineId, nowNs: number): void {
    const given = this.returnEmpty(lender, this.#arena.owedRows(lender, "any"), nowNs);
    this.#counters.ladder.free += given;
  }

  /** Slices that only receive copies: giving the moves up loses nothing. */
  #giveTwins(lender: EngineId, nowNs: number): void {
    if (this.#arena.owedRows(lender, "any") === 0 || this.#kv.moves.size === 0) return;
    for (const move of this.#kv.moves.values()) {
      if (this.#arena.owedRows(lender, "any") === 0) return;
      if (move.targetSource !== Arena.sourceOf(lender)) continue;
      const row = move.targetRow;
      if (this.#arena.isClosing(row) || this.#liveBlocks(row) > 0) continue;
      this.#close(row, "twin");
      for (const other of this.#kv.moves.values()) {
        if (other.targetRow === row) this.#residency.abandon(other.id, nowNs);
      }
    }
  }

  /**
   * REFILL: moves blocks out, slices of parked sequences first, then those with the least in them.
   */
  #moveOut(lender: EngineId, nowNs: number): void {
    while (this.#arena.owedRows(lender, "refill") > 0) {
      const row = this.#leastRow(lender, true) ?? this.#leastRow(lender, false);
      if (row === null) return;
      const rung = this.#moveRowOut(row, nowNs);
      if (rung === null) return;
      this.#close(row, rung);
    }
  }

  /** Starts moves for every live block of the row. @returns the rung used, or null: no refuge. */
  #moveRowOut(row: number, nowNs: number): LadderRung | null {
    const { blocksPerSlice } = this.#kv.layout;
    const source = this.#kv.slices.source[row]!;
    let rung: LadderRung | null = null;
    for (let slot = 0; slot < blocksPerSlice; slot++) {
      const handle = row * blocksPerSlice + slot;
      const owner = this.#kv.liveOwner(handle);
      if (owner < 0) continue;
      const block = this.#kv.slices.slotIndex[handle]!;
      const [first, count] = this.#kv.findMovable(owner, source, block, this.#runLength(handle));
      if (count === 0 || first !== block) continue;
      const target = this.#residency.places.refuge(source, true);
      if (target < 0) return rung;
      const isParked = this.#scheduler.sequences.isParked[owner] === 1;
      const reason: MoveReason =
        target === 0 ? "home" : target === this.#arena.hostSource ? "host" : "other-lender";
      const moved = this.#residency.moveBlocks(owner, block, count, target, reason, true, nowNs);
      if (moved === 0) return rung;
      if (reason === "host") this.#scheduler.rotation.park(owner, nowNs);
      rung = isParked ? "parked" : (reason as LadderRung);
      slot += moved - 1;
    }
    return rung;
  }

  /** How many slots from here on hold consecutive blocks of one sequence. */
  #runLength(handle: number): number {
    const { blocksPerSlice } = this.#kv.layout;
    const end = (this.#kv.rowOf(handle) + 1) * blocksPerSlice;
    const owner = this.#kv.liveOwner(handle);
    const block = this.#kv.slices.slotIndex[handle]!;
    let length = 1;
    while (handle + length < end) {
      const isNext = this.#kv.slices.slotIndex[handle + length] === block + length;
      if (!isNext || this.#kv.liveOwner(handle + length) !== owner) break;
      length++;
    }
    return length;
  }

  /** DEMAND and overdue: preempts, parked sequences first, then the youngest with blocks there. */
  #drop(lender: EngineId, nowNs: number): void {
    const source = Arena.sourceOf(lender);
    for (;;) {
      const owed = this.#dues.rows(lender, this.#emptying.keys(), nowNs);
      if (owed <= 0) return;
      const victim = this.#victim(source);
      if (victim < 0) return;
      const isParked = this.#scheduler.sequences.isParked[victim] === 1;
      const rung = isParked ? "drop-parked" : "drop-running";
      this.#host.preempt(victim, nowNs);
      const given = this.returnEmpty(lender, owed, nowNs);
      this.#counters.ladder[rung] += given;
      this.#sweep(nowNs);
    }
  }

  #victim(source: number): number {
    const { order, count, isParked } = this.#scheduler.sequences;
    let youngest = -1;
    for (let index = count - 1; index >= 0; index--) {
      const row = order[index]!;
      if (this.#kv.blocksAt(row, source) === 0) continue;
      if (isParked[row] === 1) return row;
      if (youngest < 0) youngest = row;
    }
    return youngest;
  }

  /** The usable slice of a lender with the fewest live blocks; of parked sequences only, or any. */
  #leastRow(lender: EngineId, isParkedOnly: boolean): number | null {
    if (isParkedOnly && this.#scheduler.rotation.parkedCount === 0) return null;
    const first = this.#rowsOf.pool.firstSliceOf(lender);
    const end = first + this.#rowsOf.slicesOf[lender]!;
    let best: number | null = null;
    let least = Infinity;
    for (let row = first; row < end; row++) {
      if (this.#kv.slices.state[row] !== RowState.Usable) continue;
      const live = this.#liveBlocks(row, isParkedOnly);
      if (live <= 0 || live >= least) continue;
      least = live;
      best = row;
    }
    return best;
  }

  /**
   * @returns live blocks of the row; -1 if only parked ones were asked for and others are there.
   */
  #liveBlocks(row: number, isParkedOnly = false): number {
    const { blocksPerSlice } = this.#kv.layout;
    let live = 0;
    for (let slot = 0; slot < blocksPerSlice; slot++) {
      const owner = this.#kv.liveOwner(row * blocksPerSlice + slot);
      if (owner < 0) continue;
      if (isParkedOnly && this.#scheduler.sequences.isParked[owner] === 0) return -1;
      live++;
    }
    return live;
  }

  #close(row: number, rung: LadderRung | null): void {
    this.#arena.closeRow(row);
    this.#emptying.set(row, rung);
  }

  /** Gives back closed slices that have become empty. */
  #sweep(nowNs: number): void {
    for (const [row, rung] of this.#emptying) {
      if (this.#kv.slices.used[row]! > 0) continue;
      this.#emptying.delete(row);
      // A slice that was lost with its lender is not there to be given back.
      if (!this.#arena.isClosing(row)) continue;
      if (rung !== null) this.#counters.ladder[rung]++;
      this.#arena.giveBack(row, this.#host.fenceNs(row, nowNs), nowNs);
    }
  }
}
