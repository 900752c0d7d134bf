/**
 * The borrowed half of an arena: slices on their way back to lenders, and what lenders are owed.
 *
 * Kept by Arena, which speaks to the pool. Which slice goes back is the recall ladder's choice.
 *
 *                 close                 give back, no read left
 *     (usable) ----------> CLOSING ------------------------------> returned
 *         |                 |   |  give back, still read             ^
 *         |                 |   +-------------> FENCED --------------+
 *         | lender gone     |   lender gone       |  the read has ended
 *         +-----------------+---------------------+----------> LOST --drop--> (gone)
 *
 * Invariants: nothing is returned before the last read of it has ended; a lost slice is not
 * returned; a FENCED one is empty; what is closing is counted by lender.
 */

import { assert, type EngineId, type SliceId } from "../base/index.ts";
import { LOCAL_SOURCE, type KvCache } from "./kv-cache.ts";
import { RecallDebts } from "./recall-debts.ts";
import { RowState } from "./slice-table.ts";

/** Sources of borrowed rows lie between the engine's own device and the host. */
export class BorrowedRows {
  readonly debts: RecallDebts;
  /** Rows whose bytes are gone with their lender, until `dropLost`; CLOSING meanwhile. */
  readonly lost: number[] = [];
  readonly #kv: KvCache;
  readonly #hostSource: number;
  readonly #giveBack: (row: number, nowNs: number) => void;
  /** Empty rows that wait for the end of a read. */
  readonly #fenced: { row: number; notBeforeNs: number }[] = [];
  /** (engines) rows closed and neither returned nor dropped. */
  readonly #closing: Int32Array;

  /** @param giveBack hands a row, which is no longer in the table, to the pool. */
  constructor(
    kv: KvCache,
    engineCount: number,
    giveBack: (row: number, nowNs: number) => void,
  ) {
    this.#kv = kv;
    this.#hostSource = engineCount + 1;
    this.#giveBack = giveBack;
    this.#closing = new Int32Array(engineCount);
    this.debts = new RecallDebts((lender) => kv.slices.heldRows[lender + 1]!);
  }

  get hasFences(): boolean {
    return this.#fenced.length > 0;
  }

  closing(lender: EngineId): number {
    return this.#closing[lender]!;
  }

  /** No new blocks go there; no-op when it is closing already. */
  close(row: number): void {
    if (this.#kv.slices.state[row] !== RowState.Usable) return;
    const lender = this.#lenderOf(row);
    this.#kv.slices.close(row);
    this.#closing[lender]!++;
  }

  /** An empty row goes home at once, or when its last read has ended. */
  giveBack(row: number, notBeforeNs: number, nowNs: number): void {
    this.close(row);
    if (notBeforeNs > nowNs) this.#fenced.push({ row, notBeforeNs });
    else this.#return(row, nowNs);
  }

  /**
   * Returns what nothing reads any more.
   * @param isStepOver whether the reads have ended of which it was not known when they would
   */
  openFences(nowNs: number, isStepOver = false): void {
    for (let index = this.#fenced.length - 1; index >= 0; index--) {
      const fence = this.#fenced[index]!;
      const isOver = isStepOver && fence.notBeforeNs === Infinity;
      if (fence.notBeforeNs > nowNs && !isOver) continue;
      this.#fenced.splice(index, 1);
      this.#return(fence.row, nowNs);
    }
  }

  /** The next deadline or end of a read; overdue recalls wait for something with its own time. */
  nextDueNs(nowNs: number): number {
    let due = this.debts.nextDueNs(nowNs);
    for (const fence of this.#fenced) due = Math.min(due, fence.notBeforeNs);
    return due;
  }

  /** Nothing new goes to lost slices, and nobody waits to give them back. */
  noteLost(slices: readonly SliceId[]): void {
    for (const slice of slices) {
      this.close(slice);
      this.lost.push(slice);
      const fence = this.#fenced.findIndex((entry) => entry.row === slice);
      if (fence >= 0) this.#fenced.splice(fence, 1);
    }
  }

  /** Strikes the lost rows; no sequence has blocks there any more. */
  dropLost(): void {
    for (const row of this.lost) {
      this.#closing[this.#lenderOf(row)]!--;
      this.#kv.loseRow(row);
    }
    this.lost.length = 0;
    this.debts.fitAll();
  }

  /** Counts what is closing again. */
  check(): void {
    if (this.lost.length === 0) this.debts.check();
    const { source, state, used } = this.#kv.slices;
    const found = new Int32Array(this.#closing.length);
    state.forEach((rowState, row) => {
      const isBorrowed = source[row]! > LOCAL_SOURCE && source[row]! < this.#hostSource;
      if (isBorrowed && rowState === RowState.Closing) found[source[row]! - 1]!++;
    });
    this.#closing.forEach((kept, lender) => {
      assert(kept === found[lender], () => `arena: ${kept} rows of ${lender} kept closing`);
    });
    for (const { row } of this.#fenced) {
      const isReady = state[row] === RowState.Closing && used[row] === 0;
      assert(isReady, () => `arena: fenced row ${row} has state ${state[row]}, ${used[row]} used`);
      assert(!this.lost.includes(row), () => `arena: lost row ${row} waits to be given back`);
    }
  }

  #return(row: number, nowNs: number): void {
    const lender = this.#lenderOf(row);
    this.#kv.slices.drop(row);
    this.#closing[lender]!--;
    this.debts.settle(lender);
    this.#giveBack(row, nowNs);
  }

  #lenderOf(row: number): EngineId {
    const source = this.#kv.slices.source[row]!;
    const isBorrowed = source > LOCAL_SOURCE && source < this.#hostSource;
    assert(isBorrowed, () => `arena: row ${row} of source ${source} is not borrowed`);
    return (source - 1) as EngineId;
  }
}
