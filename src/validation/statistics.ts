/**
 * The twelve statistics of two runs of the same requests, side by side.
 *
 * Called by validate.ts. TTFT and latency run from when the engine took the request in; percentiles
 * interpolate linearly between order statistics; requests with one output token have no TPOT.
 * A request that failed in the simulation is in neither side's statistics.
 *
 * Invariant: no NaN; a statistic of nothing, and its error, is `null`.
 */

import type { RealLog } from "./request-log.ts";

const MEASURES = ["ttft", "tpot", "latency"] as const;
const PARTS = ["Mean", "P50", "P90", "P99"] as const;

export type StatisticName = `${(typeof MEASURES)[number]}${(typeof PARTS)[number]}`;

/** In seconds. */
export interface Statistic {
  readonly real: number | null;
  readonly simulated: number | null;
  /** (simulated / real - 1) * 100. */
  readonly errorPercent: number | null;
}

export interface Validation {
  readonly statistics: Readonly<Record<StatisticName, Statistic>>;
  readonly requests: number;
  readonly assumed: Readonly<Record<string, string | number | boolean>>;
}

/** When a request was taken in and got its tokens; NaN for one that failed. */
export interface RequestTimes {
  readonly queuedNs: Float64Array;
  readonly firstTokenNs: Float64Array;
  readonly lastTokenNs: Float64Array;
}

export function compareRuns(real: RealLog, simulated: RequestTimes): Validation["statistics"] {
  const isCounted = Array.from(simulated.lastTokenNs, (ns) => !Number.isNaN(ns));
  const realSamples = samplesOf(real, real.outputTokens, isCounted);
  const simulatedSamples = samplesOf(simulated, real.outputTokens, isCounted);
  const statistics: Partial<Record<StatisticName, Statistic>> = {};
  for (const measure of MEASURES) {
    for (const part of PARTS) {
      const one = statistic(realSamples[measure], part);
      const other = statistic(simulatedSamples[measure], part);
      const isRatio = one !== null && other !== null && one > 0;
      const errorPercent = isRatio ? (other / one - 1) * 100 : null;
      statistics[`${measure}${part}`] = { real: one, simulated: other, errorPercent };
    }
  }
  return statistics as Record<StatisticName, Statistic>;
}

function samplesOf(
  times: RequestTimes,
  outputTokens: Int32Array,
  isCounted: readonly boolean[],
): Record<(typeof MEASURES)[number], number[]> {
  const ttft: number[] = [];
  const tpot: number[] = [];
  const latency: number[] = [];
  outputTokens.forEach((output, request) => {
    if (!isCounted[request]) return;
    const queued = times.queuedNs[request]!;
    const first = times.firstTokenNs[request]!;
    const last = times.lastTokenNs[request]!;
    ttft.push((first - queued) / 1e9);
    latency.push((last - queued) / 1e9);
    if (output > 1) tpot.push((last - first) / (output - 1) / 1e9);
  });
  for (const list of [ttft, tpot, latency]) list.sort((one, other) => one - other);
  return { ttft, tpot, latency };
}

function statistic(sorted: readonly number[], part: (typeof PARTS)[number]): number | null {
  if (sorted.length === 0) return null;
  if (part === "Mean") return sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const position = (Number(part.slice(1)) / 100) * (sorted.length - 1);
  const low = sorted[Math.floor(position)]!;
  const high = sorted[Math.ceil(position)]!;
  return low + (high - low) * (position - Math.floor(position));
}
