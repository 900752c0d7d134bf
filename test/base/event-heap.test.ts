/** The event heap against a list that is sorted anew for every question. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { EventHeap } from "../../src/base/index.ts";

interface Entry {
  readonly timeNs: number;
  readonly order: number;
  readonly payload: number;
}

class Model {
  entries: Entry[] = [];
  pushes = 0;

  first(): Entry | undefined {
    return [...this.entries].sort((a, b) => a.timeNs - b.timeNs || a.order - b.order)[0];
  }
}

class Push implements fc.Command<Model, EventHeap> {
  readonly timeNs: number;
  constructor(timeNs: number) {
    this.timeNs = timeNs;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: EventHeap): void {
    // Payloads differ, so that equal times show whether the first in comes out first.
    const entry = { timeNs: this.timeNs, order: model.pushes, payload: model.pushes - 1000 };
    model.pushes++;
    model.entries.push(entry);
    real.push(entry.timeNs, entry.payload);
    compare(model, real);
  }
  toString(): string {
    return `push ${this.timeNs}`;
  }
}

class Pop implements fc.Command<Model, EventHeap> {
  check(model: Readonly<Model>): boolean {
    return model.entries.length > 0;
  }
  run(model: Model, real: EventHeap): void {
    const first = model.first()!;
    expect(real.pop()).toBe(first.payload);
    model.entries = model.entries.filter((entry) => entry !== first);
    compare(model, real);
  }
  toString(): string {
    return "pop";
  }
}

function compare(model: Model, real: EventHeap): void {
  real.check();
  expect(real.size).toBe(model.entries.length);
  expect(real.peekTimeNs()).toBe(model.first()?.timeNs ?? Infinity);
}

// Few distinct times, so that ties are common; one beyond 2^32.
const timeNs = fc.oneof(fc.nat(6), fc.constantFrom(3.6e12, 3.6e12 + 1, Infinity));
const push = timeNs.map((at) => new Push(at));
const pop = fc.constant(new Pop());

it("gives out what a sorted list would, ties in the order they came", () => {
  const commands = fc.commands([push, push, pop], { maxCommands: 120, size: "max" });
  fc.assert(
    fc.property(commands, (steps) => {
      fc.modelRun(() => ({ model: new Model(), real: new EventHeap(2) }), steps);
    }),
    { numRuns: 100, seed: 1 },
  );
});

it("sorts a thousand times, and keeps them over growth", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(500), { minLength: 1000, maxLength: 1000 }), (times) => {
      const heap = new EventHeap(1);
      times.forEach((at, index) => heap.push(at, index));
      heap.check();
      const taken = times.map(() => [heap.peekTimeNs(), heap.pop()]);
      const sorted = times.map((at, index) => [at, index]);
      expect(taken).toEqual(sorted.sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]!));
    }),
    { numRuns: 5 },
  );
});

it("takes a misuse for a bug", () => {
  const heap = new EventHeap();
  expect(heap.peekTimeNs()).toBe(Infinity);
  expect(() => heap.pop()).toThrow("empty heap");
  expect(() => heap.push(Number.NaN, 0)).toThrow("event heap: time NaN");
  expect(() => new EventHeap(0)).toThrow("event heap: capacity 0");
});
