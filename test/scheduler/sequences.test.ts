/** The columns of running sequences against an array of records. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { Sequences } from "../../src/scheduler/index.ts";

const CAPACITY = 5;

interface Running {
  readonly row: number;
  readonly request: number;
  readonly prompt: number;
  generated: number;
  computed: number;
}

class Model {
  running: Running[] = [];
  next = 0;
}

class Step implements fc.Command<Model, Sequences> {
  readonly name: string;
  readonly act: (model: Model, real: Sequences) => void;
  constructor(name: string, act: (model: Model, real: Sequences) => void) {
    this.name = name;
    this.act = act;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: Sequences): void {
    this.act(model, real);
    real.check();
    expect(real.count).toBe(model.running.length);
    expect(real.isFull).toBe(model.running.length === CAPACITY);
    const rows = Array.from(real.order.subarray(0, real.count));
    expect(rows).toEqual(model.running.map(({ row }) => row));
    for (const { row, request, prompt, generated, computed } of model.running) {
      expect(real.request[row]).toBe(request);
      expect(real.rowOf(request)).toBe(row);
      expect(real.pendingTokens(row)).toBe(prompt + generated - computed);
      expect([real.promptTokens[row], real.generatedTokens[row]]).toEqual([prompt, generated]);
    }
    expect(real.rowOf(model.next)).toBe(-1);
  }
  toString(): string {
    return this.name;
  }
}

const admit = fc.tuple(fc.nat(50), fc.nat(5)).map(([prompt, generated]) =>
  new Step(`admit ${prompt} ${generated}`, (model, real) => {
    if (model.running.length === CAPACITY) {
      expect(() => real.admit(9, prompt, generated, 100)).toThrow("no free row");
      return;
    }
    const request = model.next++;
    const row = real.admit(request, prompt, generated, 1000);
    expect(model.running.some((other) => other.row === row)).toBe(false);
    expect([real.skips[row], real.isParked[row], real.outputTokensMax[row]]).toEqual([0, 0, 1000]);
    model.running.push({ row, request, prompt, generated, computed: 0 });
    // Marks that a next user of the row must not inherit.
    real.skips[row] = 2;
    real.isParked[row] = 1;
  }),
);

const remove = fc.nat(7).map((at) =>
  new Step(`remove ${at}`, (model, real) => {
    const gone = model.running[at];
    if (gone === undefined) {
      const free = Array.from({ length: CAPACITY }, (_, row) => row).find((row) =>
        model.running.every((other) => other.row !== row),
      );
      if (free !== undefined) expect(() => real.remove(free)).toThrow(`row ${free} is not there`);
      return;
    }
    real.remove(gone.row);
    model.running.splice(at, 1);
  }),
);

const advance = fc.tuple(fc.nat(7), fc.nat(20)).map(([at, tokens]) =>
  new Step(`advance ${at} by ${tokens}`, (model, real) => {
    const of = model.running[at];
    if (of === undefined) return;
    const computed = Math.min(tokens, of.prompt + of.generated - of.computed);
    of.computed += computed;
    real.computedTokens[of.row]! += computed;
    if (of.computed < of.prompt + of.generated) return;
    of.generated++;
    real.generatedTokens[of.row]!++;
  }),
);

it("does what an array of records does, in the order of admission", () => {
  const all = [admit, admit, remove, advance, advance];
  fc.assert(
    fc.property(fc.commands(all, { maxCommands: 100, size: "max" }), (steps) => {
      fc.modelRun(() => ({ model: new Model(), real: new Sequences(CAPACITY) }), steps);
    }),
    { numRuns: 40, seed: 2 },
  );
});

it("more computed than there is, and a row without a request, are bugs", () => {
  const sequences = new Sequences(2);
  const row = sequences.admit(0, 5, 0, 10);
  sequences.computedTokens[row] = 6;
  expect(() => sequences.check()).toThrow(`row ${row} computed too much`);
  sequences.computedTokens[row] = 5;
  sequences.check();
  sequences.request[row] = -1;
  expect(() => sequences.check()).toThrow(`row ${row} has no request`);
});
