/** A step laid again from one of its groups, when rates or bytes change while it runs. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyStep, lay, localStep } from "./drawn-step.ts";

describe("a step laid again from a group", () => {
  it("comes to the same when nothing has changed", () => {
    fc.assert(
      fc.property(anyStep, fc.nat(), (step, pick) => {
        const timeline = lay(step);
        const before = { ...timeline, groupEndNs: timeline.groupEndNs.slice() };
        const firstGroup = 1 + (pick % step.groupCount);
        timeline.lay({
          ...step,
          firstGroup,
          startNs: timeline.groupEndNs[firstGroup - 1]!,
          aheadFromNs: timeline.copyFromNs[firstGroup] ?? 0,
          aheadShare: 1,
        });
        for (let group = 0; group < step.groupCount; group++) {
          const movedNs = timeline.groupEndNs[group]! - before.groupEndNs[group]!;
          expect(Math.abs(movedNs)).toBeLessThanOrEqual(2);
        }
        expect(Math.abs(timeline.endNs - before.endNs)).toBeLessThanOrEqual(2);
        expect(timeline.localEndNs).toBeCloseTo(before.localEndNs, -1);
        expect(Math.abs(timeline.waitNs - before.waitNs)).toBeLessThanOrEqual(2);
        expect(timeline.hits + timeline.lates + timeline.misses).toBe(
          before.hits + before.lates + before.misses,
        );
      }),
    );
  });

  it("keeps the groups that are done for and moves only later ones", () => {
    const step = localStep();
    step.stagedBytes = new Float64Array([20e6, 20e6, 20e6]);
    step.stagedRuns = new Float64Array([12, 12, 12]);
    step.aheadShare = 1;
    const timeline = lay(step);
    const untouched = timeline.groupEndNs.slice();
    const group = timeline.groupAt(step.startNs + 15_000_000);
    timeline.lay({
      ...step,
      firstGroup: group + 1,
      startNs: untouched[group]!,
      sourceBytesPerSecond: new Float64Array([25e9, 25e9, 25e9]),
      aheadFromNs: timeline.copyFromNs[group + 1]!,
    });
    expect(timeline.groupEndNs.slice(0, group + 1)).toEqual(untouched.slice(0, group + 1));
    expect(timeline.groupEndNs[group + 3]!).toBeGreaterThan(untouched[group + 3]!);
    expect(timeline.waitNs).toBeGreaterThan(0);
    expect(timeline.hits + timeline.lates + timeline.misses).toBe(40);
  });

  it("finds the group in flight", () => {
    fc.assert(
      fc.property(anyStep, fc.double({ min: 0, max: 1, noNaN: true }), (step, share) => {
        const timeline = lay(step);
        const ends = [...timeline.groupEndNs.slice(0, step.groupCount)];
        const nowNs = Math.round(step.startNs + share * (timeline.endNs - step.startNs));
        const expected = ends.findIndex((endNs) => endNs > nowNs);
        expect(timeline.groupAt(nowNs)).toBe(expected < 0 ? step.groupCount - 1 : expected);
      }),
    );
  });

  it("refuses to be laid again before the group it continues from has ended", () => {
    const step = localStep();
    const timeline = lay(step);
    const tooEarly = { ...step, firstGroup: 5, startNs: timeline.groupEndNs[4]! - 1 };
    expect(() => timeline.lay(tooEarly)).toThrow("laid again");
  });
});
