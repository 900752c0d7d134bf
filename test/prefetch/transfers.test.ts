/** The transfer queue against a list that is searched, and its promise to urgent transfers. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TransferQueue, type Transfer } from "../../src/prefetch/index.ts";

const SOURCES = 3;
const CHUNK_BYTES = 100;
const QUEUE_MAX = 12;

interface Listed extends Transfer {
  sentBytes: number;
}
interface Model {
  /** In the order of arrival. */
  list: Listed[];
  nextId: number;
  nowNs: number;
  rates: number[];
  debts: number[];
}

type Command = fc.Command<Model, TransferQueue>;

const isOwing = (model: Readonly<Model>, source: number): boolean =>
  model.rates[source] === 0 || model.debts[source]! > 1e-6;

class Push implements Command {
  readonly source: number;
  readonly bytes: number;
  readonly deadlineNs: number;
  constructor(source: number, bytes: number, deadlineNs: number) {
    this.source = source;
    this.bytes = bytes;
    this.deadlineNs = deadlineNs;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: TransferQueue): void {
    const { source, bytes, deadlineNs } = this;
    const transfer = { id: model.nextId++, source, bytes, deadlineNs };
    const isFull = model.list.length === QUEUE_MAX;
    expect(real.push(transfer)).toBe(!isFull);
    if (!isFull) model.list.push({ ...transfer, sentBytes: 0 });
    real.check();
    expect(real.size).toBe(model.list.length);
  }
  toString(): string {
    return `push(${this.source}, ${this.bytes}, ${this.deadlineNs})`;
  }
}

class Next implements Command {
  readonly passedNs: number | "due";
  constructor(passedNs: number | "due") {
    this.passedNs = passedNs;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: TransferQueue): void {
    const dueNs = real.nextDueNs();
    const isDue = this.passedNs === "due" && dueNs < Infinity;
    const passedNs = isDue ? dueNs - model.nowNs : this.passedNs === "due" ? 0 : this.passedNs;
    model.nowNs += passedNs;
    for (let source = 0; source < SOURCES; source++) {
      const paid = model.rates[source] === Infinity ? Infinity : passedNs * model.rates[source]!;
      model.debts[source] = Math.max(0, model.debts[source]! - paid / 1e9);
    }
    const expected = model.list
      .filter((transfer) => !isOwing(model, transfer.source))
      .reduce<Listed | null>(
        (best, transfer) =>
          best === null || transfer.deadlineNs < best.deadlineNs ? transfer : best,
        null,
      );
    const chunk = real.next(model.nowNs);
    real.check();
    if (isDue) expect(chunk, "due and nothing to send").not.toBeNull();
    if (expected === null) {
      expect(chunk).toBeNull();
      expect(dueNs <= model.nowNs).toBe(false);
      return;
    }
    const bytes = Math.min(CHUNK_BYTES, expected.bytes - expected.sentBytes);
    const isLast = expected.sentBytes + bytes === expected.bytes;
    const { id, source, sentBytes: offsetBytes } = expected;
    expect(chunk).toEqual({ id, source, offsetBytes, bytes, isLast });
    expected.sentBytes += bytes;
    if (model.rates[source] !== Infinity) model.debts[source]! += bytes;
    if (isLast) model.list.splice(model.list.indexOf(expected), 1);
  }
  toString(): string {
    return `next(+${this.passedNs})`;
  }
}

class Cancel implements Command {
  readonly pick: number;
  constructor(pick: number) {
    this.pick = pick;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: TransferQueue): void {
    const index = this.pick % (model.list.length + 1);
    const victim = model.list[index];
    const id = victim?.id ?? model.nextId;
    expect(real.cancel(id)).toBe(victim === undefined ? null : victim.bytes - victim.sentBytes);
    model.list.splice(index, 1);
    real.check();
    expect(real.size).toBe(model.list.length);
  }
  toString(): string {
    return `cancel(${this.pick})`;
  }
}

class SetRate implements Command {
  readonly source: number;
  readonly rate: number;
  constructor(source: number, rate: number) {
    this.source = source;
    this.rate = rate;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: TransferQueue): void {
    real.setRate(this.source, this.rate);
    model.rates[this.source] = this.rate;
  }
  toString(): string {
    return `setRate(${this.source}, ${this.rate})`;
  }
}

describe("the transfer queue", () => {
  it("behaves like a list that is searched for the earliest deadline", () => {
    const anySource = fc.nat({ max: SOURCES - 1 });
    const anyDeadline = fc.oneof(fc.constant(Infinity), fc.nat({ max: 50 }));
    const anyRate = fc.constantFrom(0, 1e9, 7e9, 30e9, Infinity);
    const anyPush = fc
      .tuple(anySource, fc.integer({ min: 1, max: 450 }), anyDeadline)
      .map(([source, bytes, deadlineNs]) => new Push(source, bytes, deadlineNs));
    const anyNext = fc
      .oneof(fc.constant<"due">("due"), fc.nat({ max: 60 }))
      .map((passedNs) => new Next(passedNs));
    fc.assert(
      fc.property(
        fc.commands(
          [
            anyPush,
            anyPush,
            anyNext,
            anyNext,
            fc.nat({ max: 20 }).map((pick) => new Cancel(pick)),
            fc.tuple(anySource, anyRate).map(([source, rate]) => new SetRate(source, rate)),
          ],
          { maxCommands: 80 },
        ),
        (commands) => {
          const setup = (): { model: Model; real: TransferQueue } => ({
            model: {
              list: [],
              nextId: 0,
              nowNs: 0,
              rates: [Infinity, Infinity, Infinity],
              debts: [0, 0, 0],
            },
            real: new TransferQueue(SOURCES, CHUNK_BYTES, QUEUE_MAX),
          });
          fc.modelRun(setup, commands);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("lets an urgent transfer wait for one chunk of bulk at most", () => {
    const queue = new TransferQueue(2, 4_000_000);
    queue.push({ id: 1, source: 0, bytes: 1_000_000_000, deadlineNs: Infinity });
    expect(queue.next(0)).toMatchObject({ id: 1, bytes: 4_000_000 });
    queue.push({ id: 2, source: 1, bytes: 1_500_000, deadlineNs: 50_000 });
    expect(queue.next(10)).toMatchObject({ id: 2, isLast: true });
    expect(queue.next(20)).toMatchObject({ id: 1, offsetBytes: 4_000_000 });
  });

  it("keeps its order when a cancelled transfer's place is taken by an earlier one", () => {
    const queue = new TransferQueue(1, 1000);
    [1, 10, 2, 11, 12, 3, 4].forEach((deadlineNs, id) => {
      queue.push({ id, source: 0, bytes: 10, deadlineNs });
    });
    expect(queue.cancel(3)).toBe(10);
    queue.check();
    const order = [1, 2, 3, 4, 5, 6].map(() => queue.next(0)!.id);
    expect(order).toEqual([0, 2, 5, 6, 1, 4]);
    expect(queue.next(0)).toBeNull();
  });

  it("passes over a paced lender until its debt is paid, and hears a faster pace at once", () => {
    const queue = new TransferQueue(2, 1000);
    queue.setRate(0, 1e9);
    queue.push({ id: 1, source: 0, bytes: 3000, deadlineNs: 1 });
    queue.push({ id: 2, source: 1, bytes: 1000, deadlineNs: 2 });
    expect(queue.next(0)!.id).toBe(1);
    expect(queue.next(0)!.id).toBe(2);
    expect(queue.next(0)).toBeNull();
    expect(queue.nextDueNs()).toBe(1000);
    expect(queue.next(999)).toBeNull();
    expect(queue.next(1000)!.id).toBe(1);
    queue.setRate(0, Infinity);
    expect(queue.next(1001)!.isLast).toBe(true);
    expect(queue.nextDueNs()).toBe(Infinity);
  });
});
