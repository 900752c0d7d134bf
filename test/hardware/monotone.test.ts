/** Rising sequences and grids: what is already rising stays, the rest moves least. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeGridRising, makeRising } from "../../src/hardware/monotone.ts";

const positive = fc.double({ min: 0.1, max: 1e6, noNaN: true });

describe("a sequence", () => {
  it("gets the geometric mean where it falls", () => {
    const values = Float64Array.of(1, 8, 2, 20);
    makeRising(values);
    expect([...values].map((value) => Number(value.toFixed(9)))).toEqual([1, 4, 4, 20]);
  });

  it("rises and stays within its bounds, whatever it was", () => {
    fc.assert(
      fc.property(fc.array(positive, { minLength: 1, maxLength: 30 }), (raw) => {
        const values = Float64Array.from(raw);
        makeRising(values);
        for (let index = 1; index < values.length; index++) {
          expect(values[index]!).toBeGreaterThanOrEqual(values[index - 1]!);
        }
        expect(values[0]!).toBeGreaterThanOrEqual(Math.min(...raw) * (1 - 1e-12));
        expect(values.at(-1)!).toBeLessThanOrEqual(Math.max(...raw) * (1 + 1e-12));
      }),
    );
  });

  it("of times that are not positive is a bug", () => {
    expect(() => makeRising(Float64Array.of(1, 0))).toThrow(/0 ns/);
  });
});

describe("a grid", () => {
  const grid = fc
    .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }))
    .chain(([rows, columns]) =>
      fc.record({
        columns: fc.constant(columns),
        raw: fc.array(positive, { minLength: rows * columns, maxLength: rows * columns }),
      }),
    );

  it("rises along both axes, whatever it was", () => {
    fc.assert(
      fc.property(grid, ({ columns, raw }) => {
        const values = Float64Array.from(raw);
        makeGridRising(values, new Float64Array(raw.length).fill(1), columns);
        for (let index = 0; index < values.length; index++) {
          const left = index % columns > 0 ? values[index - 1]! : 0;
          const above = index >= columns ? values[index - columns]! : 0;
          expect(values[index]!).toBeGreaterThanOrEqual(Math.max(left, above));
        }
      }),
    );
  });

  it("that rises already stays as it is", () => {
    const values = Float64Array.of(1, 2, 3, 2, 4, 6);
    makeGridRising(values, new Float64Array(6).fill(1), 3);
    [1, 2, 3, 2, 4, 6].forEach((value, index) => expect(values[index]).toBeCloseTo(value, 9));
  });

  it("moves points of little weight, not the others", () => {
    const values = Float64Array.of(100, 1, 2, 3);
    makeGridRising(values, Float64Array.of(1e-6, 1, 1, 1), 2);
    expect(values[0]).toBeLessThan(1.01);
    expect(values[1]).toBeCloseTo(1, 2);
    expect(values[3]).toBeCloseTo(3, 6);
  });
});
