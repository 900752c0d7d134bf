/**
 * Confidence intervals of a ratio between two runs of the same requests.
 *
 * Called by bounds.ts. A resample takes whole blocks of consecutive requests, the same ones of both
 * runs: requests that waited in one queue share its luck, so drawing them one by one would make
 * intervals too narrow (the moving-block bootstrap: Kuensch, "The Jackknife and the Bootstrap for
 * General Stationary Observations", 1989). Percentile intervals, seeded.
 *
 * Invariant: the same columns give the same interval.
 */

import { Prng } from "../../src/base/index.ts";

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** @returns a statistic of the requests in `rows`; rows may repeat. */
export type Statistic = (rows: Int32Array) => number;

export interface BootstrapOptions {
  readonly resamples: number;
  /** Share of the resamples inside the interval. */
  readonly confidence: number;
  readonly blockRequests: number;
  readonly seed: number;
}

export const BOOTSTRAP: BootstrapOptions = {
  resamples: 800,
  confidence: 0.99,
  blockRequests: 25,
  seed: 1,
};

/** @param rows of the requests that count, in the order of their arrival. */
export function bootstrap(
  rows: Int32Array,
  statistic: Statistic,
  options: BootstrapOptions = BOOTSTRAP,
): Interval {
  const prng = new Prng(options.seed, 7);
  const count = rows.length;
  const blockRows = Math.min(options.blockRequests, count);
  const drawn = new Int32Array(count);
  const values = new Float64Array(options.resamples);
  for (let resample = 0; resample < values.length; resample++) {
    for (let filled = 0; filled < count; filled += blockRows) {
      // Blocks wrap around, so that the first and the last requests are drawn as often as others.
      const start = prng.nextBelow(count);
      const end = Math.min(filled + blockRows, count);
      for (let at = filled; at < end; at++) drawn[at] = rows[(start + at - filled) % count]!;
    }
    values[resample] = statistic(drawn);
  }
  values.sort();
  const tail = (1 - options.confidence) / 2;
  return { low: quantileOf(values, tail), high: quantileOf(values, 1 - tail) };
}

/** Linear between order statistics; of values in ascending order. */
export function quantileOf(sorted: Float64Array, share: number): number {
  const position = share * (sorted.length - 1);
  const rank = Math.floor(position);
  const lower = sorted[rank]!;
  const part = position - rank;
  const upper = part === 0 ? lower : sorted[rank + 1]!;
  // Two infinities have no difference.
  return lower === upper ? lower : lower + (upper - lower) * part;
}
