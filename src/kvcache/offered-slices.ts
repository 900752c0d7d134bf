/**
 * An engine's own slices that it does not use itself: offered to the pool, or being cleared first.
 *
 * Kept by Arena, which decides how many to offer and when to take them back. Where a slice may go
 * to another tenant it is cleared before it is offered, in the background; a slice that is wanted
 * back meanwhile comes at once, and no slice is cleared on its way home.
 *
 *     (in the table) --offer--> CLEARING --clear--> OFFERED --withdrawn, returned--> (in the table)
 *           ^                      |
 *           +------- reclaim ------+          without tenants: OFFERED at once
 *
 * Invariant: a slice is in the table, or counted here once.
 */

import { sliceId, type EngineId, type SliceId } from "../base/index.ts";
import type { Pool } from "../pool/index.ts";
import { LOCAL_SOURCE, type KvCache } from "./kv-cache.ts";

/** Clears slices of the own device a little at a time; nothing calls back. */
export interface SliceClearing {
  begin(row: number): void;
  /** The slice is wanted back: it is not written any more from now on. */
  cancel(row: number): void;
  /** @returns a slice that is clear, or -1. */
  poll(): number;
}

export class OfferedSlices {
  readonly #engine: EngineId;
  readonly #pool: Pool;
  readonly #kv: KvCache;
  readonly #clearing: SliceClearing | null;
  /** Rows that are being cleared, in the order in which they were offered. */
  readonly #unclear: number[] = [];
  #offered = 0;

  constructor(engine: EngineId, pool: Pool, kv: KvCache, clearing: SliceClearing | null) {
    this.#engine = engine;
    this.#pool = pool;
    this.#kv = kv;
    this.#clearing = clearing;
  }

  /** Own slices that are not in the table. */
  get count(): number {
    return this.#offered + this.#unclear.length;
  }

  /** Those in the pool's hands, lent ones included. */
  get inPool(): number {
    return this.#offered;
  }

  /** Takes empty slices out of the table, as many as there are, at most `count`. */
  offer(count: number, nowNs: number): void {
    const slices: SliceId[] = [];
    for (let left = count; left > 0; left--) {
      const row = this.#kv.slices.emptyRow(LOCAL_SOURCE);
      if (row < 0) break;
      this.#kv.slices.drop(row);
      if (this.#clearing === null) {
        slices.push(sliceId(row));
        continue;
      }
      this.#clearing.begin(row);
      this.#unclear.push(row);
    }
    if (this.#clearing === null) this.#handOver(slices, nowNs);
  }

  /** Offers what has become clear. */
  poll(nowNs: number): void {
    if (this.#clearing === null || this.#unclear.length === 0) return;
    const slices: SliceId[] = [];
    for (let row = this.#clearing.poll(); row >= 0; row = this.#clearing.poll()) {
      this.#unclear.splice(this.#unclear.indexOf(row), 1);
      slices.push(sliceId(row));
    }
    if (slices.length > 0) this.#handOver(slices, nowNs);
  }

  /** Brings back slices that are not clear yet. @returns how many. */
  reclaim(count: number): number {
    let brought = 0;
    for (; brought < count && this.#unclear.length > 0; brought++) {
      const row = this.#unclear.pop()!;
      this.#clearing!.cancel(row);
      this.#kv.slices.admit(row);
    }
    return brought;
  }

  /** The pool has given these back. */
  takeHome(slices: readonly SliceId[]): void {
    for (const slice of slices) this.#kv.slices.admit(slice);
    this.#offered -= slices.length;
  }

  #handOver(slices: readonly SliceId[], nowNs: number): void {
    this.#offered += slices.length;
    this.#pool.apply({ type: "OfferSlices", engine: this.#engine, slices }, nowNs);
  }
}
