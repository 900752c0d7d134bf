/**
 * What happened to requests, as numbers: the definitions that every published figure depends on.
 *
 * Called by summary.ts with one engine's records, a group's or all. It knows nothing of systems,
 * seeds or ratios. Definitions:
 *   TTFT = first token - arrival; latency = last token - arrival;
 *   TPOT = (last - first) / (output tokens - 1), none for requests of one output token;
 *   goodput = requests a second that finished inside the window and met the SLO; one output token
 *   needs to meet TTFT only.
 *
 * Invariants: a failed request is counted and in no statistic; a statistic of nothing is `null`.
 */

import { assert, NS_PER_SECOND } from "../base/index.ts";
import type { Slo } from "../scenario/index.ts";
import { quantile, sortWeighted, weightedQuantile } from "./quantiles.ts";
import type { FailureReason, GapLog, RequestLog, Window } from "./simulation.ts";

/** A distribution in seconds. */
export interface Distribution {
  readonly mean: number | null;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface RequestCounts {
  readonly arrived: number;
  readonly finished: number;
  readonly failed: number;
  readonly failures: Readonly<Record<FailureReason, number>>;
}

/** Sorted columns of the finished requests, nanoseconds. */
export interface RequestTimes {
  readonly ttftNs: Float64Array;
  readonly tpotNs: Float64Array;
  readonly latencyNs: Float64Array;
}

/** Pools the requests of several engines. */
export function requestTimes(logs: readonly RequestLog[]): RequestTimes {
  const ttft: number[] = [];
  const tpot: number[] = [];
  const latency: number[] = [];
  for (const log of logs) {
    for (let row = 0; row < log.count; row++) {
      if (!isFinished(log, row)) continue;
      ttft.push(log.firstTokenNs[row]! - log.arrivalNs[row]!);
      latency.push(log.lastTokenNs[row]! - log.arrivalNs[row]!);
      const tpotNs = tpotOf(log, row);
      if (tpotNs !== null) tpot.push(tpotNs);
    }
  }
  return {
    ttftNs: Float64Array.from(ttft).sort(),
    tpotNs: Float64Array.from(tpot).sort(),
    latencyNs: Float64Array.from(latency).sort(),
  };
}

/** @param sortedNs ascending nanoseconds. */
export function distribution(sortedNs: Float64Array): Distribution {
  let sum = 0;
  for (const value of sortedNs) sum += value;
  const mean = sortedNs.length === 0 ? null : sum / sortedNs.length / NS_PER_SECOND;
  return withQuantiles(mean, (share) => quantile(sortedNs, share));
}

/** Inter-token latency: pools the gaps of several engines, each with its multiplicity. */
export function gapDistribution(logs: readonly GapLog[]): Distribution {
  const count = logs.reduce((sum, log) => sum + log.count, 0);
  const gapNs = new Float64Array(count);
  const weight = new Float64Array(count);
  let offset = 0;
  for (const log of logs) {
    gapNs.set(log.gapNs.subarray(0, log.count), offset);
    weight.set(log.weight.subarray(0, log.count), offset);
    offset += log.count;
  }
  let sum = 0;
  let total = 0;
  for (let index = 0; index < count; index++) {
    sum += gapNs[index]! * weight[index]!;
    total += weight[index]!;
  }
  const list = sortWeighted(gapNs, weight);
  const mean = total === 0 ? null : sum / total / NS_PER_SECOND;
  return withQuantiles(mean, (share) => weightedQuantile(list, share));
}

export function countRequests(logs: readonly RequestLog[]): RequestCounts {
  const failures: Record<FailureReason, number> = {
    "beyond-context": 0,
    "larger-than-memory": 0,
    timeout: 0,
    "engine-lost": 0,
  };
  let arrived = 0;
  let finished = 0;
  let failed = 0;
  for (const log of logs) {
    arrived += log.count;
    for (let row = 0; row < log.count; row++) {
      const failure = log.failure[row] ?? null;
      if (failure !== null) {
        failures[failure]++;
        failed++;
      } else if (isFinished(log, row)) finished++;
    }
  }
  assert(
    arrived === finished + failed,
    `statistics: ${arrived} requests arrived, ${finished} finished and ${failed} failed`,
  );
  return { arrived, finished, failed, failures };
}

/** Requests a second that finished inside the window: all of them, and those that met the SLO. */
export interface FinishRates {
  readonly finished: number | null;
  readonly good: number | null;
}

export function finishRates(logs: readonly RequestLog[], window: Window, slo: Slo): FinishRates {
  let finished = 0;
  let good = 0;
  for (const log of logs) {
    for (let row = 0; row < log.count; row++) {
      const lastNs = log.lastTokenNs[row]!;
      const isInside = lastNs >= window.startNs && lastNs < window.endNs;
      if (!isInside || !isFinished(log, row)) continue;
      finished++;
      if (meetsSlo(log, row, slo)) good++;
    }
  }
  return { finished: perSecond(finished, window), good: perSecond(good, window) };
}

/** @returns `null` for a window without length. */
export function perSecond(amount: number, window: Window): number | null {
  const spanNs = window.endNs - window.startNs;
  return spanNs > 0 ? (amount * NS_PER_SECOND) / spanNs : null;
}

function meetsSlo(log: RequestLog, row: number, slo: Slo): boolean {
  const ttftNs = log.firstTokenNs[row]! - log.arrivalNs[row]!;
  if (ttftNs > slo.ttftSeconds * NS_PER_SECOND) return false;
  const tpotNs = tpotOf(log, row);
  return tpotNs === null || tpotNs <= slo.tpotSeconds * NS_PER_SECOND;
}

function isFinished(log: RequestLog, row: number): boolean {
  return (log.failure[row] ?? null) === null && !Number.isNaN(log.lastTokenNs[row]!);
}

/** @returns `null` when the request has one output token and so no gap. */
function tpotOf(log: RequestLog, row: number): number | null {
  const gaps = log.outputTokens[row]! - 1;
  return gaps > 0 ? (log.lastTokenNs[row]! - log.firstTokenNs[row]!) / gaps : null;
}

function withQuantiles(
  mean: number | null,
  quantileNs: (share: number) => number | null,
): Distribution {
  const seconds = (share: number): number | null => {
    const valueNs = quantileNs(share);
    return valueNs === null ? null : valueNs / NS_PER_SECOND;
  };
  return { mean, p50: seconds(0.5), p90: seconds(0.9), p95: seconds(0.95), p99: seconds(0.99) };
}
