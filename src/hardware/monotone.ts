/**
 * Makes measured times rise: a larger piece of work never takes less time.
 *
 * Called when a cost model is built. Measured tables dip where another kernel is chosen or a wave
 * of thread blocks fills up; a planner that compares two batches must not see that. Isotonic
 * regression moves the points least (pool adjacent violators; in two dimensions Dykstra's
 * alternating projections, Dykstra 1983), on logarithms, so that it is relative error that is kept
 * small.
 *
 * Invariant: results are positive and non-decreasing along each axis.
 */

import { assert } from "../base/index.ts";

/** Alternations; the grids here are of a few hundred points and settle within ten. */
const ROUNDS = 40;

/** Replaces `values` (all positive) by the nearest non-decreasing sequence. */
export function makeRising(values: Float64Array): void {
  const weights = new Float64Array(values.length).fill(1);
  inLogarithms(values, () => poolViolators(values, weights, 0, 1, values.length));
}

/**
 * Replaces `values` (rows, columns), row-major and all positive, by a grid that rises along both.
 *
 * @param weights (rows, columns), positive; a point of little weight gives way to the others.
 */
export function makeGridRising(values: Float64Array, weights: Float64Array, columns: number): void {
  const rows = values.length / columns;
  assert(Number.isInteger(rows), () => `grid of ${values.length} values, ${columns} columns`);
  inLogarithms(values, () => {
    const rowDebt = new Float64Array(values.length);
    const columnDebt = new Float64Array(values.length);
    const before = new Float64Array(values.length);
    for (let round = 0; round < ROUNDS; round++) {
      projectWith(values, rowDebt, before, () => {
        for (let row = 0; row < rows; row++) {
          poolViolators(values, weights, row * columns, 1, columns);
        }
      });
      projectWith(values, columnDebt, before, () => {
        for (let column = 0; column < columns; column++) {
          poolViolators(values, weights, column, columns, rows);
        }
      });
    }
    // What forty rounds leave, about a millionth, goes by running maxima, which keep both orders.
    for (let row = 0; row < rows; row++) runningMax(values, row * columns, 1, columns);
    for (let column = 0; column < columns; column++) runningMax(values, column, columns, rows);
  });
}

function inLogarithms(values: Float64Array, body: () => void): void {
  for (let index = 0; index < values.length; index++) {
    assert(values[index]! > 0, () => `a time of ${values[index]} ns cannot be made rising`);
    values[index] = Math.log(values[index]!);
  }
  body();
  for (let index = 0; index < values.length; index++) values[index] = Math.exp(values[index]!);
}

/** One of Dykstra's projections: `debt` is what this constraint took away the last time. */
function projectWith(
  values: Float64Array,
  debt: Float64Array,
  before: Float64Array,
  project: () => void,
): void {
  for (let index = 0; index < values.length; index++) {
    values[index] = values[index]! + debt[index]!;
    before[index] = values[index]!;
  }
  project();
  for (let index = 0; index < values.length; index++) {
    debt[index] = before[index]! - values[index]!;
  }
}

/** Weighted isotonic regression of `count` points from `start` on, `stride` apart. */
function poolViolators(
  values: Float64Array,
  weights: Float64Array,
  start: number,
  stride: number,
  count: number,
): void {
  const mean = new Float64Array(count);
  const weight = new Float64Array(count);
  const length = new Int32Array(count);
  let pools = 0;
  for (let index = 0; index < count; index++) {
    mean[pools] = values[start + index * stride]!;
    weight[pools] = weights[start + index * stride]!;
    length[pools] = 1;
    while (pools > 0 && mean[pools - 1]! > mean[pools]!) {
      const total = weight[pools - 1]! + weight[pools]!;
      mean[pools - 1] =
        (mean[pools - 1]! * weight[pools - 1]! + mean[pools]! * weight[pools]!) / total;
      weight[pools - 1] = total;
      length[pools - 1] = length[pools - 1]! + length[pools]!;
      pools--;
    }
    pools++;
  }
  let index = 0;
  for (let pool = 0; pool < pools; pool++) {
    for (let member = 0; member < length[pool]!; member++) {
      values[start + index++ * stride] = mean[pool]!;
    }
  }
}

function runningMax(values: Float64Array, start: number, stride: number, count: number): void {
  for (let index = 1; index < count; index++) {
    const at = start + index * stride;
    values[at] = Math.max(values[at]!, values[at - stride]!);
  }
}
