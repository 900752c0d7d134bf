/** Lenders that run and paths of all widths: what they take from the closed form with costs. */

import { describe, expect, it } from "vitest";
import { practicalLimit } from "../../src/limits/index.ts";
import { DEFAULTS, lendersLike, OPT } from "./default-inputs.ts";

describe("lenders that run", () => {
  const of = (runShare: number, lenderShare: number | null): number =>
    practicalLimit({ ...DEFAULTS, lenders: lendersLike(3, runShare), lenderShare }).ratioToStatic;

  it("are read at their share only, and it limits", () => {
    const limit = practicalLimit({ ...DEFAULTS, lenders: lendersLike(3, 1) });
    expect(limit.limitedBy).toBe("lender-share");
    // Never faster than three lenders at 2 % of 1244 GB/s each.
    const paceBytesPerSecond = 3 * 0.02 * 1244e9;
    expect(limit.remoteBytes / limit.stepSeconds).toBeLessThanOrEqual(paceBytesPerSecond * 1.0001);
  });

  it("fill no ring faster than their share, beside idle ones at full speed", () => {
    const lendableBytes = 3e9;
    const limit = practicalLimit({
      ...DEFAULTS,
      mode: "staged",
      lenders: [...lendersLike(1, 0, lendableBytes), ...lendersLike(1, 1, lendableBytes)],
    });
    // Whole slices hold less than their bytes, so this is what the idle one gives at most.
    const pacedBytes = limit.remoteBytes - lendableBytes;
    expect(limit.remoteBytes).toBeGreaterThan(lendableBytes * 0.9);
    expect(pacedBytes / limit.stepSeconds).toBeLessThanOrEqual(0.02 * 1244e9 * 1.0001);
  });

  it("are never faster than their path, whatever they share", () => {
    const two = (runShare: number): number =>
      practicalLimit({
        ...DEFAULTS,
        borrower: { ...OPT, portBytesPerSecond: 2e12 },
        capBytes: Infinity,
        lenders: [...lendersLike(1, 0), ...lendersLike(1, runShare)],
        lenderShare: 0.9,
      }).tokensPerSecond;
    expect(two(1)).toBeLessThanOrEqual(two(0));
  });

  it("give more the less they run, the more they share, and everything without pacing", () => {
    expect(of(0.5, 0.02)).toBeGreaterThan(of(1, 0.02));
    expect(of(1, 0.04)).toBeGreaterThan(of(1, 0.02));
    expect(of(1, null)).toBeCloseTo(of(0, 0.02), 9);
  });

  it("give nothing at a share of 0, and then the share is to blame", () => {
    const limit = practicalLimit({ ...DEFAULTS, lenders: lendersLike(3, 1), lenderShare: 0 });
    expect(limit.ratioToStatic).toBe(1);
    expect(limit.limitedBy).toBe("lender-share");
    expect(limit.remoteSlowdown).toBeNull();
    expect(limit.hiddenShare).toBeNull();
  });

  it("weigh their states by the binomial: two lenders at one half", () => {
    const small = OPT.ownKvBytes / 4;
    const two = (a: number, b: number): number =>
      practicalLimit({
        ...DEFAULTS,
        lenderShare: 0,
        lenders: [...lendersLike(1, a, small), ...lendersLike(1, b, small)],
      }).tokensPerSecond;
    const expected = two(0, 0) / 4 + two(1, 0) / 2 + two(1, 1) / 4;
    expect(two(0.5, 0.5)).toBeCloseTo(expected, 6);
  });

  it("lend only what their own sequences leave", () => {
    const busy = lendersLike(3, 1).map((lender) => ({ ...lender, runningLendableBytes: 3e8 }));
    const limit = practicalLimit({ ...DEFAULTS, lenders: busy });
    expect(limit.remoteBytes).toBeLessThanOrEqual(9e8);
  });
});
