/** The speed of loans over equal and unequal paths, by hand and against placing slice by slice. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { LoanSpeed, type LoanSources } from "../../src/engine/loan-rate.ts";

function sources(
  held: readonly number[],
  idle: readonly number[],
  paths: readonly number[],
): LoanSources {
  return {
    heldSlices: Float64Array.from(held),
    idleSlices: Float64Array.from(idle),
    pathBytesPerSecond: Float64Array.from(paths),
  };
}

it.each([
  ["one lender at port speed", 8, [0, 0], [0, 20], [0, 100], 100],
  ["three lenders of a mesh add up", 9, [0, 0, 0, 0], [0, 9, 9, 9], [0, 30, 30, 30], 90],
  ["no more than the port", 9, [0, 0, 0, 0], [0, 9, 9, 9], [0, 50, 50, 50], 100],
  ["the fastest path is filled first", 10, [0, 0, 0], [0, 10, 10], [0, 40, 10], 40],
  ["what is left lies behind the slow path", 20, [0, 0, 0], [0, 10, 10], [0, 40, 10], 20],
  ["a full lender leaves the rest to its equals", 10, [0, 0, 0], [0, 2, 20], [0, 40, 40], 50],
  ["what is held counts where it is", 10, [0, 8, 0], [0, 10, 2], [0, 40, 40], 50],
  ["nothing borrowed is not slow", 0, [0, 0], [0, 20], [0, 10], 100],
])("%s", (_, slices, held, idle, paths, expected) => {
  const speed = new LoanSpeed(sources(held, idle, paths), 100);
  expect(speed.bytesPerSecond(slices)).toBeCloseTo(expected, 2);
});

it("agrees with placing slice by slice, and a step waits for the slowest source", () => {
  const lender = fc.record({
    held: fc.nat(20),
    idle: fc.nat(20),
    path: fc.constantFrom(5, 20, 80),
  });
  fc.assert(
    fc.property(fc.array(lender, { minLength: 1, maxLength: 5 }), fc.nat(60), (lenders, extra) => {
      const held = lenders.map((one) => one.held);
      const counts = [...held];
      for (let placed = 0; placed < extra; placed++) {
        const open = lenders.flatMap((one, at) => (counts[at]! < one.held + one.idle ? [at] : []));
        open.sort((a, b) => lenders[b]!.path - lenders[a]!.path || counts[a]! - counts[b]!);
        if (open[0] === undefined) break;
        counts[open[0]]!++;
      }
      const total = counts.reduce((sum, count) => sum + count, 0);
      const longest = Math.max(...counts.map((count, at) => count / lenders[at]!.path));
      const columns = sources(
        held,
        lenders.map((one) => one.idle),
        lenders.map((one) => one.path),
      );
      const speed = new LoanSpeed(columns, 1000);
      // One amount leaves nothing behind for the next.
      speed.bytesPerSecond(total + 7);
      const actual = speed.bytesPerSecond(total);
      if (total === 0) {
        expect(actual).toBe(1000);
        return;
      }
      // Whole slices are uneven by less than one of them among equally fast lenders.
      const used = lenders.filter((_, at) => counts[at]! > 0);
      const slowest = Math.min(...used.map((one) => one.path));
      expect(total / actual).toBeLessThanOrEqual(longest + 0.01);
      expect(total / actual).toBeGreaterThanOrEqual(longest - 1 / slowest - 0.01);
    }),
    { examples: [[[{ held: 0, idle: 0, path: 5 }], 0]] },
  );
});
