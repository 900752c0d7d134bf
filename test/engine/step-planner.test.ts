/** What a step stages, and when the ring has a slice: few large accesses, little room, no loans. */

import { describe, expect, it } from "vitest";
import { StepPlanner } from "../../src/engine/step-planner.ts";
import { LOCAL_SOURCE, RowState } from "../../src/kvcache/index.ts";
import type { AccessMode, StepCompute } from "../../src/prefetch/index.ts";
import {
  BLOCKS_PER_SLICE,
  LAYERS,
  LENDER,
  OTHER_LENDER,
  OWN_ROWS,
  ResidencyBench,
} from "./residency-bench.ts";

const SLICE_LAYER_BYTES = BLOCKS_PER_SLICE * 1024 * 1024;
const RATES = Float64Array.of(0, 200e9, 200e9, 50e9);
const LINK = { portBytesPerSecond: 200e9, copyCostNs: 2300, latencyNs: 7500 };

/** A step whose attention hides some 60 % of a slice that is read in place. */
const COMPUTE: StepCompute = {
  layers: LAYERS,
  hostNs: 1e6,
  headNs: 1e5,
  linearLayerNs: 1e5,
  attentionLayerNs: 14e3,
  hbmBytesPerSecond: 2e12,
};

interface Planned {
  readonly bench: ResidencyBench;
  readonly planner: StepPlanner;
}

/** Reads so many whole slices of each lender, with so many own slices empty for the ring. */
function planned(slicesRead: readonly [number, number], emptySlices: number): Planned {
  const bench = new ResidencyBench();
  const lenders = [LENDER, OTHER_LENDER];
  slicesRead.forEach((slices, index) => {
    for (let slice = 0; slice < slices; slice++) {
      bench.put(bench.admit(BLOCKS_PER_SLICE), BLOCKS_PER_SLICE, lenders[index]!);
    }
  });
  bench.admit((OWN_ROWS.length - emptySlices) * BLOCKS_PER_SLICE);
  bench.kv.syncReadSet();
  return { bench, planner: newPlanner(bench) };
}

/** Groups of eight layers: two of them are two thirds of a slice that is staged whole. */
function newPlanner(bench: ResidencyBench, mode: AccessMode = "mixed"): StepPlanner {
  return new StepPlanner({ mode, link: LINK, groupLayers: 8 }, bench.kv);
}

/** (lenders) slices that are staged and that are read in place, after a plan. */
function split({ bench, planner }: Planned, attentionLayerNs = COMPUTE.attentionLayerNs) {
  planner.plan({ ...COMPUTE, attentionLayerNs }, false, RATES);
  const { stagedBytes, directBytes } = bench.kv.readSet;
  bench.kv.readSet.check();
  return {
    staged: [LENDER, OTHER_LENDER].map((source) => stagedBytes[source]! / SLICE_LAYER_BYTES),
    direct: [LENDER, OTHER_LENDER].map((source) => directBytes[source]! / SLICE_LAYER_BYTES),
  };
}

describe("a split that accesses are too large for", () => {
  it("stages the only access whole, of which two fifths are best, if the ring has room", () => {
    expect(split(planned([1, 0], 1))).toEqual({ staged: [1, 0], direct: [0, 0] });
  });

  it("reads it in place where the ring has none", () => {
    const of = planned([1, 0], 0);
    expect(split(of)).toEqual({ staged: [0, 0], direct: [1, 0] });
    expect([of.planner.ring.rows.length, of.planner.ring.slices]).toEqual([0, 1]);
  });

  it("stays with the nearest where the ring holds that and no more, and grows for the rest", () => {
    const of = planned([1, 1], 1);
    // Best are two fifths of the one and all of the other: one slice of ring; both whole take two.
    expect(split(of)).toEqual({ staged: [0, 1], direct: [1, 0] });
    expect([of.planner.ring.rows.length, of.planner.ring.slices]).toEqual([1, 2]);
    for (let step = 0; step < 2; step++) {
      of.planner.keepRing(true, true, of.bench.residency, 0);
      of.bench.settle();
    }
    of.bench.kv.syncReadSet();
    expect(of.planner.ring.rows.length).toBe(2);
    expect(of.bench.kv.readSet.directBytes[LENDER]).toBe(SLICE_LAYER_BYTES);
  });

  it("is what smaller ones come near to: a third for two fifths", () => {
    expect(split(planned([3, 0], 3), 3 * 14e3)).toEqual({ staged: [1, 0], direct: [2, 0] });
  });
});

describe("the ring", () => {
  it("holds what is staged, to the nearest access, and the rest is read in place", () => {
    // A slice of ring has room for one and a half: two groups of eight of 24 layers.
    expect(split(planned([3, 0], 1), 0)).toEqual({ staged: [2, 0], direct: [1, 0] });
    expect(split(planned([3, 0], 2), 0)).toEqual({ staged: [3, 0], direct: [0, 0] });
  });

  it("shrinks to its one slice, and one to spare, when nothing was read for two windows", () => {
    const { bench, planner } = planned([3, 3], 4);
    planner.keepRing(true, true, bench.residency, 0);
    planner.plan({ ...COMPUTE, attentionLayerNs: 0 }, false, RATES);
    expect(planner.ring.rows.length).toBe(4);
    for (const row of bench.sequences.order.subarray(0, 6)) bench.kv.setActive(row, false);
    bench.kv.syncReadSet();
    for (let step = 0; step < 127; step++) planner.plan(COMPUTE, false, RATES);
    expect(planner.ring.rows.length).toBe(4);
    planner.plan(COMPUTE, false, RATES);
    expect(planner.ring.rows.length).toBe(2);
  });

  /** How many slices it keeps for loans that nothing is read from. */
  const least = (mode: AccessMode, hasLoans: boolean, isShared: boolean): number => {
    const bench = new ResidencyBench();
    const planner = newPlanner(bench, mode);
    planner.keepRing(hasLoans, isShared, bench.residency, 0);
    planner.plan(COMPUTE, false, RATES);
    expect(planner.ring.rows.length).toBe(planner.ring.leastSlices);
    return planner.ring.leastSlices;
  };

  it("has a slice with the first loan, but not for direct reads or a lone sequence", () => {
    for (const mode of ["mixed", "staged", "direct"] as const) {
      for (const hasLoans of [true, false]) {
        for (const isShared of [true, false]) {
          const isKept = hasLoans && isShared && mode !== "direct";
          expect(least(mode, hasLoans, isShared)).toBe(isKept ? 1 : 0);
        }
      }
    }
  });

  it("empties a slice for loans that nothing is read from yet, and none without loans", () => {
    const bench = new ResidencyBench();
    bench.admit(OWN_ROWS.length * BLOCKS_PER_SLICE);
    const planner = newPlanner(bench);
    planner.ring.fit(1);
    planner.keepRing(false, true, bench.residency, 0);
    expect(planner.ring.isEmpty).toBe(true);
    planner.keepRing(true, true, bench.residency, 0);
    expect(bench.residency.outgoingBlocks).toBe(BLOCKS_PER_SLICE);
    bench.settle();
    planner.keepRing(true, true, bench.residency, 0);
    expect(planner.ring.rows.length).toBe(1);
  });

  it("gives all back with the last loan, at once", () => {
    const of = planned([2, 1], 1);
    const { bench, planner } = of;
    planner.keepRing(true, true, bench.residency, 0);
    split(of, 0);
    planner.keepRing(true, true, bench.residency, 0);
    expect([planner.ring.rows.length, planner.ring.slices]).toEqual([1, 2]);
    const { state } = bench.kv.slices;
    expect(OWN_ROWS.filter((row) => state[row] === RowState.Closing).length).toBe(1);
    planner.keepRing(false, true, bench.residency, 0);
    expect([planner.ring.isEmpty, planner.ring.slices]).toEqual([true, 0]);
    expect(OWN_ROWS.every((row) => state[row] === RowState.Usable)).toBe(true);
    expect(bench.kv.slices.heldRows[LOCAL_SOURCE]).toBe(OWN_ROWS.length);
  });
});
