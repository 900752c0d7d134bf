// Floats that tests draw, cut and compare.

import { expect } from "vitest";

/** Largest difference from float64, as a share of the largest element of the result. */
const ERROR_MAX = 1e-5;

/** Numbers between -span and span that depend on the key alone. */
export function draw(count: number, key: number, span = 1): Float32Array {
  let state = (key * 2_654_435_761 + 12_345) >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return span * (state / 2 ** 31 - 1);
  });
}

export function drawKv(
  positions: number,
  { kvHeads, headDim }: { kvHeads: number; headDim: number },
  key: number,
): [Float32Array, Float32Array] {
  const count = positions * kvHeads * headDim;
  return [draw(count, key, 3), draw(count, key + 1)];
}

export function slice(values: Float32Array, row: number, columns: number): Float32Array {
  return values.slice(row * columns, (row + 1) * columns);
}

export function expectSame(found: Float32Array, expected: Float32Array): void {
  expect(new Uint32Array(found.slice().buffer)).toEqual(new Uint32Array(expected.slice().buffer));
}

export function expectClose(found: Float32Array, expected: readonly number[]): void {
  const largest = Math.max(...expected.map(Math.abs));
  expect(found.length).toBe(expected.length);
  found.forEach((value, index) => {
    const error = Math.abs(value - expected[index]!);
    // NaN is not within any bound.
    if (!(error <= ERROR_MAX * largest)) expect([index, value]).toEqual([index, expected[index]]);
  });
}
