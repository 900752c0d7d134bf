/** The queue of waiting requests against an array. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { RequestQueue } from "../../src/scheduler/index.ts";

interface Entry {
  readonly request: number;
  readonly prompt: number;
  readonly generated: number;
  readonly max: number;
  readonly sinceNs: number;
}

class Model {
  entries: Entry[] = [];
  next = 0;
  largest = 0;
}

class Step implements fc.Command<Model, RequestQueue> {
  readonly name: string;
  readonly act: (model: Model, real: RequestQueue) => void;
  constructor(name: string, act: (model: Model, real: RequestQueue) => void) {
    this.name = name;
    this.act = act;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: RequestQueue): void {
    this.act(model, real);
    model.largest = Math.max(model.largest, model.entries.length);
    real.check();
    expect(real.size).toBe(model.entries.length);
    const found = model.entries.map((_, position) => ({
      request: real.requestAt(position),
      prompt: real.promptAt(position),
      generated: real.generatedAt(position),
      max: real.outputMaxAt(position),
      sinceNs: real.sinceNsAt(position),
    }));
    expect(found).toEqual(model.entries);
  }
  toString(): string {
    return this.name;
  }
}

const entry = fc.record({
  prompt: fc.nat(4000),
  generated: fc.nat(4000),
  max: fc.nat(4000),
  sinceNs: fc.nat(2 ** 50),
});

const push = fc.tuple(entry, fc.boolean(), fc.integer({ min: 1, max: 30 }))
  .map(([fields, isFront, count]) =>
    new Step(`push ${count} ${isFront ? "front" : "back"}`, (model, real) => {
      const { prompt, generated, max, sinceNs } = fields;
      for (let left = count; left > 0; left--) {
        const request = model.next++;
        if (isFront) real.pushFront(request, prompt, generated, max, sinceNs);
        else real.pushBack(request, prompt, generated, max, sinceNs);
        if (isFront) model.entries.unshift({ request, ...fields });
        else model.entries.push({ request, ...fields });
      }
    }),
  );

const remove = fc.tuple(fc.nat(200), fc.constantFrom(0, 0, 1)).map(([at, isAnywhere]) =>
  new Step(`remove ${at} ${isAnywhere}`, (model, real) => {
    const position = isAnywhere === 0 ? 0 : at % (model.entries.length + 1);
    if (position >= model.entries.length) {
      expect(() => real.removeAt(position)).toThrow(`queue: ${position} of`);
      return;
    }
    real.removeAt(position);
    model.entries.splice(position, 1);
  }),
);

const find = fc.nat(60).map((request) =>
  new Step(`find ${request}`, (model, real) => {
    const position = model.entries.findIndex((candidate) => candidate.request === request);
    expect(real.positionOf(request)).toBe(position);
    if (position < 0) return;
    const { prompt, generated } = model.entries[position]!;
    expect(real.tokensAt(position)).toBe(prompt + generated);
  }),
);

it("does what an array does, also when it wraps and grows", () => {
  let largest = 0;
  const commands = fc.commands([push, remove, remove, find], { maxCommands: 80, size: "max" });
  fc.assert(
    fc.property(commands, (steps) => {
      const model = new Model();
      fc.modelRun(() => ({ model, real: new RequestQueue() }), steps);
      largest = Math.max(largest, model.largest);
    }),
    { numRuns: 30, seed: 3 },
  );
  // Beyond its first capacity of 64, so that a wrapped ring was unrolled.
  expect(largest).toBeGreaterThan(128);
});

it("a request that waits twice is a bug", () => {
  const queue = new RequestQueue();
  queue.pushBack(7, 1, 0, 1, 0);
  queue.pushFront(7, 1, 0, 1, 0);
  expect(() => queue.check()).toThrow("request 7 waits twice");
  expect(() => queue.requestAt(2)).toThrow("queue: 2 of 2");
  expect(() => queue.requestAt(-1)).toThrow("queue: -1 of 2");
});
