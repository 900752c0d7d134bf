/**
 * Percentiles by linear interpolation between order statistics, plain and weighted.
 *
 * Called by statistics.ts for every distribution of the output. It knows nothing of requests. The
 * q-quantile of n values lies at rank q (n - 1), counted from zero (the field's usual definition:
 * type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996).
 *
 * Invariants: a weight of w is the same as w equal values; of nothing there is no quantile
 * (`null`).
 */

import { assert } from "../base/index.ts";

/** Values with whole multiplicities, ascending; `cumulative[i]` counts values up to and with i. */
export interface WeightedValues {
  /** (n) ascending */
  readonly values: Float64Array;
  /** (n) */
  readonly cumulative: Float64Array;
}

/** @param sorted ascending, no NaN. @returns `null` when it is empty. */
export function quantile(sorted: Float64Array, share: number): number | null {
  if (sorted.length === 0) return null;
  return interpolate(share, sorted.length, (rank) => sorted[rank]!);
}

/** Sorts a copy; entries of weight zero vanish. */
export function sortWeighted(values: Float64Array, weights: Float64Array): WeightedValues {
  assert(values.length === weights.length, "weighted values: columns of unequal length");
  const packed = packedInOrder(values, weights);
  return packed === null ? sortedByIndex(values, weights) : unpacked(packed);
}

/**
 * A value and its weight as one whole number, value first: such numbers sort natively, some five
 * times faster than indices with a comparison. 53 bits hold values up to 36 minutes and weights up
 * to 4,095; a greater weight becomes several entries.
 */
const WEIGHT_RANGE = 2 ** 12;
const PACKED_VALUE_MAX = 2 ** (53 - 12) - 1;

/** @returns `null` when a value is not a whole number in that range, or a weight none. */
function packedInOrder(values: Float64Array, weights: Float64Array): Float64Array | null {
  let packed = new Float64Array(values.length);
  let count = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index]!;
    if (!(value >= 0 && value <= PACKED_VALUE_MAX && Number.isInteger(value))) return null;
    const weight = weights[index]!;
    if (!Number.isInteger(weight)) return null;
    for (let left = weight; left > 0; left -= WEIGHT_RANGE - 1) {
      if (count === packed.length) packed = grown(packed);
      packed[count++] = value * WEIGHT_RANGE + Math.min(left, WEIGHT_RANGE - 1);
    }
  }
  return packed.subarray(0, count).sort();
}

function grown(column: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(column.length * 2 + 1);
  larger.set(column);
  return larger;
}

/** @param packed is overwritten by the values. */
function unpacked(packed: Float64Array): WeightedValues {
  const cumulative = new Float64Array(packed.length);
  let total = 0;
  for (let index = 0; index < packed.length; index++) {
    const both = packed[index]!;
    const value = Math.floor(both / WEIGHT_RANGE);
    total += both - value * WEIGHT_RANGE;
    packed[index] = value;
    cumulative[index] = total;
  }
  return { values: packed, cumulative };
}

/** The same for values of any kind. */
function sortedByIndex(values: Float64Array, weights: Float64Array): WeightedValues {
  const order = new Uint32Array(values.length);
  let kept = 0;
  for (let index = 0; index < values.length; index++) {
    if (weights[index]! > 0) order[kept++] = index;
  }
  const sortedOrder = order.subarray(0, kept).sort((left, right) => values[left]! - values[right]!);
  const sorted = new Float64Array(kept);
  const cumulative = new Float64Array(kept);
  let total = 0;
  for (let index = 0; index < kept; index++) {
    const source = sortedOrder[index]!;
    sorted[index] = values[source]!;
    total += weights[source]!;
    cumulative[index] = total;
  }
  return { values: sorted, cumulative };
}

/** The quantile of the expanded list, without expanding it. @returns `null` when it is empty. */
export function weightedQuantile(list: WeightedValues, share: number): number | null {
  const size = list.cumulative.length;
  if (size === 0) return null;
  const total = list.cumulative[size - 1]!;
  return interpolate(share, total, (rank) => list.values[entryOfRank(list.cumulative, rank)]!);
}

function interpolate(share: number, count: number, at: (rank: number) => number): number {
  const position = share * (count - 1);
  const rank = Math.floor(position);
  const lower = at(rank);
  const part = position - rank;
  return part === 0 ? lower : lower + (at(rank + 1) - lower) * part;
}

/** The first entry whose cumulative count exceeds the zero-based `rank`. */
function entryOfRank(cumulative: Float64Array, rank: number): number {
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cumulative[middle]! > rank) high = middle;
    else low = middle + 1;
  }
  return low;
}
