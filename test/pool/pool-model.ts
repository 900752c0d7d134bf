/**
 * A naive pool: slices in a Map, leases in arrays, every sum counted anew.
 *
 * Oracle of pool-model.test.ts. It decides what must happen (how many slices from whom, which
 * refusal, which recalls finish) and takes from the real pool's events only what is left open
 * (which of equal slices, how a recall is spread); those choices are checked for being allowed.
 */

import { strict as assert } from "node:assert";
import type { EngineId, SliceId } from "../../src/base/index.ts";
import type { FinishedRecall, Pool, PoolEvent, RecallKind } from "../../src/pool/index.ts";
import { NaiveAccounts } from "./naive-accounts.ts";
import { naivePlacement, naiveShortage, type NaiveLender } from "./naive-placement.ts";
import { NaiveReads } from "./naive-reads.ts";
import { NaiveRecalls } from "./naive-recalls.ts";
import {
  ACCOUNT_WINDOW_NS,
  BORROW_LIMITS,
  ENGINE_COUNT,
  PATHS,
  REFILL_DEADLINE_NS,
  SLICE_COUNTS,
} from "./small-server.ts";

type State = "OWN" | "IDLE" | "LENT" | "GONE";
interface Slice {
  readonly owner: number;
  state: State;
  epoch: number;
  lease: Lease | null;
}
interface Lease {
  readonly id: number;
  readonly lender: number;
  readonly borrower: number;
  recalled: number;
  demanded: number;
}
const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

/** The next unread event, which must be of this type. */
function next<Type extends PoolEvent["type"]>(
  mailbox: PoolEvent[],
  type: Type,
): Extract<PoolEvent, { readonly type: Type }> {
  const event = mailbox.shift();
  assert.equal(event?.type, type);
  return event as Extract<PoolEvent, { readonly type: Type }>;
}

export class PoolModel {
  nowNs = 0;
  readonly slices = new Map<number, Slice>();
  readonly limits = [...BORROW_LIMITS];
  readonly running = new Set<number>();
  readonly gone = new Set<number>();
  readonly accounts = new NaiveAccounts(ACCOUNT_WINDOW_NS);
  readonly recalls = new NaiveRecalls();
  readonly reads = new NaiveReads(PATHS);
  readonly told: FinishedRecall[] = [];
  /** Of one pair those under recall come first, as obligations are met from the front. */
  #leases: Lease[] = [];

  constructor() {
    SLICE_COUNTS.forEach((count, owner) => {
      for (let i = 0; i < count; i++) {
        this.slices.set(this.slices.size, { owner, state: "OWN", epoch: 0, lease: null });
      }
    });
  }

  owned(owner: number, state: State): SliceId[] {
    return this.#where((slice) => slice.owner === owner && slice.state === state);
  }

  heldBy(borrower: number, lender?: number): SliceId[] {
    return this.#where(
      ({ lease, owner }) => lease?.borrower === borrower && (lender ?? owner) === owner,
    );
  }

  isLender(engine: number): boolean {
    return this.owned(engine, "IDLE").length + this.owned(engine, "LENT").length > 0;
  }

  offer(slices: readonly SliceId[]): void {
    for (const slice of slices) this.#slice(slice).state = "IDLE";
  }

  withdraw(engine: number, count: number, events: PoolEvent[][]): void {
    const { slices } = next(events[engine]!, "SlicesWithdrawn");
    assert.equal(slices.length, Math.min(count, this.owned(engine, "IDLE").length));
    for (const id of slices) {
      const { owner, state } = this.#slice(id);
      assert.deepEqual([owner, state], [engine, "IDLE"]);
      this.#slice(id).state = "OWN";
    }
  }

  request(borrower: number, count: number, allowRunning: boolean, events: PoolEvent[][]): void {
    const room = Math.max(0, this.limits[borrower]! - this.heldBy(borrower).length);
    const fitting = this.isLender(borrower) ? 0 : Math.min(count, room);
    const grants = this.#place(borrower, fitting, allowRunning);
    const isFull = sum(grants) === fitting;
    const reason = this.isLender(borrower)
      ? "role"
      : isFull ? "limit" : naiveShortage(this.#lendersOf(borrower), grants);
    grants.forEach((expected, lender) => {
      if (expected === 0) return;
      const event = next(events[borrower]!, "LeaseGranted");
      assert.deepEqual([event.lender, event.slices.length], [lender, expected]);
      const lease = { id: event.lease, lender, borrower, recalled: 0, demanded: 0 };
      assert(!this.#leases.some(({ id }) => id === lease.id), "a lease id comes twice");
      this.#leases.push(lease);
      event.slices.forEach((id, index) => {
        const slice = this.#slice(id);
        const found = [slice.owner, slice.state, slice.epoch];
        assert.deepEqual(found, [lender, "IDLE", event.epochs[index]]);
        Object.assign(slice, { state: "LENT", lease });
      });
    });
    const denied = count - sum(grants);
    if (denied > 0) {
      const event = next(events[borrower]!, "LeaseDenied");
      assert.deepEqual([event.reason, event.count], [reason, denied]);
    }
  }

  /** Returned, or sent home because their borrower is gone. */
  sendHome(slices: readonly SliceId[], events: PoolEvent[][]): void {
    const homes = new Map<number, SliceId[]>();
    for (const id of slices) {
      const slice = this.#slice(id);
      this.#giveBack(slice);
      Object.assign(slice, { state: "OWN", epoch: slice.epoch + 1 });
      homes.set(slice.owner, [...(homes.get(slice.owner) ?? []), id]);
    }
    for (const [owner, home] of [...homes].sort(([a], [b]) => a - b)) {
      this.recalls.arrive(owner, home.length, this.nowNs);
      const event = next(events[owner]!, "SlicesReturned");
      assert.deepEqual([...event.slices].sort((a, b) => a - b), home.sort((a, b) => a - b));
    }
  }

  recall(lender: number, count: number, kind: RecallKind, events: PoolEvent[][]): void {
    const leases = this.#leases.filter((lease) => lease.lender === lender);
    const freshTotal = sum(leases.map((lease) => this.#size(lease) - lease.recalled));
    const fresh = Math.min(count, freshTotal);
    const refills = sum(leases.map((lease) => lease.recalled - lease.demanded));
    const upgraded = kind === "demand" ? Math.min(count - fresh, refills) : 0;
    const deadlineNs = this.nowNs + (kind === "refill" ? REFILL_DEADLINE_NS : 0);
    const told: number[] = [];
    for (const lease of leases.sort((a, b) => a.id - b.id)) {
      const mailbox = events[lease.borrower]!;
      const isTold = mailbox[0]?.type === "RecallRequested" && mailbox[0].lease === lease.id;
      const event = isTold ? next(mailbox, "RecallRequested") : null;
      const asked = event?.count ?? 0;
      if (event !== null) {
        const { lender: asker, kind: toldKind, deadlineNs: toldNs } = event;
        assert.deepEqual([asker, toldKind, toldNs], [lender, kind, deadlineNs]);
      }
      told.push(asked);
      this.#oblige(lease, asked, count >= freshTotal, kind, (fresh / freshTotal) || 0);
    }
    assert.equal(sum(told), fresh + upgraded);
    if (fresh + upgraded === 0) return;
    this.recalls.open(lender, kind, fresh + upgraded, this.nowNs);
    const owed = sum(this.#leases.filter((l) => l.lender === lender).map((l) => l.recalled));
    this.recalls.takeOver(lender, this.recalls.waitedFor(lender) - owed);
  }

  setActivity(engine: number, isRunning: boolean, events: PoolEvent[][]): void {
    if (this.running.has(engine) === isRunning) return;
    if (isRunning) this.running.add(engine);
    else this.running.delete(engine);
    for (let borrower = 0; borrower < ENGINE_COUNT; borrower++) {
      if (this.heldBy(borrower, engine).length === 0) continue;
      const event = next(events[borrower]!, "LenderActivity");
      assert.deepEqual([event.lender, event.isRunning], [engine, isRunning]);
    }
  }

  remove(engine: number, events: PoolEvent[][]): void {
    this.sendHome(this.heldBy(engine), events);
    for (let borrower = 0; borrower < ENGINE_COUNT; borrower++) {
      const held = this.heldBy(borrower, engine);
      if (held.length === 0) continue;
      const event = next(events[borrower]!, "LeaseLost");
      assert.equal(event.lender, engine);
      assert.deepEqual(new Set(event.slices), new Set(held));
      this.reads.report(engine, borrower, 0);
    }
    for (const slice of this.slices.values()) {
      if (slice.owner !== engine) continue;
      const epoch = slice.state === "LENT" ? slice.epoch + 1 : slice.epoch;
      Object.assign(slice, { state: "GONE", lease: null, epoch });
    }
    this.#leases = this.#leases.filter(({ lender }) => lender !== engine);
    this.recalls.drop(engine);
    this.running.delete(engine);
    this.gone.add(engine);
  }

  /** Every fact that the pool tells about itself. */
  compare(pool: Pool): void {
    const engines = SLICE_COUNTS.map((_, index) => index as EngineId);
    const told = engines.map((engine) => ({
      idle: pool.idleSlices(engine),
      lent: pool.lentSlices(engine),
      borrowed: pool.borrowedSlices(engine),
      isRunning: pool.isRunning(engine),
      from: engines.map((lender) => pool.lentTo(lender, engine)),
      obtainable: pool.obtainable(engine),
      readable: engines.map((lender) => pool.readableBytesPerSecond(lender, engine)),
    }));
    assert.deepEqual(told, engines.map((engine) => this.#facts(engine, engines)));
    const ids = [...this.slices.keys()] as SliceId[];
    const slices = ids.map((id) => ({ owner: pool.ownerOf(id), epoch: pool.epochOf(id) }));
    const expected = [...this.slices.values()].map(({ owner, epoch }) => ({ owner, epoch }));
    assert.deepEqual(slices, expected);
    assert.deepEqual(this.told, this.recalls.finished);
  }

  #facts(engine: EngineId, engines: readonly EngineId[]): object {
    const all = this.isLender(engine) ? 0 : Infinity;
    const fromIdleLenders = sum(this.#place(engine, all, false));
    const fromRunningLenders = sum(this.#place(engine, all, true)) - fromIdleLenders;
    return {
      idle: this.owned(engine, "IDLE").length,
      lent: this.owned(engine, "LENT").length,
      borrowed: this.heldBy(engine).length,
      isRunning: this.running.has(engine),
      from: engines.map((lender) => this.heldBy(engine, lender).length),
      obtainable: { fromIdleLenders, fromRunningLenders },
      readable: engines.map((lender) => this.reads.readable(lender, engine)),
    };
  }

  #place(borrower: number, count: number, allowRunning: boolean): number[] {
    return naivePlacement(count, this.#lendersOf(borrower), allowRunning);
  }

  #lendersOf(borrower: number): NaiveLender[] {
    return SLICE_COUNTS.map((_, lender) => ({
      idle: this.owned(lender, "IDLE").length,
      lent: this.owned(lender, "LENT").length,
      path: this.reads.readable(lender, borrower),
      isRunning: this.running.has(lender),
      isBlocked: this.accounts.isBlocked(`${lender}-${borrower}`, this.nowNs),
    }));
  }

  /** A lease that holds nothing ends; it meets its own obligation, or else the pair's first. */
  #giveBack(slice: Slice): void {
    const own = slice.lease!;
    const { lender, borrower } = own;
    slice.lease = null;
    const owing = own.recalled > 0
      ? own
      : this.#leases.find((l) => l.lender === lender && l.borrower === borrower && l.recalled > 0);
    if (owing !== undefined) {
      owing.recalled--;
      owing.demanded = Math.max(0, owing.demanded - 1);
      if (owing.recalled === 0) {
        this.#leases = [...this.#leases.filter((lease) => lease !== owing), owing];
      }
    }
    if (this.heldBy(borrower, lender).length === 0) this.reads.report(lender, borrower, 0);
    if (this.#size(own) === 0) this.#leases = this.#leases.filter((lease) => lease !== own);
  }

  #oblige(lease: Lease, asked: number, isAll: boolean, kind: RecallKind, share: number): void {
    const rest = this.#size(lease) - lease.recalled;
    const fresh = isAll ? rest : asked;
    assert(Math.abs(fresh - rest * share) < 1, `${fresh} of ${rest}, not ${share} of them`);
    assert(asked >= fresh, `a lease owes all ${fresh}, told ${asked}`);
    if (asked === 0) return;
    if (lease.recalled === 0) {
      this.#leases = [lease, ...this.#leases.filter((other) => other !== lease)];
    }
    lease.recalled += fresh;
    if (kind === "demand") lease.demanded += asked;
    assert(lease.demanded <= lease.recalled, `${lease.demanded} of ${lease.recalled} demanded`);
  }

  #size(lease: Lease): number {
    return this.#where((slice) => slice.lease === lease).length;
  }

  #slice(id: number): Slice {
    return this.slices.get(id)!;
  }

  #where(holds: (slice: Slice) => boolean): SliceId[] {
    const found: SliceId[] = [];
    for (const [id, slice] of this.slices) if (holds(slice)) found.push(id as SliceId);
    return found;
  }
}
