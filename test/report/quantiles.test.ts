/** Percentiles against lists worked out by hand and against the expanded list. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quantile, sortWeighted, weightedQuantile } from "../../src/report/quantiles.ts";

/** The definition, written the slow way. */
function naiveQuantile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((left, right) => left - right);
  if (sorted.length === 0) return null;
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)]!;
  const above = sorted[Math.ceil(position)]!;
  return below + (above - below) * (position - Math.floor(position));
}

const shares = fc.constantFrom(0, 0.1, 0.5, 0.9, 0.95, 0.99, 1);

describe("quantile", () => {
  it.each([
    [[7], 0.99, 7],
    [[1, 2], 0.5, 1.5],
    [[1, 2, 3, 4], 0.5, 2.5],
    [[1, 2, 3, 4, 5], 0.9, 4.6],
    [[10, 20, 30], 0.95, 29],
  ])("of %j at %d is %d", (values, share, expected) => {
    expect(quantile(Float64Array.from(values), share)).toBeCloseTo(expected, 12);
  });

  it("of nothing is null", () => {
    expect(quantile(new Float64Array(0), 0.5)).toBeNull();
    const nothing = sortWeighted(new Float64Array(0), new Float64Array(0));
    expect(weightedQuantile(nothing, 0.5)).toBeNull();
  });

  it("agrees with the naive definition", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1000 })), shares, (values, share) => {
        const own = quantile(Float64Array.from(values).sort(), share);
        const naive = naiveQuantile(values, share);
        if (naive === null) expect(own).toBeNull();
        else expect(own).toBeCloseTo(naive, 9);
      }),
    );
  });
});

describe("weighted quantile", () => {
  it("interpolates between entries: 1, 1, 1, 5 has its p90 at 3.8", () => {
    const list = sortWeighted(Float64Array.of(5, 1), Float64Array.of(1, 3));
    expect(weightedQuantile(list, 0.9)).toBeCloseTo(3.8, 12);
    expect(weightedQuantile(list, 0.5)).toBe(1);
  });

  it("equals the quantile of the expanded list", () => {
    const entry = fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 9 }));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), shares, (entries, share) => {
        const list = sortWeighted(
          Float64Array.from(entries, ([value]) => value),
          Float64Array.from(entries, ([, weight]) => weight),
        );
        const expanded = entries.flatMap(([value, weight]) => Array<number>(weight).fill(value));
        const naive = naiveQuantile(expanded, share);
        const own = weightedQuantile(list, share);
        if (naive === null) expect(own).toBeNull();
        else expect(own).toBeCloseTo(naive, 9);
      }),
    );
  });

  it("is the same for any size of values and weights", () => {
    // Around what 41 and 12 bits hold, where values are sorted in another way.
    const value = fc.oneof(
      fc.integer({ min: 0, max: 100 }),
      fc.integer({ min: 2 ** 41 - 3, max: 2 ** 41 + 3 }),
      fc.constantFrom(0.5, 1.5, -1),
    );
    const weight = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 4090, max: 8200 }));
    const entry = fc.tuple(value, weight);
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5 }), shares, (entries, share) => {
        const list = sortWeighted(
          Float64Array.from(entries, ([own]) => own),
          Float64Array.from(entries, ([, own]) => own),
        );
        const expanded = entries.flatMap(([own, count]) => Array<number>(count).fill(own));
        expect(list.cumulative.at(-1) ?? 0).toBe(expanded.length);
        const naive = naiveQuantile(expanded, share);
        if (naive === null) expect(weightedQuantile(list, share)).toBeNull();
        else expect(weightedQuantile(list, share)).toBeCloseTo(naive, 2);
      }),
    );
  });
});
