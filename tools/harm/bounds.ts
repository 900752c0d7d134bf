/**
 * What lending may cost an engine, and whether a pair of runs shows that it cost more.
 *
 * Called by the sweep. Two roles, as an engine has them in the `ema` run:
 *
 *     never borrowed   throughput >= 0.99 x static, TPOT p95 <= 1.025 x static,
 *                      mean TTFT <= 1.025 x static on (1 - lenderShare) of the bandwidth
 *     borrowed         goodput (throughput where static has none) >= 0.99 x static,
 *                      TTFT p95 <= 1.025 x static, TPOT p95 <= max(its SLO, 1.025 x static)
 *
 * A bound on the ratio of what was seen to its reference. It is a violation when the whole 99 %
 * interval of the ratio lies beyond the bound.
 */

import { bootstrap, quantileOf, type Interval, type Statistic } from "./bootstrap.ts";
import type { EnginePair, RequestColumns } from "./paired-runs.ts";

export const BOUND_NAMES = ["throughput", "goodput", "ttft mean", "ttft p95", "tpot p95"] as const;
export type BoundName = (typeof BOUND_NAMES)[number];

export interface Judgement {
  readonly bound: BoundName;
  /** Seen over the reference; times per token over the SLO's 1.025th part where that is more. */
  readonly ratio: number;
  /** How far the ratio is beyond its bound: above 1 is too much. */
  readonly excess: number;
  /** 99 % interval of the ratio; `null` where the bound is kept. */
  readonly interval: Interval | null;
  readonly isViolation: boolean;
}

const RATE_LEAST = 0.99;
const TIME_MOST = 1.025;

/** Requests of an engine that a verdict needs. */
export const FINISHED_MIN = 1000;

/** @returns nothing for an engine with too few requests to say anything. */
export function judge(
  pair: EnginePair,
  tpotSloNs: number,
  finishedMin: number = FINISHED_MIN,
): Judgement[] {
  if (pair.finished < finishedMin) return [];
  const { ema, static: plain, slowed } = pair;
  if (!pair.hasBorrowed) {
    return [
      rate("throughput", ema.windowTokens, plain.windowTokens),
      time("ttft mean", ema.ttftNs, slowed.ttftNs, meanIn, 0),
      time("tpot p95", ema.tpotNs, plain.tpotNs, p95In, 0),
    ];
  }
  const good = sum(plain.isGood);
  return [
    good > 0
      ? rate("goodput", ema.isGood, plain.isGood)
      : rate("throughput", ema.windowTokens, plain.windowTokens),
    time("ttft p95", ema.ttftNs, plain.ttftNs, p95In, 0),
    time("tpot p95", ema.tpotNs, plain.tpotNs, p95In, tpotSloNs),
  ];
}

type Columns = RequestColumns[keyof RequestColumns];
type Summary = (column: Columns, rows: Int32Array) => number;

function rate(bound: BoundName, seen: Columns, reference: Columns): Judgement {
  const rows = Int32Array.from(seen.keys());
  const ratioIn: Statistic = (drawn) => {
    const expected = totalIn(reference, drawn);
    return expected === 0 ? Infinity : totalIn(seen, drawn) / expected;
  };
  const ratio = ratioIn(rows);
  if (ratio >= RATE_LEAST) return kept(bound, ratio, RATE_LEAST / ratio);
  const interval = bootstrap(rows, ratioIn);
  const isViolation = interval.high < RATE_LEAST;
  return { bound, ratio, excess: RATE_LEAST / ratio, interval, isViolation };
}

/** @param free what is allowed in any case, nanoseconds. */
function time(
  bound: BoundName,
  seen: Columns,
  reference: Columns,
  summary: Summary,
  free: number,
): Judgement {
  // A request that `static` fails too says nothing; one without gaps has no time per token.
  const rows = Int32Array.from(seen.keys()).filter(
    (row) => Number.isFinite(reference[row]!) && !Number.isNaN(seen[row]!),
  );
  const ratioIn: Statistic = (drawn) =>
    summary(seen, drawn) / Math.max(free / TIME_MOST, summary(reference, drawn));
  const ratio = rows.length === 0 ? 0 : ratioIn(rows);
  if (ratio <= TIME_MOST) return kept(bound, ratio, ratio / TIME_MOST);
  const interval = bootstrap(rows, ratioIn);
  const isViolation = interval.low > TIME_MOST;
  return { bound, ratio, excess: ratio / TIME_MOST, interval, isViolation };
}

/** Most pairs keep their bounds, and then how sure that is does not matter. */
function kept(bound: BoundName, ratio: number, excess: number): Judgement {
  return { bound, ratio, excess, interval: null, isViolation: false };
}

function totalIn(column: Columns, rows: Int32Array): number {
  let total = 0;
  for (const row of rows) total += column[row]!;
  return total;
}

function meanIn(column: Columns, rows: Int32Array): number {
  return totalIn(column, rows) / rows.length;
}

function p95In(column: Columns, rows: Int32Array): number {
  const sorted = new Float64Array(rows.length);
  for (let at = 0; at < rows.length; at++) sorted[at] = column[rows[at]!]!;
  return quantileOf(sorted.sort(), 0.95);
}

function sum(column: Columns): number {
  let total = 0;
  for (const value of column) total += value;
  return total;
}
