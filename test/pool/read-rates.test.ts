/** What a lender's port leaves to each of those who read there. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { engineId } from "../../src/base/index.ts";
import { ReadRates } from "../../src/pool/read-rates.ts";

const [A, B, C] = [engineId(0), engineId(1), engineId(2)];

/** Everybody reads A at 80 bytes/s, but for C's slower path. */
function ratesOfA(): ReadRates {
  return new ReadRates(3, Float64Array.of(0, 80, 30, 80, 0, 80, 80, 80, 0));
}

it("leaves a lone reader the whole path", () => {
  const rates = ratesOfA();
  rates.report(A, B, 80);
  expect(rates.readable(A, B)).toBe(80);
  expect(rates.readable(A, C)).toBe(30);
});

it("leaves the rest of the port to others, and at least half of it", () => {
  const rates = ratesOfA();
  rates.report(A, C, 20);
  expect(rates.readable(A, B)).toBe(60);
  rates.report(A, C, 30);
  rates.report(A, B, 70);
  expect(rates.readable(A, B)).toBe(50);
  // Half the port is 40, more than C's path.
  expect(rates.readable(A, C)).toBe(30);
});

it("counts others in eighths of the port: a little reading keeps equal lenders equal", () => {
  const rates = ratesOfA();
  rates.report(A, C, 4);
  expect(rates.readable(A, B)).toBe(80);
  rates.report(A, C, 6);
  expect(rates.readable(A, B)).toBe(70);
});

it("is what it was when a reader has gone, whatever came between", () => {
  const report = fc.tuple(fc.constantFrom(B, C), fc.integer({ min: 0, max: 80 }));
  fc.assert(
    fc.property(fc.array(report), (reports) => {
      const rates = ratesOfA();
      for (const [borrower, bytesPerSecond] of reports) rates.report(A, borrower, bytesPerSecond);
      rates.check();
      rates.report(A, B, 0);
      rates.report(A, C, 0);
      expect([rates.readable(A, B), rates.readable(A, C)]).toEqual([80, 30]);
    }),
  );
});
