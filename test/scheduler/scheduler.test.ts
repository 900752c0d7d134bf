/** The scheduler against a naive one: random requests, memory that comes and goes, cancelling. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { ADMISSION_SETTINGS } from "../../src/scheduler/index.ts";
import { Bench } from "./scheduler-model.ts";

const seen = new Map<string, number>();
const note = (what: string): void => {
  seen.set(what, (seen.get(what) ?? 0) + 1);
};

class Step implements fc.Command<Bench, null> {
  readonly name: string;
  readonly act: (bench: Bench) => void;
  constructor(name: string, act: (bench: Bench) => void) {
    this.name = name;
    this.act = act;
  }
  check(): boolean {
    return true;
  }
  run(bench: Bench): void {
    this.act(bench);
    bench.check(null);
  }
  toString(): string {
    return this.name;
  }
}

const tokens = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: fc.integer({ min: 30, max: 150 }) },
);
const submit = fc.tuple(tokens, tokens).map(([prompt, max]) =>
  new Step(`submit ${prompt} ${max}`, (bench) => {
    bench.submit(prompt, max);
  }),
);
const steps = fc.integer({ min: 1, max: 12 }).map((count) =>
  new Step(`${count} steps`, (bench) => {
    for (let left = count; left > 0; left--) note(bench.step() > 0 ? "tokens" : "no token");
  }),
);
const cancel = fc.nat(1000).map((at) =>
  new Step(`cancel ${at}`, (bench) => {
    if (bench.requests.size === 0) return;
    const request = at % bench.requests.size;
    note(`cancelled while ${bench.requests.get(request)!.state}`);
    bench.cancel(request);
  }),
);
const preempt = fc.nat(1000).map((at) =>
  new Step(`preempt ${at}`, (bench) => {
    const running = bench.running();
    if (running.length === 0) return;
    bench.scheduler.preempt(bench.rowOf(running[at % running.length]!), bench.nowNs);
  }),
);
const lend = fc.constant(new Step("lend", (bench) => bench.memory.lend()));
const deliver = fc.constant(new Step("deliver", (bench) => bench.memory.deliver()));
const limits = fc.tuple(fc.nat(3), fc.nat(2)).map(([reserve, borrowable]) =>
  new Step(`reserve ${reserve}, may borrow ${borrowable}`, (bench) => {
    bench.memory.chunkReserveBlocks = reserve;
    bench.memory.borrowableSlices = borrowable;
  }),
);

it("keeps every promise whatever comes, and everything submitted ends", () => {
  const commands = fc.commands(
    [submit, submit, steps, steps, fc.oneof(lend, deliver), fc.oneof(cancel, preempt, limits)],
    { maxCommands: 80, size: "max" },
  );
  const setting = fc.constantFrom(...ADMISSION_SETTINGS, { name: "none", growthShare: 0 });
  const ownSlices = fc.integer({ min: 1, max: 8 });
  fc.assert(
    fc.property(commands, setting, ownSlices, (acts, admission, own) => {
      const bench = new Bench(own, { admission });
      fc.modelRun(() => ({ model: bench, real: null }), acts);
      // What waits for slices that could be borrowed does so until its time is over.
      bench.memory.chunkReserveBlocks = 0;
      bench.drain(20_000);
      if (bench.preemptions > 0) note("preempted");
      for (const { state, reason } of bench.requests.values()) note(reason ?? state);
    }),
    { numRuns: 60, seed: 12 },
  );
  expect([...seen.keys()].sort()).toEqual([
    "beyond-context", "cancelled", "cancelled while cancelled", "cancelled while failed",
    "cancelled while finished", "cancelled while running", "cancelled while waiting", "finished",
    "larger-than-memory", "no token", "preempted", "timeout", "tokens",
  ]);
});
