/** The ring's own slices against a count of them: random needs, sequences and moves. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StagingRing } from "../../src/engine/staging-ring.ts";
import { LOCAL_SOURCE, RowState } from "../../src/kvcache/index.ts";
import { OWN_ROWS, ResidencyBench } from "./residency-bench.ts";

/** Two windows of 64 steps: for so long a need is remembered at most. */
const REMEMBERED_STEPS = 128;
const WINDOW_STEPS = 64;
const VACATING_MAX = 4;

interface Ring {
  readonly bench: ResidencyBench;
  readonly ring: StagingRing;
}

const newRing = (): Ring => {
  const bench = new ResidencyBench();
  return { bench, ring: new StagingRing(bench.kv) };
};

const rowsIn = ({ bench }: Ring, state: RowState): number[] =>
  OWN_ROWS.filter((row) => bench.kv.slices.state[row] === state);

const emptyUsable = (of: Ring): number[] =>
  rowsIn(of, RowState.Usable).filter((row) => of.bench.kv.slices.used[row] === 0);

/** What a ring should be: counts, and every need since it was last released. */
class RingModel {
  rows = 0;
  vacating = 0;
  least = 0;
  needs: number[] = [];
  /** Sequences in the order they came. */
  readonly sequences: number[] = [];

  /** The most of the window that runs and of the one before it. */
  get wanted(): number {
    const isBegun = this.needs.length > 0;
    const first = isBegun ? Math.floor((this.needs.length - 1) / WINDOW_STEPS) - 1 : 0;
    return Math.max(this.least, ...this.needs.slice(Math.max(0, first * WINDOW_STEPS)));
  }

  compare(real: Ring): void {
    const { bench, ring } = real;
    bench.kv.check();
    const inRing = rowsIn(real, RowState.Ring);
    const vacating = rowsIn(real, RowState.Closing);
    expect([...ring.rows].sort((a, b) => a - b)).toEqual(inRing);
    expect([inRing.length, vacating.length]).toEqual([this.rows, this.vacating]);
    expect(inRing.every((row) => bench.kv.slices.used[row] === 0)).toBe(true);
    expect(rowsIn(real, RowState.Absent)).toEqual([]);
    expect(ring.isEmpty).toBe(this.rows + this.vacating === 0);
    expect(ring.slices).toBe(Math.max(this.rows, this.wanted));
    expect(vacating.length).toBeLessThanOrEqual(VACATING_MAX);
  }
}

class Step implements fc.Command<RingModel, Ring> {
  readonly name: string;
  readonly act: (model: RingModel, real: Ring) => void;
  constructor(name: string, act: (model: RingModel, real: Ring) => void) {
    this.name = name;
    this.act = act;
  }
  check(): boolean {
    return true;
  }
  run(model: RingModel, real: Ring): void {
    this.act(model, real);
    model.compare(real);
  }
  toString(): string {
    return this.name;
  }
}

const seen = new Map<string, number>();
const note = (what: string, isSo: boolean): void => {
  if (isSo) seen.set(what, (seen.get(what) ?? 0) + 1);
};

function fit(model: RingModel, real: Ring, needed: number): void {
  const empty = emptyUsable(real).length;
  model.needs.push(needed);
  real.ring.fit(needed);
  const target = Math.max(needed, model.least);
  const grown = Math.max(model.rows, Math.min(target, model.rows + empty));
  const { wanted } = model;
  const kept = wanted === 0 ? 0 : wanted + 1;
  note("grew from empty slices", grown > model.rows);
  note("found too few empty slices", grown < target);
  note("shrank", grown > kept);
  model.rows = Math.min(grown, kept);
  const vacating = Math.min(model.vacating, Math.max(0, kept - model.rows));
  note("reopened for a smaller need", vacating < model.vacating);
  model.vacating = vacating;
}

const fitOnce = fc.nat(6).map((needed) =>
  new Step(`fit ${needed}`, (model, real) => fit(model, real, needed)),
);

const fitOften = fc.tuple(fc.nat(2), fc.constantFrom(63, 64, 65, 130)).map(([needed, times]) =>
  new Step(`fit ${needed}, ${times} times`, (model, real) => {
    for (let time = 0; time < times; time++) fit(model, real, needed);
  }),
);

const grow = fc.constant(
  new Step("grow", (model, real) => {
    const { bench, ring } = real;
    const { used } = bench.kv.slices;
    const missing = model.wanted - model.rows;
    const usable = rowsIn(real, RowState.Usable).map((row) => used[row]!);
    usable.sort((a, b) => a - b);
    const more = Math.max(0, Math.min(missing, VACATING_MAX) - model.vacating);
    const before = rowsIn(real, RowState.Closing);
    const vacated = [...before.map((row) => used[row]!), ...usable.slice(0, more)];
    const moves = bench.copies.requests.length;
    ring.grow(bench.residency, 0);
    const emptied = vacated.filter((blocks) => blocks === 0).length;
    const joined = Math.max(0, Math.min(missing, emptied));
    model.rows += joined;
    model.vacating = vacated.length - emptied;
    note("joined once emptied", joined > 0);
    note("emptied and no longer needed", emptied > joined);
    note("vacates", more > 0 && usable.length > 0);
    const kept = vacated.reduce((sum, blocks) => sum + blocks, 0);
    expect(bench.residency.ringBlocks).toBe(kept);
    const closing = rowsIn(real, RowState.Closing);
    for (const { source, sourceHandles } of bench.copies.requests.slice(moves)) {
      expect(source).toBe(LOCAL_SOURCE);
      for (const handle of sourceHandles) expect(closing).toContain(bench.kv.rowOf(handle));
    }
  }),
);

const leastOf = fc.constantFrom(0, 1, 1).map((least) =>
  new Step(`at least ${least}`, (model, { ring }) => {
    ring.leastSlices = least;
    model.least = least;
  }),
);

const admit = fc.integer({ min: 1, max: 12 }).map((blocks) =>
  new Step(`admit ${blocks} blocks`, (model, { bench }) => {
    const row = bench.sequences.isFull ? -1 : bench.admit(blocks);
    if (row >= 0) model.sequences.push(row);
    note("found no room", row < 0);
  }),
);

const end = fc.nat(20).map((at) =>
  new Step(`end ${at}`, (model, { bench }) => {
    const [row] = model.sequences.splice(at % Math.max(1, model.sequences.length), 1);
    if (row !== undefined) bench.end(row);
  }),
);

const settle = fc.constant(new Step("settle", (_, { bench }) => bench.settle()));

const release = fc.constant(
  new Step("release", (model, real) => {
    real.ring.release();
    note("released while vacating", model.vacating > 0);
    model.rows = 0;
    model.vacating = 0;
    model.least = 0;
    // Where in its window a ring is does not change with that.
    model.needs = model.needs.map(() => 0);
    expect(rowsIn(real, RowState.Usable)).toEqual(OWN_ROWS);
  }),
);

describe("the slices of the ring", () => {
  it("are what a count of them says, each in the ring, vacating or usable, never two", () => {
    const often = [fitOnce, fitOnce, grow, grow, grow, admit, admit, settle, settle];
    const commands = fc.commands([...often, fitOften, leastOf, end, release], {
      maxCommands: 60,
      size: "max",
    });
    fc.assert(
      fc.property(commands, (steps) => {
        fc.modelRun(() => ({ model: new RingModel(), real: newRing() }), steps);
      }),
      { numRuns: 200, seed: 5 },
    );
    const names = [
      "grew from empty slices",
      "found too few empty slices",
      "shrank",
      "reopened for a smaller need",
      "joined once emptied",
      "emptied and no longer needed",
      "vacates",
      "found no room",
      "released while vacating",
    ];
    for (const name of names) expect(seen.get(name) ?? 0, name).toBeGreaterThan(0);
  });

  it("shrink when two windows of steps have needed less, and one more than needed stays", () => {
    const { ring } = newRing();
    ring.fit(5);
    expect(ring.rows.length).toBe(5);
    for (let step = 1; step < REMEMBERED_STEPS; step++) {
      ring.fit(2);
      expect([ring.rows.length, ring.slices]).toEqual([5, 5]);
    }
    ring.fit(2);
    expect([ring.rows.length, ring.slices]).toEqual([3, 3]);
  });

  it("are emptied to have one from the first loan on, before anything is read", () => {
    const real = newRing();
    const { bench, ring } = real;
    const full = bench.admit(31);
    ring.leastSlices = 1;
    ring.fit(0);
    expect([ring.rows.length, ring.slices, ring.isEmpty]).toEqual([0, 1, true]);
    ring.grow(bench.residency, 0);
    // The slice with the fewest blocks: three, and they go to a lender.
    expect([ring.rows.length, ring.isEmpty, bench.residency.ringBlocks]).toEqual([0, false, 3]);
    bench.settle();
    ring.grow(bench.residency, 0);
    expect([ring.rows.length, bench.residency.ringBlocks]).toEqual([1, 0]);
    expect(bench.kv.blocksAt(full, LOCAL_SOURCE)).toBe(28);
    for (let step = 0; step < 2 * REMEMBERED_STEPS; step++) ring.fit(0);
    expect(ring.rows.length).toBe(1);
  });

  it("are nobody's but the sequences' when loans have gone, those that were vacating too", () => {
    const real = newRing();
    const { bench, ring } = real;
    bench.admit(26);
    ring.leastSlices = 1;
    ring.fit(3);
    ring.grow(bench.residency, 0);
    expect(rowsIn(real, RowState.Ring).length).toBe(1);
    expect(rowsIn(real, RowState.Closing).length).toBe(2);
    ring.leastSlices = 0;
    for (let step = 0; step < REMEMBERED_STEPS; step++) ring.fit(0);
    expect([ring.isEmpty, ring.slices]).toEqual([true, 0]);
    expect(rowsIn(real, RowState.Usable)).toEqual(OWN_ROWS);
    bench.settle();
    bench.kv.check();
  });
});
