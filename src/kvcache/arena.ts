/**
 * The slices an engine holds: its own, less what it offers to others, plus what it has borrowed.
 *
 * Called by the engine's tick (events first, upkeep last), by its memory port (obtain) and by the
 * recall ladder (give back). It speaks to the pool in commands and reads its mailbox; which blocks
 * lie in a slice is the cache's affair, when borrowing pays the scheduler's.
 *
 * A row is a slice's id. Sources: 0 is the engine's own device, 1 + e engine e's, the last one the
 * host's memory.
 *
 * Invariants: an own slice is either in the slice table or offered to the pool; a borrowed slice in
 * the table is leased to this engine; nothing is given back before the last read of it has ended
 * (`notBeforeNs`).
 */

import { assert, sliceId, type EngineId, type SliceId } from "../base/index.ts";
import type { Pool, RecallKind, RefusalReason } from "../pool/index.ts";
import { LOCAL_SOURCE, type KvCache } from "./kv-cache.ts";
import { RowState } from "./slice-table.ts";

export interface ArenaOptions {
  readonly engine: EngineId;
  readonly engineCount: number;
  readonly ownSlices: number;
  /** Whether the engine takes part in the pool; a static one keeps what it has. */
  readonly isElastic: boolean;
  /** After a recall or a return of its own, an engine waits so long before it offers again. */
  readonly quietNs: number;
}

/** A recall this engine has to answer as a borrower. */
export interface PendingRecall {
  readonly lender: EngineId;
  readonly kind: RecallKind;
  readonly deadlineNs: number;
  remaining: number;
}

export class Arena {
  readonly engine: EngineId;
  readonly isElastic: boolean;
  readonly hostSource: number;
  /** Recalls not yet answered in full, in the order they came; DEMAND ones are answered first. */
  readonly recalls: PendingRecall[] = [];
  /** (engines) whether a lender runs steps, as last told. */
  readonly isLenderRunning: Uint8Array;
  /** Set when a lender began or ceased to run; cleared by who acts on it. */
  hasActivityChanged = false;
  /** Slices whose bytes are gone with their lender, to be acted on by the engine. */
  readonly lostRows: number[] = [];
  readonly refusals: Record<RefusalReason, number> = {
    "no-idle-memory": 0,
    limit: 0,
    account: 0,
    role: 0,
    link: 0,
    "lender-share": 0,
    "does-not-pay": 0,
    slo: 0,
  };

  readonly #pool: Pool;
  readonly #kv: KvCache;
  readonly #options: ArenaOptions;
  readonly #firstRow: number;
  #nowNs = 0;
  #offered = 0;
  #demandOutstanding = 0;
  #refillOutstanding = 0;
  #lastTroubleNs = -Infinity;
  /** Empty rows that wait for the end of a read. */
  readonly #fenced: { row: number; notBeforeNs: number }[] = [];
  /** (engines) rows closed and not yet given back. */
  readonly #closing: Int32Array;

  constructor(options: ArenaOptions, pool: Pool, kv: KvCache) {
    this.engine = options.engine;
    this.isElastic = options.isElastic;
    this.#options = options;
    this.#pool = pool;
    this.#kv = kv;
    this.hostSource = options.engineCount + 1;
    this.isLenderRunning = new Uint8Array(options.engineCount);
    this.#closing = new Int32Array(options.engineCount);
    this.#firstRow = pool.firstSliceOf(options.engine);
    for (let index = 0; index < options.ownSlices; index++) kv.slices.admit(this.#firstRow + index);
  }

  static sourceOf(engine: EngineId): number {
    return engine + 1;
  }

  get offeredSlices(): number {
    return this.#offered;
  }

  get lentSlices(): number {
    return this.isElastic ? this.#pool.lentSlices(this.engine) : 0;
  }

  get borrowedSlices(): number {
    return this.isElastic ? this.#pool.borrowedSlices(this.engine) : 0;
  }

  /** Whether slices of its own are on their way back. */
  get isAwaitingReturn(): boolean {
    return this.#demandOutstanding + this.#refillOutstanding > 0;
  }

  nextDueNs(): number {
    let due = Infinity;
    for (const fence of this.#fenced) due = Math.min(due, fence.notBeforeNs);
    for (const recall of this.recalls) {
      // An overdue recall waits for a read or a copy to end, and that has a due time of its own.
      if (recall.deadlineNs > this.#nowNs) due = Math.min(due, recall.deadlineNs);
    }
    return due;
  }

  /** Reads the mailbox and gives back what may go now. */
  poll(nowNs: number): void {
    this.#nowNs = nowNs;
    if (!this.isElastic) return;
    for (let event = this.#pool.poll(this.engine); event !== null; event = this.#pool.poll(this.engine)) {
      switch (event.type) {
        case "SlicesWithdrawn":
          this.#takeHome(event.slices);
          break;
        case "SlicesReturned":
          this.#settleReturn(event.slices.length);
          this.#takeHome(event.slices);
          this.#lastTroubleNs = nowNs;
          break;
        case "LeaseGranted":
          for (const slice of event.slices) this.#kv.slices.admit(slice);
          // Its activity was told only while something of it was borrowed.
          this.#noteActivity(event.lender, this.#pool.isRunning(event.lender));
          break;
        case "LeaseDenied":
          this.refusals[event.reason]++;
          break;
        case "RecallRequested":
          this.#noteRecall(event.lender, event.count, event.kind, event.deadlineNs);
          break;
        case "LenderActivity":
          this.#noteActivity(event.lender, event.isRunning);
          break;
        case "LeaseLost":
          this.lostRows.push(...event.slices);
          break;
      }
    }
    this.#openFences(nowNs);
  }

  /** Brings own slices back until `blocks` local blocks are free. @returns whether they are. */
  withdrawFor(blocks: number, nowNs: number): boolean {
    const short = blocks - this.#kv.slices.freeBlocks[LOCAL_SOURCE]!;
    if (short <= 0) return true;
    const rows = Math.ceil(short / this.#kv.layout.blocksPerSlice);
    this.#withdraw(rows, nowNs);
    return this.#kv.slices.freeBlocks[LOCAL_SOURCE]! >= blocks;
  }

  /** Asks for lent slices back. @returns whether any are on their way. */
  recall(rows: number, kind: RecallKind, nowNs: number): boolean {
    const lent = this.lentSlices;
    if (lent === 0) return false;
    const underway = this.#demandOutstanding + (kind === "refill" ? this.#refillOutstanding : 0);
    const count = Math.min(rows - underway, lent - underway);
    if (count > 0) {
      this.#pool.apply({ type: "RecallSlices", engine: this.engine, count, kind }, nowNs);
      if (kind === "refill") this.#refillOutstanding += count;
      else {
        this.#refillOutstanding = Math.max(0, this.#refillOutstanding - count);
        this.#demandOutstanding += count;
      }
      this.#lastTroubleNs = nowNs;
    }
    return this.isAwaitingReturn;
  }

  /** Keeps `headroomRows` empty slices: withdraws, then recalls, what is missing; offers the rest. */
  keepHeadroom(headroomRows: number, isUnderPressure: boolean, nowNs: number): void {
    if (!this.isElastic) return;
    const empty = this.#kv.slices.emptyRows[LOCAL_SOURCE]!;
    if (empty < headroomRows) {
      if (this.#offered === 0) return;
      this.#withdraw(headroomRows - empty, nowNs);
      const missing = headroomRows - this.#kv.slices.emptyRows[LOCAL_SOURCE]!;
      if (missing > 0) this.recall(missing, "refill", nowNs);
      return;
    }
    const surplus = empty - headroomRows;
    // A surplus of a slice or two comes and goes with every sequence; offering it would be noise.
    if (surplus < 3 || isUnderPressure || this.borrowedSlices > 0) return;
    if (nowNs - this.#lastTroubleNs < this.#options.quietNs) return;
    this.#offer(surplus, nowNs);
  }

  /** When offering might become possible without any other event. */
  get quietUntilNs(): number {
    return this.#lastTroubleNs + this.#options.quietNs;
  }

  /** Takes everything it offered back and asks for what it lent: it wants to borrow. */
  endLending(nowNs: number): void {
    this.#withdraw(this.#offered, nowNs);
    this.recall(this.lentSlices, "refill", nowNs);
  }

  /** Asks the pool for slices. @returns how many came. */
  borrow(count: number, allowRunning: boolean, nowNs: number): number {
    const before = this.borrowedSlices;
    const { engine } = this;
    this.#pool.apply({ type: "RequestSlices", engine, count, allowRunning }, nowNs);
    this.poll(nowNs);
    return this.borrowedSlices - before;
  }

  /** No new blocks go to this borrowed slice; it is given back once empty. */
  closeRow(row: number): void {
    if (this.#kv.slices.state[row] !== RowState.Usable) return;
    this.#kv.slices.close(row);
    this.#closing[this.#lenderOf(row)]!++;
  }

  isClosing(row: number): boolean {
    return this.#kv.slices.state[row] === RowState.Closing;
  }

  closingRows(lender: EngineId): number {
    return this.#closing[lender]!;
  }

  /** Closes an empty borrowed slice, which goes home when its last read has ended. */
  giveBack(row: number, notBeforeNs: number, nowNs: number): void {
    this.closeRow(row);
    if (notBeforeNs > nowNs) this.#fenced.push({ row, notBeforeNs });
    else this.#returnRow(row, nowNs);
  }

  /** Whether emptied slices still wait for a read to end. */
  get hasFences(): boolean {
    return this.#fenced.length > 0;
  }

  /** Strikes slices whose lender is gone; nothing lies in them any more. */
  dropLost(): void {
    for (const row of this.lostRows) {
      const fence = this.#fenced.findIndex((entry) => entry.row === row);
      if (fence >= 0) this.#fenced.splice(fence, 1);
      if (this.isClosing(row)) this.#closing[this.#lenderOf(row)]!--;
      this.#kv.slices.drop(row);
    }
    this.lostRows.length = 0;
    const isHeld = (recall: PendingRecall): boolean =>
      this.#kv.slices.heldRows[Arena.sourceOf(recall.lender)]! > 0;
    const open = this.recalls.filter(isHeld);
    this.recalls.splice(0, this.recalls.length, ...open);
  }

  /** Slices still to be given back to a lender beyond those already closing. */
  owedRows(lender: EngineId, kind: RecallKind | "any"): number {
    let owed = 0;
    for (const recall of this.recalls) {
      if (recall.lender === lender && (kind === "any" || recall.kind === kind)) {
        owed += recall.remaining;
      }
    }
    return Math.max(0, owed - this.#closing[lender]!);
  }

  check(): void {
    const held = this.#kv.slices.heldRows;
    const own = held[LOCAL_SOURCE]! + this.#offered;
    assert(own === this.#options.ownSlices, () => `arena: ${own} of ${this.#options.ownSlices} own`);
    if (!this.isElastic) return;
    const inPool = this.#pool.idleSlices(this.engine) + this.#pool.lentSlices(this.engine);
    if (!this.#pool.hasEvents(this.engine)) {
      assert(inPool === this.#offered, () => `arena: offered ${this.#offered}, pool has ${inPool}`);
      let borrowed = 0;
      for (let source = 1; source < this.hostSource; source++) borrowed += held[source]!;
      const leased = this.borrowedSlices;
      assert(borrowed === leased, () => `arena: holds ${borrowed} of ${leased} leased`);
    }
  }

  #lenderOf(row: number): EngineId {
    return (this.#kv.slices.source[row]! - 1) as EngineId;
  }

  #takeHome(slices: readonly SliceId[]): void {
    for (const slice of slices) this.#kv.slices.admit(slice);
    this.#offered -= slices.length;
  }

  #settleReturn(count: number): void {
    const demand = Math.min(count, this.#demandOutstanding);
    this.#demandOutstanding -= demand;
    this.#refillOutstanding = Math.max(0, this.#refillOutstanding - (count - demand));
    if (this.lentSlices === 0) {
      this.#demandOutstanding = 0;
      this.#refillOutstanding = 0;
    }
  }

  #withdraw(count: number, nowNs: number): void {
    const idle = this.#pool.idleSlices(this.engine);
    if (idle === 0 || count <= 0) return;
    const { engine } = this;
    this.#pool.apply({ type: "WithdrawSlices", engine, count: Math.min(idle, count) }, nowNs);
    this.poll(nowNs);
  }

  #offer(count: number, nowNs: number): void {
    const slices: SliceId[] = [];
    for (let index = 0; index < count; index++) {
      const row = this.#kv.slices.emptyRow(LOCAL_SOURCE);
      if (row < 0) break;
      this.#kv.slices.drop(row);
      slices.push(sliceId(row));
    }
    this.#offered += slices.length;
    this.#pool.apply({ type: "OfferSlices", engine: this.engine, slices }, nowNs);
  }

  #noteActivity(lender: EngineId, isRunning: boolean): void {
    if ((this.isLenderRunning[lender] === 1) === isRunning) return;
    this.isLenderRunning[lender] = isRunning ? 1 : 0;
    this.hasActivityChanged = true;
  }

  #noteRecall(lender: EngineId, count: number, kind: RecallKind, deadlineNs: number): void {
    if (kind === "demand") {
      // A demand recall may upgrade slices already under a refill recall: those are not owed twice.
      const held = this.#kv.slices.heldRows[Arena.sourceOf(lender)]!;
      let owed = count;
      for (const recall of this.recalls) if (recall.lender === lender) owed += recall.remaining;
      let excess = owed - held;
      for (const recall of this.recalls) {
        if (excess <= 0) break;
        if (recall.lender !== lender || recall.kind !== "refill") continue;
        const upgraded = Math.min(recall.remaining, excess);
        recall.remaining -= upgraded;
        excess -= upgraded;
      }
    }
    this.recalls.push({ lender, kind, deadlineNs, remaining: count });
    this.recalls.sort((a, b) => Number(a.kind === "refill") - Number(b.kind === "refill"));
    this.#forgetAnswered();
  }

  #openFences(nowNs: number): void {
    for (let index = this.#fenced.length - 1; index >= 0; index--) {
      const fence = this.#fenced[index]!;
      if (fence.notBeforeNs > nowNs) continue;
      this.#fenced.splice(index, 1);
      this.#returnRow(fence.row, nowNs);
    }
  }

  #returnRow(row: number, nowNs: number): void {
    const lender = this.#lenderOf(row);
    this.#kv.slices.drop(row);
    this.#closing[lender]!--;
    for (const recall of this.recalls) {
      if (recall.lender === lender && recall.remaining > 0) {
        recall.remaining--;
        break;
      }
    }
    this.#forgetAnswered();
    const { engine } = this;
    this.#pool.apply({ type: "ReturnSlices", engine, slices: [sliceId(row)] }, nowNs);
    if (this.borrowedSlices === 0) this.#lastTroubleNs = nowNs;
  }

  #forgetAnswered(): void {
    for (let index = this.recalls.length - 1; index >= 0; index--) {
      if (this.recalls[index]!.remaining <= 0) this.recalls.splice(index, 1);
    }
  }
}
