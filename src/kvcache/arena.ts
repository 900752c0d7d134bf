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

import { assert, sliceId, unreachable, type EngineId } from "../base/index.ts";
import type { Pool, PoolEvent, RecallKind, RefusalReason } from "../pool/index.ts";
import { AwaitedReturns } from "./awaited-returns.ts";
import { BorrowedRows } from "./borrowed-rows.ts";
import { LOCAL_SOURCE, type KvCache } from "./kv-cache.ts";
import { OfferedSlices, type SliceClearing } from "./offered-slices.ts";
import type { PendingRecall } from "./recall-debts.ts";
import { RowState } from "./slice-table.ts";

export interface ArenaOptions {
  readonly engine: EngineId;
  readonly engineCount: number;
  readonly ownSlices: number;
  /** Whether the engine takes part in the pool; a static one keeps what it has. */
  readonly isElastic: boolean;
  /** After a recall or a return of its own, an engine waits so long before it offers again. */
  readonly quietNs: number;
  /** Where other tenants borrow: clears what is offered to them. */
  readonly clearing?: SliceClearing | null;
}

/** Slices of one engine, in the hands of its own pool member. */
export class Arena {
  readonly engine: EngineId;
  readonly isElastic: boolean;
  readonly hostSource: number;
  /** (engines) whether a lender runs steps; kept only of those whose slices are held. */
  readonly isLenderRunning: Uint8Array;
  /** Set when a lender began or ceased to run; cleared by who acts on it. */
  hasActivityChanged = false;
  /** When the last slice that was lent came home. */
  lentUntilNs = -Infinity;
  /** Why the pool, or this engine before it asked, refused slices; counts. */
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
  #lastTroubleNs = -Infinity;
  readonly #offers: OfferedSlices;
  readonly #awaited = new AwaitedReturns();
  readonly #borrowed: BorrowedRows;

  constructor(options: ArenaOptions, pool: Pool, kv: KvCache) {
    this.engine = options.engine;
    this.isElastic = options.isElastic;
    this.#options = options;
    this.#pool = pool;
    this.#kv = kv;
    this.hostSource = options.engineCount + 1;
    this.isLenderRunning = new Uint8Array(options.engineCount);
    this.#offers = new OfferedSlices(this.engine, pool, kv, options.clearing ?? null);
    const sendHome = (row: number, nowNs: number): void => this.#sendHome(row, nowNs);
    this.#borrowed = new BorrowedRows(kv, options.engineCount, sendHome);
    this.#firstRow = pool.firstSliceOf(options.engine);
    for (let index = 0; index < options.ownSlices; index++) kv.slices.admit(this.#firstRow + index);
  }

  /** Slices of this engine are of that source for its borrowers. */
  static sourceOf(engine: EngineId): number {
    return engine + 1;
  }

  /** Recalls not yet answered in full: demands first, each kind in the order they came. */
  get recalls(): readonly PendingRecall[] {
    return this.#borrowed.debts.open;
  }

  /** Slices whose bytes are gone with their lender, to be acted on by the engine. */
  get lostRows(): readonly number[] {
    return this.#borrowed.lost;
  }

  /** Own slices in the pool's hands or being cleared for it, lent ones included. */
  get offeredSlices(): number {
    return this.#offers.count;
  }

  get lentSlices(): number {
    return this.isElastic ? this.#pool.lentSlices(this.engine) : 0;
  }

  get borrowedSlices(): number {
    return this.isElastic ? this.#pool.borrowedSlices(this.engine) : 0;
  }

  /** Whether slices of its own are on their way back. */
  get isAwaitingReturn(): boolean {
    return this.#awaited.total > 0;
  }

  nextDueNs(): number {
    return this.#borrowed.nextDueNs(this.#nowNs);
  }

  /** Reads the mailbox and gives back what may go now. */
  poll(nowNs: number): void {
    this.#nowNs = nowNs;
    if (!this.isElastic) return;
    const next = (): PoolEvent | null => this.#pool.poll(this.engine);
    for (let event = next(); event !== null; event = next()) this.#follow(event, nowNs);
    this.#borrowed.openFences(nowNs);
    this.#offers.poll(nowNs);
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
    const count = this.#awaited.missing(rows, kind, lent);
    if (count > 0) {
      this.#pool.apply({ type: "RecallSlices", engine: this.engine, count, kind }, nowNs);
      this.#awaited.ask(count, kind, lent);
      this.#lastTroubleNs = nowNs;
    }
    return this.isAwaitingReturn;
  }

  /** Keeps `headroomRows` empty slices: withdraws, recalls what is missing, offers the rest. */
  keepHeadroom(headroomRows: number, isUnderPressure: boolean, nowNs: number): void {
    if (!this.isElastic) return;
    const empty = this.#kv.slices.emptyRows[LOCAL_SOURCE]!;
    if (empty < headroomRows) {
      if (this.offeredSlices === 0) return;
      this.#withdraw(headroomRows - empty, nowNs);
      const missing = headroomRows - this.#kv.slices.emptyRows[LOCAL_SOURCE]!;
      if (missing > 0) this.recall(missing, "refill", nowNs);
      return;
    }
    const surplus = empty - headroomRows;
    // A surplus of a slice or two comes and goes with every sequence; offering it would be noise.
    if (surplus < 3 || isUnderPressure || this.borrowedSlices > 0) return;
    if (nowNs - this.#lastTroubleNs < this.#options.quietNs) return;
    this.#offers.offer(surplus, nowNs);
  }

  /** When offering might become possible without any other event. */
  get quietUntilNs(): number {
    return this.#lastTroubleNs + this.#options.quietNs;
  }

  /** Takes everything it offered back and asks for what it lent: it wants to borrow. */
  endLending(nowNs: number): void {
    this.#withdraw(this.offeredSlices, nowNs);
    this.recall(this.lentSlices, "refill", nowNs);
  }

  /** Asks the pool for slices. @returns how many came. */
  borrow(count: number, allowRunning: boolean, nowNs: number): number {
    const [engine, before] = [this.engine, this.borrowedSlices];
    this.#pool.apply({ type: "RequestSlices", engine, count, allowRunning }, nowNs);
    this.poll(nowNs);
    return this.borrowedSlices - before;
  }

  /** No new blocks go to this borrowed slice; it is given back once empty. */
  closeRow(row: number): void {
    this.#borrowed.close(row);
  }

  isClosing(row: number): boolean {
    return this.#kv.slices.state[row] === RowState.Closing;
  }

  closingRows(lender: EngineId): number {
    return this.#borrowed.closing(lender);
  }

  /**
   * Closes an empty borrowed slice, which goes home when its last read has ended.
   * @param notBeforeNs Infinity: not before `endReads`
   */
  giveBack(row: number, notBeforeNs: number, nowNs: number): void {
    this.#borrowed.giveBack(row, notBeforeNs, nowNs);
  }

  /** The step in flight has ended: slices that were held until then, whenever it is, go home. */
  endReads(nowNs: number): void {
    this.#borrowed.openFences(nowNs, true);
  }

  /** Whether emptied slices still wait for a read to end. */
  get hasFences(): boolean {
    return this.#borrowed.hasFences;
  }

  /** Strikes slices whose lender is gone; nothing lies in them any more. */
  dropLost(): void {
    this.#borrowed.dropLost();
  }

  /** Slices still to be given back to a lender beyond those already closing. */
  owedRows(lender: EngineId, kind: RecallKind | "any"): number {
    return Math.max(0, this.#borrowed.debts.owed(lender, kind) - this.closingRows(lender));
  }

  check(): void {
    const { ownSlices } = this.#options;
    const held = this.#kv.slices.heldRows;
    const own = held[LOCAL_SOURCE]! + this.offeredSlices;
    assert(own === ownSlices, () => `arena: ${own} own slices of ${ownSlices}`);
    this.#borrowed.check();
    // What the mailbox still holds is not counted here and is in the pool.
    if (!this.isElastic || this.#pool.hasEvents(this.engine)) return;
    const inPool = this.#pool.idleSlices(this.engine) + this.lentSlices;
    const { inPool: offered } = this.#offers;
    assert(inPool === offered, () => `arena: offered ${offered}, pool has ${inPool}`);
    let borrowed = 0;
    for (let source = 1; source < this.hostSource; source++) borrowed += held[source]!;
    const leased = this.borrowedSlices + this.lostRows.length;
    assert(borrowed === leased, () => `arena: holds ${borrowed} of ${leased} leased`);
    this.#awaited.check(this.lentSlices);
  }

  #follow(event: PoolEvent, nowNs: number): void {
    switch (event.type) {
      case "SlicesWithdrawn":
        return this.#offers.takeHome(event.slices);
      case "SlicesReturned":
        this.#awaited.arrive(event.slices.length, this.lentSlices);
        this.#lastTroubleNs = nowNs;
        this.lentUntilNs = nowNs;
        return this.#offers.takeHome(event.slices);
      case "LeaseGranted":
        for (const slice of event.slices) this.#kv.slices.admit(slice);
        // Only who holds slices of a lender is told when it begins or ceases to run.
        return this.#noteActivity(event.lender, this.#pool.isRunning(event.lender));
      case "LeaseDenied":
        this.refusals[event.reason]++;
        return;
      case "RecallRequested":
        return this.#borrowed.debts.note(event.lender, event.count, event.kind, event.deadlineNs);
      case "LenderActivity":
        return this.#noteActivity(event.lender, event.isRunning);
      case "LeaseLost":
        return this.#borrowed.noteLost(event.slices);
      default:
        return unreachable(event);
    }
  }

  #withdraw(wanted: number, nowNs: number): void {
    const count = wanted - this.#offers.reclaim(wanted);
    const idle = this.#pool.idleSlices(this.engine);
    if (idle === 0 || count <= 0) return;
    const { engine } = this;
    this.#pool.apply({ type: "WithdrawSlices", engine, count: Math.min(idle, count) }, nowNs);
    this.poll(nowNs);
  }

  #noteActivity(lender: EngineId, isRunning: boolean): void {
    if ((this.isLenderRunning[lender] === 1) === isRunning) return;
    this.isLenderRunning[lender] = isRunning ? 1 : 0;
    this.hasActivityChanged = true;
  }

  /** The row has left the table already. */
  #sendHome(row: number, nowNs: number): void {
    const { engine } = this;
    this.#pool.apply({ type: "ReturnSlices", engine, slices: [sliceId(row)] }, nowNs);
    if (this.borrowedSlices === 0) this.#lastTroubleNs = nowNs;
  }
}
