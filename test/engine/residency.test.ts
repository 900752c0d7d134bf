/** Room at home: whose blocks move out for it, how many, and what is kept for the ring. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LOCAL_SOURCE } from "../../src/kvcache/index.ts";
import { LENDER, OTHER_LENDER, ResidencyBench } from "./residency-bench.ts";

/** Of two lenders, three slices of four blocks each. */
const BORROWED_BLOCKS = 24;
const OWN_BLOCKS = 32;

const goingOut = (bench: ResidencyBench, row: number): number =>
  bench.goingTo(row, LENDER) + bench.goingTo(row, OTHER_LENDER);

describe("room at home", () => {
  it("is made as far as it is missing, and what is on its way counts", () => {
    const bench = new ResidencyBench();
    const row = bench.admit(OWN_BLOCKS - 2);
    bench.residency.makeLocalRoom(2, 0);
    expect(goingOut(bench, row)).toBe(0);
    bench.residency.makeLocalRoom(6, 0);
    expect([goingOut(bench, row), bench.residency.outgoingBlocks]).toEqual([4, 4]);
    bench.residency.makeLocalRoom(6, 0);
    expect(goingOut(bench, row)).toBe(4);
    bench.settle();
    expect(bench.kv.slices.freeBlocks[LOCAL_SOURCE]).toBe(6);
    expect(bench.residency.outgoingBlocks).toBe(0);
  });

  it("never takes of what is borrowed the blocks of slices that are emptied for the ring", () => {
    const anyCase = fc.record({ kept: fc.nat(BORROWED_BLOCKS + 4), wanted: fc.nat(OWN_BLOCKS) });
    fc.assert(
      fc.property(anyCase, ({ kept, wanted }) => {
        const bench = new ResidencyBench();
        const row = bench.admit(OWN_BLOCKS);
        bench.residency.ringBlocks = kept;
        bench.residency.makeLocalRoom(wanted, 0);
        const room = Math.max(0, BORROWED_BLOCKS - kept);
        // Blocks move a slice's worth at a time, where there is room for as many.
        const runs = 4 * Math.ceil(wanted / 4);
        expect(goingOut(bench, row)).toBe(Math.min(room, runs));
        expect(bench.residency.places.outwardBlocks()).toBe(
          BORROWED_BLOCKS - Math.min(room, runs),
        );
        bench.kv.check();
      }),
    );
  });

  it("is given by who has less out than links carry, though others have more to give", () => {
    const giver = (carried: number, isLightFirst: boolean): string => {
      const bench = new ResidencyBench();
      const rows = (isLightFirst ? [6, 14] : [14, 6]).map((blocks) => bench.admit(blocks));
      const [light, heavy] = isLightFirst ? rows : rows.toReversed();
      bench.put(heavy!, 5, LENDER);
      bench.put(light!, 1, OTHER_LENDER);
      bench.residency.sequenceBlocksOut = carried;
      bench.residency.makeLocalRoom(bench.kv.slices.freeBlocks[LOCAL_SOURCE]! + 1, 0);
      const { sequence } = [...bench.kv.moves.values()].at(-1)!;
      return sequence === heavy ? "heavy" : "light";
    };
    for (const isLightFirst of [true, false]) {
      expect([1, 2, 5, 6].map((carried) => giver(carried, isLightFirst))).toEqual([
        "heavy",
        "light",
        "light",
        "heavy",
      ]);
    }
  });

  it("is given by the one with the most to give of those, the first of equals, none parked", () => {
    const anySequence = fc.record({
      blocks: fc.integer({ min: 2, max: 6 }),
      out: fc.nat(4),
      isParked: fc.constantFrom(false, false, true),
    });
    const anyCase = fc.record({
      sequences: fc.array(anySequence, { minLength: 1, maxLength: 5, size: "max" }),
      carried: fc.constantFrom(0, 1, 2, 3, 4, Infinity),
    });
    let choices = 0;
    fc.assert(
      fc.property(anyCase, ({ sequences, carried }) => {
        const bench = new ResidencyBench();
        const all = sequences.map(({ blocks, out, isParked }, index) => {
          const row = bench.admit(blocks);
          bench.put(row, Math.min(out, blocks), index % 2 === 0 ? LENDER : OTHER_LENDER);
          bench.sequences.isParked[row] = isParked ? 1 : 0;
          const local = bench.kv.blocksAt(row, LOCAL_SOURCE);
          return { row, local, isParked, isLight: Math.min(out, blocks) < carried };
        });
        const able = all.filter(({ local, isParked }) => local > 0 && !isParked);
        const light = able.filter(({ isLight }) => isLight);
        const from = light.length > 0 ? light : able;
        const most = Math.max(...from.map(({ local }) => local));
        const giver = from.find(({ local }) => local === most)?.row;
        if (light.length > 0 && light.length < able.length) choices++;
        const before = bench.copies.requests.length;
        bench.residency.sequenceBlocksOut = carried;
        bench.residency.makeLocalRoom(bench.kv.slices.freeBlocks[LOCAL_SOURCE]! + 1, 0);
        expect(bench.copies.requests.length - before).toBe(giver === undefined ? 0 : 1);
        expect([...bench.kv.moves.values()].at(-1)?.sequence).toBe(giver);
      }),
      { numRuns: 300, seed: 11 },
    );
    expect(choices).toBeGreaterThan(30);
  });
});
