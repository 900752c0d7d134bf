/**
 * What a borrower does when its lenders begin or cease to run steps.
 *
 * Called by the engine when a lender's activity changed, and before steps while any lender runs. A
 * running lender is read at its share only, so what the share cannot carry within a step moves away:
 * home, or to lenders that do not run; meanwhile the sequences that have blocks there are left out.
 */

import type { EngineId } from "../base/index.ts";
import type { Pool } from "../pool/index.ts";
import type { EngineOptions } from "./engine-options.ts";
import type { EngineParts } from "./engine-parts.ts";

/** Of what the share carries within a step, this much is used: steps differ in length. */
const SHARE_USED = 0.9;

export class LenderWatch {
  readonly #options: EngineOptions;
  readonly #parts: EngineParts;
  readonly #pool: Pool;

  constructor(options: EngineOptions, parts: EngineParts, pool: Pool) {
    this.#options = options;
    this.#parts = parts;
    this.#pool = pool;
  }

  /** Brings rates up to date and moves off lenders that run. */
  follow(localStepNs: number, nowNs: number): void {
    const { rates, arena, residency } = this.#parts;
    rates.refresh(arena, residency.leaving);
    if (!rates.isConstrained) return;
    for (let source = 1; source < arena.hostSource; source++) {
      if (arena.isLenderRunning[source - 1] === 1) this.#leave(source, localStepNs, nowNs);
    }
    rates.refresh(arena, residency.leaving);
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
    const { arena, kv, scheduler } = this.#parts;
    const { order } = scheduler.sequences;
    const lost = new Set(arena.lostRows);
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

  /** Gives back and moves away what the running lender's share cannot carry within a step. */
  #leave(source: number, localStepNs: number, nowNs: number): void {
    const { rates, kv, arena, residency, ladder } = this.#parts;
    const { blockBytes, sliceBytes } = kv.layout;
    const keep = SHARE_USED * (rates.pacedBytesPerSecond(source) / 1e9) * localStepNs;
    residency.sharedBytes[source] = keep;
    const surplus = kv.slices.heldRows[source]! - residency.sharedRows(source);
    if (surplus <= 0) return;
    ladder.returnEmpty((source - 1) as EngineId, surplus, nowNs);
    const excess = residency.stayingBlocks(source) * blockBytes - keep;
    if (excess <= 0 || this.#options.lenderShare === 0) return;
    const homeless = excess - residency.refugeBlocks(source) * blockBytes;
    const room = this.#options.borrowLimitSlices - arena.borrowedSlices;
    const wanted = Math.min(room, Math.ceil(homeless / sliceBytes));
    if (wanted > 0 && this.#pool.obtainable(arena.engine, nowNs).fromIdleLenders > 0) {
      arena.borrow(wanted, false, nowNs);
    }
    residency.evacuate(source, keep, nowNs);
  }
}
