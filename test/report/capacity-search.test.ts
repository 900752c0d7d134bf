/** searchHighest: bracketing, bisection, and what stays true when answers are noisy. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { searchHighest, type SearchResult } from "../../src/report/capacity-search.ts";

const TOLERANCE = 0.02;

function search(
  startRate: number,
  holds: (rate: number) => boolean,
): { result: SearchResult<number>; asked: Map<number, boolean> } {
  const asked = new Map<number, boolean>();
  const result = searchHighest<number>({
    startRate,
    tolerance: TOLERANCE,
    probe: (rate) => {
      const answer = holds(rate);
      asked.set(rate, answer);
      return { holds: answer, detail: rate * 10 };
    },
  });
  return { result, asked };
}

describe("a limit", () => {
  it("is found from below to within the tolerance, from any start near it", () => {
    const limits = fc.double({ min: 0.01, max: 1e5, noNaN: true });
    const factors = fc.double({ min: 1 / 200, max: 200, noNaN: true });
    fc.assert(
      fc.property(limits, factors, (limit, factor) => {
        const { result } = search(limit * factor, (rate) => rate <= limit);
        expect(result.highest!.rate).toBeLessThanOrEqual(limit);
        expect(result.beyond!.rate).toBeGreaterThan(limit);
        expect(result.beyond!.rate / result.highest!.rate).toBeLessThanOrEqual(1 + TOLERANCE);
        expect(result.probes).toBeLessThanOrEqual(11 + 7);
      }),
    );
  });

  it("takes eight probes when the start is within a factor of two below it", () => {
    const { result } = search(1, (rate) => rate <= 1.5);
    expect(result.probes).toBe(8);
    expect(result.highest!.detail).toBe(result.highest!.rate * 10);
  });

  it("has four digits, so that it can be typed", () => {
    const { asked } = search(1 / 3, (rate) => rate <= 0.777777);
    for (const rate of asked.keys()) expect(Number(rate.toPrecision(4))).toBe(rate);
  });
});

describe("without a limit in reach", () => {
  it("all rates hold, up to ten doublings", () => {
    const { result } = search(1, () => true);
    expect(result).toMatchObject({ highest: { rate: 1024 }, beyond: null, probes: 11 });
  });

  it("none holds, down to ten halvings", () => {
    const { result } = search(1024, () => false);
    expect(result).toMatchObject({ highest: null, beyond: { rate: 1 }, probes: 11 });
  });
});

describe("noise", () => {
  it("leaves a rate that held beside one that did not, and ends", () => {
    const answers = fc.infiniteStream(fc.boolean());
    fc.assert(
      fc.property(answers, (stream) => {
        const { result, asked } = search(1, () => stream.next().value as boolean);
        expect(result.probes).toBeLessThanOrEqual(11 + 7);
        const { highest, beyond } = result;
        if (highest !== null) expect(asked.get(highest.rate)).toBe(true);
        if (beyond !== null) expect(asked.get(beyond.rate)).toBe(false);
        if (highest === null || beyond === null) return;
        expect(beyond.rate).toBeGreaterThan(highest.rate);
        expect(beyond.rate / highest.rate).toBeLessThanOrEqual(1 + TOLERANCE);
      }),
    );
  });
});
