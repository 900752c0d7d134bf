/** Who reads in the next step: against a naive rotation, and that nobody waits for ever. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HOST, Model, Real } from "./rotation-model.ts";

class Step implements fc.Command<Model, Real> {
  readonly name: string;
  readonly act: (model: Model, real: Real) => void;
  constructor(name: string, act: (model: Model, real: Real) => void) {
    this.name = name;
    this.act = act;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: Real): void {
    model.nowNs++;
    this.act(model, real);
    model.compare(real);
  }
  toString(): string {
    return this.name;
  }
}

const pick = fc.nat(100);
function chosen(model: Model, at: number): number | null {
  const rows = [...model.readers.keys()];
  return rows.length === 0 ? null : rows[at % rows.length]!;
}

const admit = fc.array(fc.constantFrom(0, 1, 1, 2, 2, HOST), { minLength: 1, maxLength: 6 })
  .map((places) =>
    new Step(`admit ${places.join("")}`, (model, real) => {
      if (real.sequences.isFull) return;
      model.readers.set(real.admit(model.request++, places, model.nowNs), {
        skips: 0,
        isParked: false,
      });
    }),
  );
const finish = pick.map((at) =>
  new Step(`finish ${at}`, (model, real) => {
    const row = chosen(model, at);
    if (row === null) return;
    real.finish(row);
    model.readers.delete(row);
  }),
);
const park = pick.map((at) =>
  new Step(`park ${at}`, (model, real) => {
    const row = chosen(model, at);
    if (row === null) return;
    real.rotation.park(row, model.nowNs);
    const reader = model.readers.get(row)!;
    if (!reader.isParked) model.parkings++;
    reader.isParked = true;
  }),
);
const rate = fc.constantFrom(0, 1, 2, 10, 10);
const rates = fc.tuple(rate, rate, fc.constantFrom(1, 4, 20)).map(([first, second, port]) =>
  new Step(`rates ${first} ${second} ${port}`, (_, real) => real.link.set(first, second, port)),
);
const token = pick.map((at) =>
  new Step(`token ${at}`, (model, real) => {
    const row = chosen(model, at);
    if (row !== null) real.sequences.lastTokenNs[row] = model.nowNs;
  }),
);
const home = fc.tuple(pick, fc.nat(5), fc.constantFrom(0, 0, 1, 2)).map(([at, block, source]) =>
  new Step(`block ${block} of ${at} to ${source}`, (model, real) => {
    const row = chosen(model, at);
    if (row !== null && block < real.kv.blockCount(row)) real.move(row, block, source);
  }),
);
const select = fc.tuple(fc.constantFrom(0.3, 1, 1, 2), fc.integer({ min: 1, max: 2 }))
  .map(([stepNs, skipsMax]) =>
    new Step(`select ${stepNs} ${skipsMax}`, (model, real) => {
      model.select(real, stepNs, skipsMax);
      real.rotation.select(stepNs, skipsMax, model.nowNs);
    }),
  );

it("leaves out, parks and brings back whom a naive rotation would", () => {
  const commands = fc.commands(
    [admit, select, select, select, token, fc.oneof(rates, home), fc.oneof(park, finish, rates)],
    { maxCommands: 100, size: "max" },
  );
  let [rotations, parkings, runs] = [0, 0, 0];
  fc.assert(
    fc.property(commands, (steps) => {
      const model = new Model();
      fc.modelRun(() => ({ model, real: new Real() }), steps);
      rotations += model.rotations;
      parkings += model.parkings;
      runs++;
    }),
    { numRuns: 80, seed: 8 },
  );
  expect(rotations).toBeGreaterThan(runs);
  expect(parkings).toBeGreaterThan(10);
});

describe("nobody waits for ever", () => {
  it("with links for one at a time, everybody reads within as many steps as there are", () => {
    const real = new Real();
    const rows = [1, 1, 1, 1].map((source, request) => real.admit(request, [source], request));
    real.link.set(1, 1, 1);
    const read = new Map<number, number>();
    for (let step = 1; step <= 12; step++) {
      real.rotation.select(1, 9, 100 + step);
      const active = rows.filter((row) => real.kv.isActive(row));
      expect(active).toHaveLength(1);
      real.sequences.lastTokenNs[active[0]!] = 100 + step;
      read.set(active[0]!, (read.get(active[0]!) ?? 0) + 1);
    }
    expect([...read.values()]).toEqual([3, 3, 3, 3]);
    expect(real.rotation.parkings).toBe(0);
  });

  it("past the target the youngest left out is parked, and comes back when there is room", () => {
    const real = new Real();
    const rows = [0, 1, 2].map((request) => real.admit(request, [1], request));
    real.link.set(1, 1, 1);
    // The oldest never gets its token, so that it always reads first.
    for (let step = 0; step < 3; step++) real.rotation.select(1, 1, 100);
    expect(real.sequences.isParked[rows[2]!]).toBe(1);
    expect(real.rotation.parkedCount).toBeGreaterThan(0);
    real.link.set(10, 10, 20);
    real.rotation.select(1, 1, 101);
    real.rotation.select(1, 1, 101);
    expect([real.rotation.parkedCount, real.rotation.skippedCount]).toEqual([0, 0]);
    expect(rows.every((row) => real.kv.isActive(row))).toBe(true);
  });

  it("what came home while it was left out takes part, however full the links are", () => {
    const real = new Real();
    const [first, second] = [real.admit(0, [1], 0), real.admit(1, [1], 1)];
    const third = real.admit(2, [1], 2);
    real.link.set(1, 1, 1);
    real.rotation.select(1, 9, 100);
    expect(real.sequences.skips[second]).toBe(1);
    real.move(second, 0, 0);
    real.rotation.select(1, 9, 101);
    expect(real.sequences.skips[second]).toBe(0);
    expect(real.kv.isActive(second)).toBe(true);
    real.rotation.park(second, 102);
    real.rotation.select(1, 9, 102);
    expect(real.sequences.isParked[second]).toBe(0);
    expect([first, third].filter((row) => real.kv.isActive(row))).toHaveLength(1);
    real.rotation.check();
  });

  it("one that is parked gets its turn at once when it may be read, and else stays parked", () => {
    const real = new Real();
    const large = real.admit(0, [1, 1, 1, 1, 1, 1], 0);
    const small = real.admit(1, [0], 1);
    real.link.set(1, 1, 1);
    real.rotation.park(large, 2);
    real.rotation.select(1, 2, 3);
    expect(real.kv.isActive(large)).toBe(false);
    real.link.set(0, 1, 1);
    expect(real.rotation.giveTurn(large, 2)).toBe(false);
    expect(real.rotation.parkedCount).toBe(1);
    real.link.set(1, 1, 1);
    expect(real.rotation.giveTurn(large, 2)).toBe(true);
    real.rotation.select(1, 2, 4);
    expect([real.kv.isActive(large), real.kv.isActive(small)]).toEqual([true, true]);
    expect([real.rotation.parkedCount, real.rotation.skippedCount]).toEqual([0, 0]);
    real.rotation.check();
  });

  it("one whose lender may not be read at all waits, and is not forced into a step", () => {
    const real = new Real();
    const row = real.admit(0, [1, 2], 0);
    real.link.set(0, 10, 20);
    for (let step = 0; step < 5; step++) real.rotation.select(1, 1, step);
    expect(real.kv.isActive(row)).toBe(false);
    expect(real.sequences.isParked[row]).toBe(1);
  });

  it("one too large for any step reads when its turn comes", () => {
    const real = new Real();
    const large = real.admit(0, [1, 1, 1, 1, 1, 1], 0);
    const small = real.admit(1, [0], 1);
    real.link.set(1, 1, 1);
    let turns = 0;
    for (let step = 0; step < 9; step++) {
      real.rotation.select(1, 2, step);
      expect(real.kv.isActive(small)).toBe(true);
      if (real.kv.isActive(large)) turns++;
    }
    expect(turns).toBe(3);
  });
});
