/** What comes home while links carry less than is out: whose, from where, and how much. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LOCAL_SOURCE } from "../../src/kvcache/index.ts";
import { HOST, LENDER, OTHER_LENDER, ResidencyBench } from "./residency-bench.ts";

/** Sequences with so many blocks out each, all with one lender, none left out of steps. */
function benchOf(blocksOut: readonly number[]): { bench: ResidencyBench; rows: number[] } {
  const bench = new ResidencyBench();
  bench.residency.sequenceBlocksOut = 0;
  const rows = blocksOut.map((blocks) => {
    const row = bench.admit(blocks);
    bench.put(row, blocks, LENDER);
    return row;
  });
  return { bench, rows };
}

const home = (bench: ResidencyBench, rows: readonly number[]): number[] =>
  rows.map((row) => bench.goingTo(row, LOCAL_SOURCE));

describe("relief of links", () => {
  it("brings home who was left out or is parked, not who runs", () => {
    const { bench, rows } = benchOf([2, 3, 4]);
    bench.sequences.skips[rows[0]!] = 1;
    bench.sequences.isParked[rows[2]!] = 1;
    bench.relief.relieve(0);
    expect(home(bench, rows)).toEqual([2, 0, 4]);
    bench.settle();
    expect(rows.map((row) => bench.kv.blocksAt(row, LENDER))).toEqual([0, 3, 0]);
  });

  it("brings the oldest first, as far as there is room at home", () => {
    const { bench, rows } = benchOf([3, 3, 3]);
    for (const row of rows) bench.sequences.skips[row] = 1;
    // Of 32 own blocks 5 are to have.
    bench.residency.places.localReserveBlocks = 27;
    bench.relief.relieve(0);
    expect(home(bench, rows)).toEqual([3, 2, 0]);
    bench.relief.relieve(0);
    expect(home(bench, rows)).toEqual([3, 2, 0]);
  });

  it("brings nothing home that the step in flight may still write to", () => {
    const { bench, rows } = benchOf([3]);
    bench.sequences.skips[rows[0]!] = 1;
    bench.residency.places.isHomeClosed = true;
    bench.relief.relieve(0);
    expect(home(bench, rows)).toEqual([0]);
  });

  it("leaves out what links carry of each, and asks for nothing twice", () => {
    const { bench, rows } = benchOf([5, 2]);
    for (const row of rows) bench.sequences.skips[row] = 1;
    bench.residency.sequenceBlocksOut = 2;
    bench.relief.relieve(0);
    expect(home(bench, rows)).toEqual([3, 0]);
    bench.relief.relieve(0);
    expect(home(bench, rows)).toEqual([3, 0]);
    bench.settle();
    bench.relief.relieve(0);
    expect(home(bench, rows)).toEqual([0, 0]);
    expect(rows.map((row) => bench.kv.blocksAt(row, LENDER))).toEqual([2, 2]);
  });

  it("does not count on a move that was given up", () => {
    const { bench, rows } = benchOf([3]);
    bench.sequences.skips[rows[0]!] = 1;
    bench.relief.relieve(0);
    bench.residency.abandon(bench.copies.requests.at(-1)!.id, 0);
    bench.relief.relieve(0);
    bench.settle();
    expect(bench.kv.blocksAt(rows[0]!, LENDER)).toBe(0);
  });

  it("leaves lenders that run, and the host, to others", () => {
    const bench = new ResidencyBench();
    bench.residency.sequenceBlocksOut = 0;
    const row = bench.admit(7);
    bench.put(row, 2, LENDER);
    bench.put(row, 2, OTHER_LENDER);
    bench.put(row, 2, HOST);
    bench.sequences.skips[row] = 1;
    bench.isLenderRunning[LENDER - 1] = 1;
    bench.relief.relieve(0);
    bench.settle();
    const left = [LENDER, OTHER_LENDER, HOST].map((source) => bench.kv.blocksAt(row, source));
    expect(left).toEqual([2, 0, 2]);
  });

  it("takes of each in turn what is wanted and there is room for, whatever came before", () => {
    const anySequence = fc.record({
      blocks: fc.integer({ min: 1, max: 4 }),
      isLeftOut: fc.boolean(),
      isAtRunning: fc.boolean(),
    });
    const anyCase = fc.record({
      sequences: fc.array(anySequence, { maxLength: 3 }),
      carried: fc.nat(4),
      room: fc.nat(12),
    });
    fc.assert(
      fc.property(anyCase, ({ sequences, carried, room }) => {
        const bench = new ResidencyBench();
        bench.isLenderRunning[OTHER_LENDER - 1] = 1;
        const rows = sequences.map(({ blocks, isLeftOut, isAtRunning }) => {
          const row = bench.admit(blocks);
          bench.put(row, blocks, isAtRunning ? OTHER_LENDER : LENDER);
          bench.sequences.skips[row] = isLeftOut ? 1 : 0;
          return row;
        });
        bench.residency.sequenceBlocksOut = carried;
        bench.residency.places.localReserveBlocks = 32 - room;
        let left = room;
        const expected = sequences.map(({ blocks, isLeftOut, isAtRunning }) => {
          if (!isLeftOut || isAtRunning) return 0;
          const coming = Math.min(left, Math.max(0, blocks - carried));
          left -= coming;
          return coming;
        });
        bench.relief.relieve(0);
        const came = home(bench, rows);
        expect(came).toEqual(expected);
        bench.kv.check();
      }),
      { numRuns: 200 },
    );
  });
});
