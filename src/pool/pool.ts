/**
 * The pool: executes commands of engines and posts the events that answer them.
 *
 * Called by arenas in process and by the broker for engines elsewhere. It does not know what lies
 * in a slice, what a token is, or how engines decide; policies (placement.ts, apportion.ts) are
 * pure, state lies in pool-state.ts, and the longer commands are in requests.ts and returns.ts.
 *
 * A command costs what it moves: O(1) plus the slices named or granted; a recall costs the leases
 * of its lender, RemoveEngine the slices of that engine and those it borrowed.
 *
 * Invariants (check()): slices are conserved per device; a slice has one user; lent = borrowed, in
 * total and per pair; an engine is lender or borrower, never both; a lender waits for no more than
 * its leases owe it; mailboxes hold only what is true of their reader.
 */

import { assert, unreachable, type EngineId, type SliceId } from "../base/index.ts";
import { checkPool } from "./check-pool.ts";
import type { PoolCommand, PoolEvent } from "./commands.ts";
import type { PoolCounts } from "./counters.ts";
import { PoolState, type PoolMember, type PoolOptions } from "./pool-state.ts";
import { requestSlices } from "./requests.ts";
import { recallSlices, removeEngine, sendHome } from "./returns.ts";

/** Idle slices a borrower could be granted, by whether their lender runs steps. */
export interface Obtainable {
  readonly fromIdleLenders: number;
  readonly fromRunningLenders: number;
}

/** Time is given with each command and must not go backwards. A misuse is an assertion. */
export class Pool {
  readonly #state: PoolState;
  readonly #members: readonly PoolMember[];

  constructor(options: PoolOptions) {
    const { members, pathBytesPerSecond, refillDeadlineNs } = options;
    const isSquare = pathBytesPerSecond.length === members.length ** 2;
    assert(
      isSquare,
      () => `pool: ${pathBytesPerSecond.length} paths for ${members.length} members`,
    );
    assert(refillDeadlineNs >= 0, () => `pool: a refill deadline of ${refillDeadlineNs} ns`);
    for (const { borrowLimitSlices } of members) assertLimit(borrowLimitSlices);
    this.#members = members;
    this.#state = new PoolState(options);
  }

  /** Every command, event, refusal, transition of slices and recall so far, by name. */
  get counts(): Readonly<PoolCounts> {
    return this.#state.counts;
  }

  /** Executes one command; the events that answer it lie in the mailboxes when it returns. */
  apply(command: PoolCommand, nowNs: number): void {
    const state = this.#state;
    const { engine } = command;
    assert(nowNs >= state.nowNs, () => `pool: time went back from ${state.nowNs} to ${nowNs} ns`);
    assert(state.isGone[engine] === 0, () => `pool: ${command.type} of ${engine}, not a member`);
    state.nowNs = nowNs;
    switch (command.type) {
      case "OfferSlices":
        state.counts["command:OfferSlices"]++;
        return this.#offer(engine, command.slices);
      case "WithdrawSlices":
        state.counts["command:WithdrawSlices"]++;
        return this.#withdraw(engine, command.count);
      case "RequestSlices":
        state.counts["command:RequestSlices"]++;
        assertCount(command.count, "requested");
        return requestSlices(state, engine, command.count, command.allowRunning);
      case "ReturnSlices":
        state.counts["command:ReturnSlices"]++;
        return this.#return(engine, command.slices);
      case "RecallSlices":
        state.counts["command:RecallSlices"]++;
        assertCount(command.count, "recalled");
        return recallSlices(state, engine, command.count, command.kind);
      case "SetActivity":
        state.counts["command:SetActivity"]++;
        return this.#setActivity(engine, command.isRunning);
      case "SettleAccount":
        state.counts["command:SettleAccount"]++;
        return this.#settle(engine, command.lender, command.earnedTokens, command.producedTokens);
      case "ReportReads":
        state.counts["command:ReportReads"]++;
        return this.#report(engine, command.lender, command.bytesPerSecond);
      case "SetBorrowLimit":
        state.counts["command:SetBorrowLimit"]++;
        assertLimit(command.sliceCount);
        state.borrowLimits[engine] = command.sliceCount;
        return;
      case "RemoveEngine":
        state.counts["command:RemoveEngine"]++;
        return removeEngine(state, engine);
      default:
        return unreachable(command);
    }
  }

  /** @returns the engine's oldest unread event, or `null` when there is none. */
  poll(engine: EngineId): PoolEvent | null {
    return this.#state.mailboxes.poll(engine);
  }

  hasEvents(engine: EngineId): boolean {
    return this.#state.mailboxes.hasEvents(engine);
  }

  /** Whether any engine has. */
  get hasMail(): boolean {
    return this.#state.mailboxes.hasAny;
  }

  ownerOf(slice: SliceId): EngineId {
    return this.#state.ledger.ownerOf(slice);
  }

  firstSliceOf(engine: EngineId): SliceId {
    return this.#state.ledger.firstSliceOf(engine);
  }

  epochOf(slice: SliceId): number {
    return this.#state.ledger.epochOf(slice);
  }

  /** Offered by this engine, used by nobody. */
  idleSlices(engine: EngineId): number {
    return this.#state.ledger.idleCounts[engine]!;
  }

  /** Of this engine, held by borrowers. */
  lentSlices(engine: EngineId): number {
    return this.#state.leases.lentCounts[engine]!;
  }

  borrowedSlices(engine: EngineId): number {
    return this.#state.leases.borrowedCounts[engine]!;
  }

  /** Slices of others that an engine may hold just now; Infinity where there is no limit. */
  borrowLimitOf(engine: EngineId): number {
    return this.#state.borrowLimits[engine]!;
  }

  lentTo(lender: EngineId, borrower: EngineId): number {
    return this.#state.leases.lentTo(lender, borrower);
  }

  /** Engines that hold slices of this lender just now: they share what it gives. */
  borrowersOf(lender: EngineId): number {
    return this.#state.leases.borrowerCounts[lender]!;
  }

  /**
   * Bytes/s at which the borrower can read the lender while that is idle: the path's speed, less
   * what others read there; 0 without a path.
   */
  readableBytesPerSecond(lender: EngineId, borrower: EngineId): number {
    return this.#state.reads.readable(lender, borrower);
  }

  isRunning(engine: EngineId): boolean {
    return this.#state.isRunning[engine] === 1;
  }

  /**
   * What a request could be granted where role, paths and accounts allow; limits are not looked at.
   * @param nowNs decides which back-offs are over; the last command's time unless given.
   */
  obtainable(engine: EngineId, nowNs = this.#state.nowNs): Obtainable {
    if (!this.#state.isLender(engine)) return this.offeredTo(engine, nowNs);
    return { fromIdleLenders: 0, fromRunningLenders: 0 };
  }

  /** The same where the engine lent and offered nothing itself. */
  offeredTo(engine: EngineId, nowNs: number): Obtainable {
    let [fromIdleLenders, fromRunningLenders] = [0, 0];
    const lenders = this.#state.lendersOf(engine, nowNs);
    for (let lender = 0; lender < this.#state.engineCount; lender++) {
      if (lenders.isBlocked[lender] === 1 || lenders.pathBytesPerSecond[lender] === 0) continue;
      const slices = lenders.idleSlices[lender]!;
      if (lenders.isRunning[lender] === 1) fromRunningLenders += slices;
      else fromIdleLenders += slices;
    }
    return { fromIdleLenders, fromRunningLenders };
  }

  /** Whether loans of the lender cost the borrower more than they brought, of late. */
  isLosing(lender: EngineId, borrower: EngineId, nowNs: number): boolean {
    const { accounts, engineCount } = this.#state;
    return accounts.isBlocked(lender * engineCount + borrower, nowNs);
  }

  /** Walks all invariants; costs all slices, for simulations and tests. */
  check(): void {
    const { ledger, leases, book, accounts, reads, mailboxes } = this.#state;
    reads.check();
    ledger.check();
    leases.check();
    book.check();
    accounts.check();
    mailboxes.check();
    checkPool(this.#members, ledger, leases, book, mailboxes);
  }

  #offer(engine: EngineId, slices: readonly SliceId[]): void {
    const borrowed = this.borrowedSlices(engine);
    assert(borrowed === 0, () => `pool: engine ${engine} offers while it borrows ${borrowed}`);
    for (const slice of slices) {
      const owner = this.ownerOf(slice);
      assert(owner === engine, () => `pool: engine ${engine} offers slice ${slice} of ${owner}`);
      this.#state.ledger.offer(slice);
    }
    this.#state.counts["slice:own-idle"] += slices.length;
  }

  #withdraw(engine: EngineId, count: number): void {
    assertCount(count, "withdrawn");
    const slices: SliceId[] = [];
    for (let left = Math.min(count, this.idleSlices(engine)); left > 0; left--) {
      slices.push(this.#state.ledger.withdraw(engine));
    }
    this.#state.counts["slice:idle-own"] += slices.length;
    this.#state.post(engine, { type: "SlicesWithdrawn", slices });
  }

  #return(borrower: EngineId, slices: readonly SliceId[]): void {
    for (const slice of slices) {
      const holder = this.#state.leases.holderOf(slice);
      assert(holder === borrower, () => `pool: ${borrower} returns slice ${slice} of ${holder}`);
    }
    sendHome(this.#state, slices);
  }

  #setActivity(lender: EngineId, isRunning: boolean): void {
    if (this.isRunning(lender) === isRunning) return;
    this.#state.isRunning[lender] = isRunning ? 1 : 0;
    if (this.lentSlices(lender) === 0) return;
    for (let index = 0; index < this.#state.engineCount; index++) {
      const borrower = index as EngineId;
      if (this.lentTo(lender, borrower) === 0) continue;
      this.#state.post(borrower, { type: "LenderActivity", lender, isRunning });
    }
  }

  #settle(borrower: EngineId, lender: EngineId, earned: number, produced: number): void {
    const { accounts, engineCount, nowNs } = this.#state;
    const isPair = lender >= 0 && lender < engineCount && lender !== borrower;
    assert(isPair, () => `pool: engine ${borrower} settles with ${lender}`);
    accounts.settle(lender * engineCount + borrower, earned, produced, nowNs);
  }

  #report(borrower: EngineId, lender: EngineId, bytesPerSecond: number): void {
    // A report that was on its way when the last slice went home says nothing any more.
    if (this.lentTo(lender, borrower) === 0) return;
    this.#state.reads.report(lender, borrower, bytesPerSecond);
  }
}

function assertCount(count: number, what: string): void {
  assert(Number.isInteger(count) && count > 0, () => `pool: ${count} slices ${what}`);
}

function assertLimit(sliceCount: number): void {
  const isLimit = sliceCount === Infinity || (Number.isInteger(sliceCount) && sliceCount >= 0);
  assert(isLimit, () => `pool: a borrow limit of ${sliceCount} slices`);
}
