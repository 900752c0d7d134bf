/**
 * What a borrower does when its lenders begin or cease to run steps, or others read them too.
 *
 * Called by the engine when a lender's activity changed, and before steps while any lender runs. A
 * running lender is read at its share only, so what the share cannot carry within a step moves
 * away: home, or to lenders that do not run; meanwhile the sequences that have blocks there are
 * left out.
 */

import { NS_PER_SECOND, type EngineId } from "../base/index.ts";
import type { Pool } from "../pool/index.ts";
import type { EngineOptions } from "./engine-options.ts";
import type { EngineParts } from "./engine-parts.ts";
import { SHARE_USED } from "./link-rates.ts";

/** A lender that has run less than this of the last half minute is calm: blocks move there. */
const CALM_SHARE = 0.1;
const CALM_WINDOW_NS = 30 * NS_PER_SECOND;

export class LenderWatch {
  readonly #options: EngineOptions;
  readonly #parts: EngineParts;
  readonly #pool: Pool;

  /** (sources) share of recent time in which a lender ran, and when that was last brought up. */
  readonly #runningShare: Float64Array;
  #sharedSinceNs = Infinity;
  /** Whether no lender runs or ran while its slices were held, and all this is said already. */
  #isQuiet = false;

  constructor(options: EngineOptions, parts: EngineParts, pool: Pool) {
    this.#runningShare = new Float64Array(parts.kv.sourceCount);
    this.#options = options;
    this.#parts = parts;
    this.#pool = pool;
  }

  /** Brings rates up to date and moves off lenders that run. */
  follow(localStepNs: number, nowNs: number): void {
    const { rates, arena, residency, kv } = this.#parts;
    if (this.#isQuiet && !isAny(arena.isLenderRunning)) {
      this.#sharedSinceNs = nowNs;
      return;
    }
    rates.refresh(arena, this.#pool, residency.places.leaving, nowNs);
    this.#followCalm(nowNs);
    if (!rates.isConstrained) return;
    const moves = kv.moves.size;
    let hasTraded = false;
    for (let source = 1; source < arena.hostSource; source++) {
      if (arena.isLenderRunning[source - 1] === 0) continue;
      if (this.#leave(source, localStepNs, nowNs)) hasTraded = true;
    }
    // Rates follow from who reads and what leaves: mostly neither has changed.
    if (!hasTraded && kv.moves.size === moves) return;
    rates.refresh(arena, this.#pool, residency.places.leaving, nowNs);
  }

  /** Tells what steps read of whom, and reckons with what others read there. */
  followReads(localStepNs: number, nowNs: number): void {
    const { rates, arena, residency, reads, kv } = this.#parts;
    reads.report(arena, this.#pool, nowNs);
    if (arena.borrowedSlices === 0) return;
    rates.refresh(arena, this.#pool, residency.places.leaving, nowNs);
    residency.sequenceBlocksOut = rates.carriedBlocks(kv, localStepNs / 2);
  }

  /**
   * Leaves out sequences whose blocks can no longer be read in time.
   *
   * @returns whether the rest of the step in flight must be laid out anew, without them.
   */
  thinOut(localStepNs: number, nowNs: number): boolean {
    const { rates, kv, scheduler } = this.#parts;
    if (!rates.isConstrained || kv.readSet.totalBytes() === 0) return false;
    const { rotation } = scheduler;
    const before = kv.readSet.version;
    rotation.select(localStepNs, scheduler.skipsMax(localStepNs), nowNs);
    return this.#readsSlowly() || kv.readSet.version !== before;
  }

  /** Lenders are gone: sequences with blocks there are computed again. */
  recover(nowNs: number): void {
    const { arena, kv, scheduler, flight, residency } = this.#parts;
    const { order } = scheduler.sequences;
    const lost = new Set(arena.lostRows);
    if (flight.isInFlight) residency.places.isHomeClosed = true;
    for (let index = scheduler.sequences.count - 1; index >= 0; index--) {
      const row = order[index]!;
      if (kv.touches(row, lost)) scheduler.preempt(row, nowNs);
    }
    arena.dropLost();
  }

  /** Whether anything is read from a source that is slower than its path. */
  #readsSlowly(): boolean {
    const { rates, kv, arena } = this.#parts;
    for (let source = 1; source < arena.hostSource; source++) {
      if (kv.readSet.stagedBytes[source]! + kv.readSet.directBytes[source]! === 0) continue;
      if (rates.sourceBytesPerSecond[source]! < rates.pathBytesPerSecond(source)) return true;
    }
    return false;
  }

  /** A fading mean of who runs; rational instead of exponential, so it is the same everywhere. */
  #followCalm(nowNs: number): void {
    const elapsedNs = Math.max(0, nowNs - this.#sharedSinceNs);
    this.#sharedSinceNs = nowNs;
    const weight = elapsedNs / (elapsedNs + CALM_WINDOW_NS);
    const { arena, residency } = this.#parts;
    this.#isQuiet = !isAny(arena.isLenderRunning);
    for (let source = 1; source < arena.hostSource; source++) {
      const isRunning = arena.isLenderRunning[source - 1]!;
      this.#runningShare[source]! += weight * (isRunning - this.#runningShare[source]!);
      if (this.#runningShare[source]! > 0) this.#isQuiet = false;
      const isCalm = isRunning === 0 && this.#runningShare[source]! < CALM_SHARE;
      residency.places.isCalm[source] = isCalm ? 1 : 0;
    }
  }

  /**
   * Leaves a running lender: at once what its share cannot carry within a step, wherever there is
   * room; the rest only for lenders that have been calm, or blocks would chase idle moments.
   *
   * @returns whether slices were given back or asked for; moves are counted by the cache.
   */
  #leave(source: number, localStepNs: number, nowNs: number): boolean {
    const { rates, kv, residency, ladder } = this.#parts;
    const { blockBytes } = kv.layout;
    const keep = SHARE_USED * (rates.pacedBytesPerSecond(source) / 1e9) * localStepNs;
    residency.places.sharedBytes[source] = keep;
    if (kv.slices.heldRows[source] === 0) return false;
    let hasTraded = false;
    const calmSlices = this.#obtainableCalm();
    const surplus = kv.slices.heldRows[source]! - residency.places.sharedRows(source);
    const spare = calmSlices > 0 ? kv.slices.emptyRows[source]! : surplus;
    if (spare > 0) hasTraded = ladder.returnEmpty((source - 1) as EngineId, spare, nowNs) > 0;
    const staying = residency.stayingBlocks(source);
    if (staying === 0 || this.#options.lenderShare === 0) return hasTraded;
    if (calmSlices > 0 && this.#borrowFor(staying, source, nowNs)) hasTraded = true;
    residency.evacuateToCalm(source, nowNs);
    const excess = residency.stayingBlocks(source) - Math.floor(keep / blockBytes);
    if (excess <= 0) return hasTraded;
    if (this.#borrowFor(excess, source, nowNs)) hasTraded = true;
    residency.evacuate(source, keep, nowNs);
    return hasTraded;
  }

  /** Slices that lenders which have been calm could give, paths and accounts left aside. */
  #obtainableCalm(): number {
    const { arena, residency } = this.#parts;
    let slices = 0;
    for (let source = 1; source < arena.hostSource; source++) {
      if (residency.places.isCalm[source] === 0) continue;
      slices += this.#pool.idleSlices((source - 1) as EngineId);
    }
    return slices;
  }

  /**
   * Asks for slices of lenders that do not run, for blocks that must leave a source.
   * @returns whether the pool was asked.
   */
  #borrowFor(blocks: number, source: number, nowNs: number): boolean {
    const { arena, residency, kv } = this.#parts;
    const homeless = blocks - residency.places.refugeBlocks(source);
    const room = this.#pool.borrowLimitOf(arena.engine) - arena.borrowedSlices;
    const wanted = Math.min(room, Math.ceil(homeless / kv.layout.blocksPerSlice));
    if (wanted <= 0 || this.#pool.obtainable(arena.engine, nowNs).fromIdleLenders === 0) {
      return false;
    }
    arena.borrow(wanted, false, nowNs);
    return true;
  }
}

/** Asked at every step; a loop is faster here than a search of the array. */
function isAny(marks: Uint8Array): boolean {
  for (let index = 0; index < marks.length; index++) if (marks[index] === 1) return true;
  return false;
}
