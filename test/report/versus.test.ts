/** Ratios to static: paired by seed, null where a part is null or zero. */

import { describe, expect, it } from "vitest";
import type { EngineResult } from "../../src/report/compare-schema.ts";
import { summarizeEngine } from "../../src/report/engine-result.ts";
import { meanRatios, ratio, ratioIntervals } from "../../src/report/versus.ts";
import { engineRecord } from "./fixtures.ts";

function result(tokens: number, goodput: number | null): EngineResult {
  const slo = { ttftSeconds: 2, tpotSeconds: 0.1 };
  const base = summarizeEngine(engineRecord(), slo).result;
  return { ...base, outputTokensPerSecond: tokens, goodputRequestsPerSecond: goodput };
}

describe("a ratio", () => {
  it.each([
    [3, 2, 1.5],
    [0, 2, null],
    [3, 0, null],
    [null, 2, null],
    [3, null, null],
  ])("of %s and %s is %s", (part, whole, expected) => {
    expect(ratio(part, whole)).toBe(expected);
  });
});

describe("over seeds", () => {
  const own = [result(20, 1), result(90, 0)];
  const reference = [result(10, 0.5), result(30, 1)];

  it("is the mean of the ratios of equal seeds, not the ratio of means", () => {
    expect(meanRatios(own, reference).throughput).toBe(2.5); // 2 and 3; of means 2.75
  });

  it("leaves out seeds without a ratio", () => {
    expect(meanRatios(own, reference).goodput).toBe(2);
    expect(ratioIntervals(own, reference).goodput).toBeNull();
    expect(meanRatios(own, reference).ttftMean).toBeNull();
  });

  it("has an interval around it: 2.5 +- 12.706 x 0.5", () => {
    const [low, high] = ratioIntervals(own, reference).throughput!;
    expect(low).toBeCloseTo(2.5 - 12.706 * 0.5, 9);
    expect(high).toBeCloseTo(2.5 + 12.706 * 0.5, 9);
  });
});
