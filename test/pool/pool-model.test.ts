/**
 * The pool against a naive model: random commands, all events and facts compared, check() walked
 * after every one. Also asserts that the runs took every transition and every refusal.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import type { EngineId, SliceId } from "../../src/base/index.ts";
import { Pool, type PoolCommand, type PoolEvent } from "../../src/pool/index.ts";
import { PoolModel } from "./pool-model.ts";
import {
  ACCOUNT_WINDOW_NS,
  BORROW_LIMITS,
  ENGINE_COUNT,
  PATHS,
  REFILL_DEADLINE_NS,
  SLICE_COUNTS,
} from "./small-server.ts";

type Act = (model: PoolModel, pool: Pool) => void;

/** One random command: skipped where the model says it would be a misuse. */
class Step implements fc.Command<PoolModel, Pool> {
  readonly #name: string;
  readonly #engine: EngineId;
  readonly #elapsedNs: number;
  readonly #isAllowed: (model: PoolModel) => boolean;
  readonly #act: Act;

  constructor(
    name: string,
    engine: EngineId,
    elapsedNs: number,
    isAllowed: (model: PoolModel) => boolean,
    act: Act,
  ) {
    this.#name = name;
    this.#engine = engine;
    this.#elapsedNs = elapsedNs;
    this.#isAllowed = isAllowed;
    this.#act = act;
  }

  check(model: Readonly<PoolModel>): boolean {
    // fast-check promises the model as it is; its Readonly strips the private members.
    return !model.gone.has(this.#engine) && this.#isAllowed(model as PoolModel);
  }

  run(model: PoolModel, pool: Pool): void {
    model.nowNs += this.#elapsedNs;
    this.#act(model, pool);
    model.compare(pool);
  }

  toString(): string {
    return `${this.#name} by ${this.#engine} after ${this.#elapsedNs} ns`;
  }
}

/** Applies, checks while the events are unread, then reads them all. */
function apply(pool: Pool, command: PoolCommand, nowNs: number): PoolEvent[][] {
  pool.apply(command, nowNs);
  pool.check();
  return SLICE_COUNTS.map((_, engine) => {
    const events: PoolEvent[] = [];
    for (let event = pool.poll(engine as EngineId); event; event = pool.poll(engine as EngineId)) {
      events.push(event);
    }
    expect(pool.hasEvents(engine as EngineId)).toBe(false);
    return events;
  });
}

/** Takes the slices that random picks fall on; fewer when they fall on the same. */
function choose(slices: readonly SliceId[], picks: readonly number[]): SliceId[] {
  if (slices.length === 0) return [];
  return [...new Set(picks.map((pick) => slices[pick % slices.length]!))];
}

const engine = fc.nat(ENGINE_COUNT - 1).map((index) => index as EngineId);
const count = fc.integer({ min: 1, max: 6 });
const picks = fc.array(fc.nat(60), { minLength: 1, maxLength: 5 });
const elapsedNs = fc.constantFrom(0, 1, 40e6, 1e9, 3e9);
const base = { engine, elapsedNs };
const always = (): boolean => true;
const finish = (events: PoolEvent[][]): void => expect(events.flat()).toEqual([]);

const offer = fc.record({ ...base, picks }).map(({ engine: owner, elapsedNs: after, picks: at }) =>
  new Step("offer", owner, after, (model) => model.heldBy(owner).length === 0, (model, pool) => {
    const slices = choose(model.owned(owner, "OWN"), at);
    finish(apply(pool, { type: "OfferSlices", engine: owner, slices }, model.nowNs));
    model.offer(slices);
  }),
);

const withdraw = fc.record({ ...base, count }).map(({ engine: who, elapsedNs: after, count: n }) =>
  new Step(`withdraw ${n}`, who, after, always, (model, pool) => {
    const command = { type: "WithdrawSlices", engine: who, count: n } as const;
    const events = apply(pool, command, model.nowNs);
    model.withdraw(who, n, events);
    finish(events);
  }),
);

const request = fc
  .record({ ...base, count, allowRunning: fc.boolean() })
  .map(({ engine: borrower, elapsedNs: after, count: n, allowRunning }) =>
    new Step(`request ${n} ${allowRunning}`, borrower, after, always, (model, pool) => {
      const command = { type: "RequestSlices", engine: borrower, count: n, allowRunning } as const;
      const events = apply(pool, command, model.nowNs);
      model.request(borrower, n, allowRunning, events);
      finish(events);
    }),
  );

const giveBack = fc.record({ ...base, picks }).map(({ engine: who, elapsedNs: after, picks: at }) =>
  new Step(`return ${at}`, who, after, always, (model, pool) => {
    const slices = choose(model.heldBy(who), at);
    const events = apply(pool, { type: "ReturnSlices", engine: who, slices }, model.nowNs);
    model.sendHome(slices, events);
    finish(events);
  }),
);

const recall = fc
  .record({ ...base, count, kind: fc.constantFrom("refill" as const, "demand" as const) })
  .map(({ engine: lender, elapsedNs: after, count: n, kind }) =>
    new Step(`recall ${n} ${kind}`, lender, after, always, (model, pool) => {
      const command = { type: "RecallSlices", engine: lender, count: n, kind } as const;
      const events = apply(pool, command, model.nowNs);
      model.recall(lender, n, kind, events);
      finish(events);
    }),
  );

const setActivity = fc
  .record({ ...base, isRunning: fc.boolean() })
  .map(({ engine: lender, elapsedNs: after, isRunning }) =>
    new Step(`running ${isRunning}`, lender, after, always, (model, pool) => {
      const command = { type: "SetActivity", engine: lender, isRunning } as const;
      const events = apply(pool, command, model.nowNs);
      model.setActivity(lender, isRunning, events);
      finish(events);
    }),
  );

const settle = fc
  .record({ ...base, lender: engine, earned: fc.integer({ min: -20, max: 9 }) })
  .map(({ engine: borrower, elapsedNs: after, lender, earned }) =>
    new Step(`settle ${earned} with ${lender}`, borrower, after, () => lender !== borrower,
      (model, pool) => {
        const tokens = { earnedTokens: earned, producedTokens: 500 };
        const command = { type: "SettleAccount", engine: borrower, lender, ...tokens } as const;
        finish(apply(pool, command, model.nowNs));
        model.accounts.settle(`${lender}-${borrower}`, earned, 500, model.nowNs);
      }),
  );

const report = fc
  .record({ ...base, lender: engine, bytesPerSecond: fc.integer({ min: 0, max: 9 }) })
  .map(({ engine: borrower, elapsedNs: after, lender, bytesPerSecond }) =>
    new Step(`reads ${lender} at ${bytesPerSecond}`, borrower, after, () => lender !== borrower,
      (model, pool) => {
        const told = { lender, bytesPerSecond };
        const command = { type: "ReportReads", engine: borrower, ...told } as const;
        finish(apply(pool, command, model.nowNs));
        if (model.heldBy(borrower, lender).length === 0) return;
        model.reads.report(lender, borrower, bytesPerSecond);
      }),
  );

const setLimit = fc
  .record({ ...base, sliceCount: fc.constantFrom(0, 2, 4, 99) })
  .map(({ engine: borrower, elapsedNs: after, sliceCount }) =>
    new Step(`limit ${sliceCount}`, borrower, after, always, (model, pool) => {
      const command = { type: "SetBorrowLimit", engine: borrower, sliceCount } as const;
      finish(apply(pool, command, model.nowNs));
      model.limits[borrower] = sliceCount;
    }),
  );

const remove = fc.record(base).map(({ engine: who, elapsedNs: after }) =>
  new Step("remove", who, after, always, (model, pool) => {
    const events = apply(pool, { type: "RemoveEngine", engine: who }, model.nowNs);
    model.remove(who, events);
    finish(events);
  }),
);

function newPool(model: PoolModel): Pool {
  return new Pool({
    members: SLICE_COUNTS.map((sliceCount, device) => ({
      device,
      sliceCount,
      borrowLimitSlices: BORROW_LIMITS[device]!,
    })),
    pathBytesPerSecond: Float64Array.from(PATHS.flat()),
    refillDeadlineNs: REFILL_DEADLINE_NS,
    accountWindowNs: ACCOUNT_WINDOW_NS,
    onRecallFinished: (finished) => model.told.push(finished),
  });
}

it("does what a naive model does, whatever the commands", () => {
  const totals = new Map<string, number>();
  // Borrowing, returning and recalling come up most; an engine ends only now and then.
  const rare = fc.oneof({ weight: 9, arbitrary: setLimit }, { weight: 1, arbitrary: remove });
  const often = [offer, request, giveBack, recall, offer, request, recall];
  const commands = fc.commands(
    [...often, withdraw, setActivity, settle, report, rare],
    { maxCommands: 120, size: "max" },
  );
  fc.assert(
    fc.property(commands, (steps) => {
      const model = new PoolModel();
      const pool = newPool(model);
      fc.modelRun(() => ({ model, real: pool }), steps);
      for (const [name, value] of Object.entries(pool.counts)) {
        totals.set(name, (totals.get(name) ?? 0) + value);
      }
    }),
    { numRuns: 300, seed: 20 },
  );
  const never = [...totals].filter(([, value]) => value === 0).map(([name]) => name);
  expect(never).toEqual([]);
});
