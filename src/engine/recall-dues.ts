/**
 * How many slices a borrower has to clear this moment, whatever it costs.
 *
 * Asked by the recall ladder before it drops anything. Demanded slices are due at once, others when
 * their deadline has passed, less what is on its way anyway:
 *
 *     fenced     empty, and still read by the step in flight: nothing can hasten them
 *     copied     all in them has been copied elsewhere; tables turn to it when the step ends. Of a
 *                refill nobody waits, and a step is shorter than what is dropped takes to compute
 *
 * It knows rows and recalls; what is dropped is the ladder's choice.
 */

import type { EngineId } from "../base/index.ts";
import { Arena, type KvCache } from "../kvcache/index.ts";
import type { Residency } from "./residency.ts";

export class RecallDues {
  readonly #arena: Arena;
  readonly #kv: KvCache;
  readonly #residency: Residency;

  constructor(arena: Arena, kv: KvCache, residency: Residency) {
    this.#arena = arena;
    this.#kv = kv;
    this.#residency = residency;
  }

  /** @param emptying closed rows, of any lender, that still held blocks when they were closed. */
  rows(lender: EngineId, emptying: Iterable<number>, nowNs: number): number {
    let demanded = 0;
    let overdue = 0;
    for (const recall of this.#arena.recalls) {
      if (recall.lender !== lender) continue;
      if (recall.kind === "demand") demanded += recall.remaining;
      else if (recall.deadlineNs <= nowNs) overdue += recall.remaining;
    }
    if (demanded + overdue === 0) return 0;
    let fenced = this.#arena.closingRows(lender);
    let copied = 0;
    const source = Arena.sourceOf(lender);
    for (const row of emptying) {
      if (this.#kv.slices.source[row] !== source) continue;
      const [live, left] = this.#blocksIn(row);
      if (live > 0) fenced--;
      if (live > 0 && left === 0) copied++;
    }
    return demanded + overdue - fenced - Math.min(overdue, copied);
  }

  /** @returns live blocks of the row, and those of them whose copy has not ended. */
  #blocksIn(row: number): [live: number, left: number] {
    const { blocksPerSlice } = this.#kv.layout;
    let [live, left] = [0, 0];
    for (let slot = 0; slot < blocksPerSlice; slot++) {
      const handle = row * blocksPerSlice + slot;
      if (this.#kv.liveOwner(handle) < 0) continue;
      live++;
      if (!this.#residency.isCopied(handle)) left++;
    }
    return [live, left];
  }
}
