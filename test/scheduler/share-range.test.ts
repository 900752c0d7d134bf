/** The range of growth shares: every share inside decides all that was decided in the same way. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ShareRange } from "../../src/scheduler/share-range.ts";

const share = fc.constantFrom(0, 0.1, 0.2, 0.3, 0.5, 1);
// Growth is a sum of expected tokens over a block's: none, or far from numbers so small that a
// share of them is rounded to nothing.
const decision = fc.record({
  growth: fc.oneof(fc.constant(0), fc.double({ min: 1e-9, max: 500, noNaN: true })),
  room: fc.integer({ min: -20, max: 200 }),
});

describe("the range of shares that decide the same", () => {
  it("holds for none that decides otherwise, and for all that lie well inside", () => {
    fc.assert(
      fc.property(share, fc.array(decision, { maxLength: 8 }), share, (own, decisions, other) => {
        const range = new ShareRange();
        for (const { growth, room } of decisions) range.note(own, growth, room);
        const isSame = decisions.every(
          ({ growth, room }) => own * growth <= room === other * growth <= room,
        );
        const isInside = other > range.above && other < range.upTo;
        if (isInside) expect(isSame).toBe(true);
        const isClear = decisions.every(
          ({ growth, room }) => Math.abs(other * growth - room) > 1e-6 * Math.abs(room),
        );
        if (isSame && isClear) expect(isInside).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("is of no other share once an amount followed from it, whatever comes after", () => {
    const range = new ShareRange();
    range.note(0.1, 10, 5);
    range.noteAmount(0.1);
    range.note(0.1, 10, 3);
    for (const other of [0, 0.1, 0.2, 1]) {
      expect(other > range.above && other < range.upTo).toBe(false);
    }
  });

  it("is all shares before anything was decided", () => {
    const range = new ShareRange();
    expect([range.above, range.upTo]).toEqual([-Infinity, Infinity]);
  });
});
