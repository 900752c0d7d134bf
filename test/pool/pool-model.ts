/**
 * A naive pool: slices in a Map, leases in arrays, every sum counted anew.
 *
 * Oracle of pool-model.test.ts. It decides what must happen (how many slices from whom, which
 * refusal, which recalls finish) and takes from the real pool's events only what is left open (which
 * of equal slices, how a recall is spread); those choices are checked for being allowed.
 */

import { expect } from "vitest";
import type { EngineId, SliceId } from "../../src/base/index.ts";
import type { FinishedRecall, Pool, PoolEvent, RecallKind } from "../../src/pool/index.ts";
import { NaiveAccounts } from "./naive-accounts.ts";

export const ENGINE_COUNT = 4;
export const SLICE_COUNTS = [6, 5, 0, 4];
export const BORROW_LIMITS = [5, Infinity, 3, Infinity];
/** [lender][borrower]: engine 1 is farther from 0, and 3 cannot be read by 2. */
export const PATHS = [
  [0, 9, 9, 9],
  [4, 0, 9, 9],
  [9, 9, 0, 9],
  [9, 9, 0, 0],
];
export const REFILL_DEADLINE_NS = 100e6;
export const ACCOUNT_WINDOW_NS = 10e9;

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
interface OpenRecall {
  readonly lender: number;
  readonly kind: RecallKind;
  readonly requestNs: number;
  arrived: number;
  remaining: number;
  lastNs: number;
}
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export class PoolModel {
  nowNs = 0;
  readonly slices = new Map<number, Slice>();
  readonly limits = [...BORROW_LIMITS];
  readonly running = new Set<number>();
  readonly gone = new Set<number>();
  readonly accounts = new NaiveAccounts(ACCOUNT_WINDOW_NS);
  readonly finished: FinishedRecall[] = [];
  /** All leases; of one pair those under recall come first, as obligations are met from the front. */
  #leases: Lease[] = [];
  #open: OpenRecall[] = [];

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
    const event = events[engine]!.shift()!;
    expect(event.type).toBe("SlicesWithdrawn");
    if (event.type !== "SlicesWithdrawn") return;
    expect(event.slices.length).toBe(Math.min(count, this.owned(engine, "IDLE").length));
    for (const slice of event.slices) {
      expect(this.#slice(slice)).toMatchObject({ owner: engine, state: "IDLE" });
      this.#slice(slice).state = "OWN";
    }
  }

  request(borrower: number, count: number, allowRunning: boolean, events: PoolEvent[][]): void {
    const room = Math.max(0, this.limits[borrower]! - this.heldBy(borrower).length);
    const fitting = this.isLender(borrower) ? 0 : Math.min(count, room);
    const grants = this.#place(borrower, fitting, allowRunning);
    const isFull = sum(grants) === fitting;
    const reason = this.isLender(borrower)
      ? "role"
      : isFull ? "limit" : this.#shortage(borrower, grants);
    grants.forEach((expected, lender) => {
      if (expected === 0) return;
      const event = events[borrower]!.shift();
      expect(event).toMatchObject({ type: "LeaseGranted", lender });
      if (event?.type !== "LeaseGranted") return;
      expect(event.slices.length).toBe(expected);
      const lease = { id: event.lease, lender, borrower, recalled: 0, demanded: 0 };
      expect(this.#leases.some(({ id }) => id === lease.id)).toBe(false);
      this.#leases.push(lease);
      event.slices.forEach((id, index) => {
        const slice = this.#slice(id);
        expect(slice).toMatchObject({ owner: lender, state: "IDLE", epoch: event.epochs[index] });
        Object.assign(slice, { state: "LENT", lease });
      });
    });
    const denied = count - sum(grants);
    if (denied > 0) {
      expect(events[borrower]!.shift()).toEqual({ type: "LeaseDenied", reason, count: denied });
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
      this.#arrive(owner, home.length);
      const event = events[owner]!.shift();
      expect(event?.type).toBe("SlicesReturned");
      if (event?.type !== "SlicesReturned") return;
      expect([...event.slices].sort((a, b) => a - b)).toEqual(home.sort((a, b) => a - b));
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
      const event = isTold ? mailbox.shift()! : null;
      const asked = event?.type === "RecallRequested" ? event.count : 0;
      if (asked > 0) expect(event).toMatchObject({ lender, kind, deadlineNs });
      told.push(asked);
      this.#oblige(lease, asked, count >= freshTotal, kind, (fresh / freshTotal) || 0);
    }
    expect(sum(told)).toBe(fresh + upgraded);
    if (fresh + upgraded === 0) return;
    const [requestNs, lastNs] = [this.nowNs, this.nowNs];
    this.#open.push({ lender, kind, requestNs, arrived: 0, remaining: fresh + upgraded, lastNs });
    this.#takeOver(lender);
  }

  setActivity(engine: number, isRunning: boolean, events: PoolEvent[][]): void {
    if (this.running.has(engine) === isRunning) return;
    if (isRunning) this.running.add(engine);
    else this.running.delete(engine);
    for (let borrower = 0; borrower < ENGINE_COUNT; borrower++) {
      if (this.heldBy(borrower, engine).length === 0) continue;
      const expected = { type: "LenderActivity", lender: engine, isRunning };
      expect(events[borrower]!.shift()).toEqual(expected);
    }
  }

  remove(engine: number, events: PoolEvent[][]): void {
    this.sendHome(this.heldBy(engine), events);
    for (let borrower = 0; borrower < ENGINE_COUNT; borrower++) {
      const held = this.heldBy(borrower, engine);
      if (held.length === 0) continue;
      const event = events[borrower]!.shift();
      expect(event).toMatchObject({ type: "LeaseLost", lender: engine });
      if (event?.type !== "LeaseLost") return;
      expect(new Set(event.slices)).toEqual(new Set(held));
    }
    for (const slice of this.slices.values()) {
      if (slice.owner !== engine) continue;
      const epoch = slice.state === "LENT" ? slice.epoch + 1 : slice.epoch;
      Object.assign(slice, { state: "GONE", lease: null, epoch });
    }
    this.#leases = this.#leases.filter(({ lender }) => lender !== engine);
    this.#open = this.#open.filter(({ lender }) => lender !== engine);
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
    }));
    expect(told).toEqual(engines.map((engine) => this.#facts(engine, engines)));
    const ids = [...this.slices.keys()] as SliceId[];
    const slices = ids.map((id) => ({ owner: pool.ownerOf(id), epoch: pool.epochOf(id) }));
    const expected = [...this.slices.values()].map(({ owner, epoch }) => ({ owner, epoch }));
    expect(slices).toEqual(expected);
    expect(pool.recalls).toEqual(this.finished);
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
    };
  }

  /** One slice at a time to the best lender: not running, then fast, then least lent, then first. */
  #place(borrower: number, count: number, allowRunning: boolean): number[] {
    const grants = SLICE_COUNTS.map(() => 0);
    for (let i = 0; i < count; i++) {
      const [best] = grants
        .map((granted, lender) => ({ granted, lender }))
        .filter(({ granted, lender }) => granted < this.owned(lender, "IDLE").length)
        .filter(({ lender }) => this.#isReadable(lender, borrower))
        .filter(({ lender }) => allowRunning || !this.running.has(lender))
        .map(({ granted, lender }) => ({
          lender,
          key: [
            this.running.has(lender) ? 1 : 0,
            -PATHS[lender]![borrower]!,
            this.owned(lender, "LENT").length + granted,
            lender,
          ],
        }))
        .sort((a, b) => a.key.map((k, at) => k - b.key[at]!).find((k) => k !== 0) ?? 0);
      if (best === undefined) break;
      grants[best.lender]!++;
    }
    return grants;
  }

  #shortage(borrower: number, grants: readonly number[]): string {
    const idle = grants
      .map((_, lender) => lender)
      .filter((lender) => this.owned(lender, "IDLE").length > grants[lender]!);
    if (idle.length === 0) return "no-idle-memory";
    const near = idle.filter((lender) => PATHS[lender]![borrower]! > 0);
    if (near.length === 0) return "link";
    return near.some((lender) => this.#isReadable(lender, borrower)) ? "lender-share" : "account";
  }

  #isReadable(lender: number, borrower: number): boolean {
    const isBlocked = this.accounts.isBlocked(`${lender}-${borrower}`, this.nowNs);
    return PATHS[lender]![borrower]! > 0 && !isBlocked;
  }

  /** A lease that holds nothing ends; an obligation is met by the lease itself, or the pair's first. */
  #giveBack(slice: Slice): void {
    const own = slice.lease!;
    slice.lease = null;
    const isPair = (lease: Lease): boolean =>
      lease.lender === own.lender && lease.borrower === own.borrower;
    const owing = own.recalled > 0
      ? own
      : this.#leases.find((lease) => isPair(lease) && lease.recalled > 0);
    if (owing !== undefined) {
      owing.recalled--;
      owing.demanded = Math.max(0, owing.demanded - 1);
      if (owing.recalled === 0) {
        this.#leases = [...this.#leases.filter((lease) => lease !== owing), owing];
      }
    }
    if (this.#size(own) === 0) this.#leases = this.#leases.filter((lease) => lease !== own);
  }

  #oblige(lease: Lease, asked: number, isAll: boolean, kind: RecallKind, share: number): void {
    const rest = this.#size(lease) - lease.recalled;
    const fresh = isAll ? rest : asked;
    expect(Math.abs(fresh - rest * share)).toBeLessThan(1);
    expect(asked).toBeGreaterThanOrEqual(fresh);
    if (asked === 0) return;
    if (lease.recalled === 0) {
      this.#leases = [lease, ...this.#leases.filter((other) => other !== lease)];
    }
    lease.recalled += fresh;
    if (kind === "demand") lease.demanded += asked;
    expect(lease.demanded).toBeLessThanOrEqual(lease.recalled);
  }

  #takeOver(lender: number): void {
    const owed = sum(this.#leases.filter((l) => l.lender === lender).map((l) => l.recalled));
    const isOurs = (recall: OpenRecall): boolean => recall.lender === lender;
    const waited = (): number => sum(this.#open.filter(isOurs).map((r) => r.remaining));
    while (waited() > owed) {
      const newest = this.#open.findLast((r) => isOurs(r) && r.kind === "refill")!;
      newest.remaining--;
      this.#close(newest);
    }
  }

  #arrive(lender: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const ours = this.#open.filter((recall) => recall.lender === lender);
      const first = ours.find(({ kind }) => kind === "demand") ?? ours[0];
      if (first === undefined) return;
      first.arrived++;
      first.remaining--;
      first.lastNs = this.nowNs;
      this.#close(first);
    }
  }

  #close(recall: OpenRecall): void {
    if (recall.remaining > 0) return;
    this.#open = this.#open.filter((other) => other !== recall);
    const { kind, arrived: slices, lastNs, requestNs } = recall;
    if (slices > 0) this.finished.push({ kind, slices, waitNs: lastNs - requestNs });
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
