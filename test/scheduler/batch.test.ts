/** A batch against a list of its entries: sums stay right while sequences leave it. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { Batch } from "../../src/scheduler/index.ts";

const CAPACITY = 8;

interface Entry {
  row: number;
  readonly tokens: number;
  readonly past: number;
  readonly isSampled: boolean;
  isCounted: boolean;
}

class Model {
  entries: Entry[] = [];
  leavers: number[] = [];
}

class Step implements fc.Command<Model, Batch> {
  readonly name: string;
  readonly act: (model: Model, real: Batch) => void;
  constructor(name: string, act: (model: Model, real: Batch) => void) {
    this.name = name;
    this.act = act;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: Batch): void {
    this.act(model, real);
    real.check();
    const counted = model.entries.filter(({ isCounted }) => isCounted);
    const decodes = counted.filter(({ tokens }) => tokens === 1);
    const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
    expect({ ...real }).toMatchObject({
      count: model.entries.length,
      queryTokens: sum(counted.map(({ tokens }) => tokens)),
      sampledSequences: counted.filter(({ isSampled }) => isSampled).length,
      decodeSequences: decodes.length,
      prefillSequences: counted.length - decodes.length,
      decodeContextTokens: sum(decodes.map(({ past }) => past + 1)),
      leavers: model.leavers,
    });
    const found = model.entries.map((_, index) => ({
      row: real.rows[index],
      tokens: real.tokens[index],
      past: real.pastTokens[index],
      isSampled: real.isSampled(index),
    }));
    const entries = model.entries.map(({ row: at, tokens, past, isSampled }) => ({
      row: at,
      tokens,
      past,
      isSampled,
    }));
    expect(found).toEqual(entries);
  }
  toString(): string {
    return this.name;
  }
}

const row = fc.nat(11);
const entry = fc.record({ row, tokens: fc.constantFrom(1, 1, 7), past: fc.nat(99) });
const add = fc.tuple(entry, fc.boolean()).map(([fields, isSampled]) =>
  new Step(`add ${fields.row} ${fields.tokens} ${isSampled}`, (model, real) => {
    if (model.entries.some((other) => other.row === fields.row)) return;
    const put = (): void => real.add(fields.row, fields.tokens, fields.past, isSampled);
    if (model.entries.length === CAPACITY) {
      expect(put).toThrow(`row ${fields.row} after 8 others`);
      return;
    }
    put();
    model.entries.push({ ...fields, isSampled, isCounted: true });
  }),
);
const exclude = row.map((gone) =>
  new Step(`exclude ${gone}`, (model, real) => {
    const of = model.entries.find((other) => other.row === gone);
    expect(real.exclude(gone)).toBe(of !== undefined);
    if (of !== undefined) Object.assign(of, { row: -1, isCounted: false });
  }),
);
const leave = row.map((gone) =>
  new Step(`leave ${gone}`, (model, real) => {
    const of = model.entries.find((other) => other.row === gone);
    real.leave(gone, 100 + gone);
    if (of === undefined) return;
    of.row = -1;
    if (of.isSampled) model.leavers.push(100 + gone);
  }),
);
const clear = fc.constant(
  new Step("clear", (model, real) => {
    real.clear();
    model.entries = [];
    model.leavers = [];
  }),
);

it("does what a list of entries does, whoever leaves it in mid-flight", () => {
  const all = [add, add, add, add, exclude, leave, fc.oneof(clear, exclude)];
  fc.assert(
    fc.property(fc.commands(all, { maxCommands: 80, size: "max" }), (steps) => {
      fc.modelRun(() => ({ model: new Model(), real: new Batch(CAPACITY) }), steps);
    }),
    { numRuns: 80, seed: 6 },
  );
});

it("one that was taken out is not taken out again", () => {
  const batch = new Batch(2);
  batch.add(3, 1, 5, true);
  expect(batch.exclude(3)).toBe(true);
  expect(batch.exclude(3)).toBe(false);
  expect(() => batch.exclude(-1)).toThrow("no row -1");
  batch.add(3, 1, 5, true);
  batch.rows[0] = 3;
  expect(() => batch.check()).toThrow("row 3 is in it twice");
});
