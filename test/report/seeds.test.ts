/** Means and intervals over seeds, against worked examples and tabled values of Student's t. */

import { describe, expect, it } from "vitest";
import { meanInterval, meanOf, mergeSeeds, studentT95 } from "../../src/report/seeds.ts";

describe("mean and interval", () => {
  it("of 1, 2, 3: mean 2, half width 4.303 x 1 / sqrt(3)", () => {
    const [low, high] = meanInterval([1, 2, 3])!;
    expect(meanOf([1, 2, 3])).toBe(2);
    expect(high - 2).toBeCloseTo(4.303 / Math.sqrt(3), 9);
    expect(2 - low).toBeCloseTo(4.303 / Math.sqrt(3), 9);
  });

  it("skip what is null; fewer than two values have no interval", () => {
    expect(meanOf([null, 4])).toBe(4);
    expect(meanOf([null])).toBeNull();
    expect(meanInterval([null, 4])).toBeNull();
    expect(meanInterval([4, null, 4])).toEqual([4, 4]);
  });

  it.each([
    [1, 12.706],
    [30, 2.042],
    [40, 2.021],
    [60, 2.0],
    [120, 1.98],
  ])("t for %d degrees of freedom is %d", (degrees, expected) => {
    expect(studentT95(degrees)).toBeCloseTo(expected, 3);
  });
});

describe("merging", () => {
  it("takes the mean of each number, the largest of each max, null only if all are", () => {
    const merged = mergeSeeds([
      { a: 1, gauge: { mean: 2, max: 5 }, d: { p50: null as number | null } },
      { a: 2, gauge: { mean: 4, max: 3 }, d: { p50: 7 as number | null } },
    ]);
    expect(merged).toEqual({ a: 1.5, gauge: { mean: 3, max: 5 }, d: { p50: 7 } });
  });

  it("counts a link or rung that a seed does not mention as zero there", () => {
    const seeds: Record<string, { bytes: number }>[] = [
      { "1-0": { bytes: 8 } },
      { "2-0": { bytes: 4 } },
    ];
    expect(mergeSeeds(seeds)).toEqual({ "1-0": { bytes: 4 }, "2-0": { bytes: 2 } });
  });

  it("leaves one seed as it is", () => {
    const one = { a: 0.1, b: null, c: { d: 3 } };
    expect(mergeSeeds([one])).toEqual(one);
  });
});
