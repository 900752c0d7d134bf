/**
 * One engine's run, or several engines' pooled, in the form of the output (R of the contract).
 *
 * Called by system-result.ts for each engine, for all of them (`total`) and for groups of the
 * table. It knows one seed and no other system. Pooled means: requests and gaps are put together
 * before any percentile; counts, bytes and times are summed; shares are of the summed times.
 *
 * Invariant: one engine alone is measured in its own window, several in the scenario's.
 */

import { NS_PER_SECOND } from "../base/index.ts";
import type { Slo } from "../scenario/index.ts";
import type { EngineResult } from "./compare-schema.ts";
import type { EngineRecord, MemorySample, Window } from "./simulation.ts";
import {
  countRequests,
  distribution,
  finishRates,
  gapDistribution,
  perSecond,
  requestTimes,
} from "./statistics.ts";

/** R, and what the verdict needs beyond it. */
export interface EngineSummary {
  readonly result: EngineResult;
  /** Requests a second that finished inside the window, whether they met the SLO or not. */
  readonly finishedPerSecond: number | null;
  /** Share of the window in which steps ran; of several engines the mean. */
  readonly runningShare: number;
}

export function summarizeEngine(engine: EngineRecord, slo: Slo): EngineSummary {
  const maxima = { borrowed: engine.borrowed.maxBytes, lent: engine.lent.maxBytes };
  const { window, outputTokensInWindow } = engine;
  const distributions = distributionsOf([engine]);
  return summarize([engine], window, outputTokensInWindow, maxima, distributions, slo);
}

/**
 * @param samples parallel to `engines`: where the largest sum of bytes at one time is read from.
 * @param known the same engines' distributions, where they were worked out before.
 */
export function summarizeTogether(
  engines: readonly EngineRecord[],
  samples: readonly (readonly MemorySample[])[],
  window: Window,
  slo: Slo,
  known: Distributions | null = null,
): EngineSummary {
  const tokens = sumOf(engines, (engine) => engine.outputTokensInTotalWindow);
  const maxima = {
    borrowed: largestTogether(samples, (sample) => sample.borrowedBytes),
    lent: largestTogether(samples, (sample) => sample.lentBytes),
  };
  for (const engine of engines) {
    // Samples are thinner than the gauges: the sum is never less than one engine's own largest.
    maxima.borrowed = Math.max(maxima.borrowed, engine.borrowed.maxBytes);
    maxima.lent = Math.max(maxima.lent, engine.lent.maxBytes);
  }
  return summarize(engines, window, tokens, maxima, known ?? distributionsOf(engines), slo);
}

function summarize(
  engines: readonly EngineRecord[],
  window: Window,
  outputTokens: number,
  maxima: { readonly borrowed: number; readonly lent: number },
  distributions: Distributions,
  slo: Slo,
): EngineSummary {
  const logs = engines.map((engine) => engine.requests);
  const rates = finishRates(logs, window, slo);
  const sum = (pick: (engine: EngineRecord) => number): number => sumOf(engines, pick);
  const stepNs = sum((engine) => engine.stepNs);
  const stallNs = sum((engine) => engine.stallNs);
  const remoteReadNs = sum((engine) => engine.remoteReadNs);
  const result: EngineResult = {
    requests: countRequests(logs),
    outputTokensPerSecond: perSecond(outputTokens, window),
    goodputRequestsPerSecond: rates.good,
    ttftSeconds: distributions.ttftSeconds,
    tpotSeconds: distributions.tpotSeconds,
    itlSeconds: distributions.itlSeconds,
    latencySeconds: distributions.latencySeconds,
    preemptions: sum((engine) => engine.preemptions),
    recomputedTokens: sum((engine) => engine.recomputedTokens),
    prefixHitTokens: sum((engine) => engine.prefixHitTokens),
    ghostHitTokens: sum((engine) => engine.ghostHitTokens),
    rotations: sum((engine) => engine.rotations),
    parked: sum((engine) => engine.parked),
    kvTokensCapacity: sum((engine) => engine.kvTokensCapacity),
    borrowedBytes: { mean: sum((engine) => engine.borrowed.meanBytes), max: maxima.borrowed },
    lentBytes: { mean: sum((engine) => engine.lent.meanBytes), max: maxima.lent },
    hiddenShare: remoteReadNs > 0 ? 1 - stallNs / remoteReadNs : null,
    remoteSlowdown: excess(stepNs, sum((engine) => engine.stepLocalNs)),
    stallSeconds: stallNs / NS_PER_SECOND,
    prefetch: {
      hit: sum((engine) => engine.prefetchHit),
      late: sum((engine) => engine.prefetchLate),
      miss: sum((engine) => engine.prefetchMiss),
      wastedBytes: sum((engine) => engine.prefetchWastedBytes),
    },
    slowdownAsLender: excess(stepNs, sum((engine) => engine.stepUnlentNs)),
    refusals: refusalsOf(engines),
  };
  const runningShare = engines.length === 0 ? 0 : sum((e) => e.runningShare) / engines.length;
  return { result, finishedPerSecond: rates.finished, runningShare };
}

/** Of all finished requests: no window cuts them, so an engine's own are those of it alone. */
type Distributions = Pick<
  EngineResult,
  "ttftSeconds" | "tpotSeconds" | "itlSeconds" | "latencySeconds"
>;

function distributionsOf(engines: readonly EngineRecord[]): Distributions {
  const times = requestTimes(engines.map((engine) => engine.requests));
  return {
    ttftSeconds: distribution(times.ttftNs),
    tpotSeconds: distribution(times.tpotNs),
    itlSeconds: gapDistribution(engines.map((engine) => engine.gaps)),
    latencySeconds: distribution(times.latencyNs),
  };
}

function refusalsOf(engines: readonly EngineRecord[]): EngineResult["refusals"] {
  const count = (reason: keyof EngineResult["refusals"]): number =>
    sumOf(engines, (engine) => engine.refusals[reason]);
  return {
    "no-idle-memory": count("no-idle-memory"),
    limit: count("limit"),
    account: count("account"),
    role: count("role"),
    link: count("link"),
    "lender-share": count("lender-share"),
    "does-not-pay": count("does-not-pay"),
    slo: count("slo"),
  };
}

/** How much longer than it might have been, as a share; `null` without any steps. */
function excess(actualNs: number, idealNs: number): number | null {
  return actualNs > 0 && idealNs > 0 ? actualNs / idealNs - 1 : null;
}

/** The largest sum over engines at one time, each engine's gauge holding until its next sample. */
function largestTogether(
  samples: readonly (readonly MemorySample[])[],
  pick: (sample: MemorySample) => number,
): number {
  const next = samples.map(() => 0);
  const current = samples.map(() => 0);
  let largest = 0;
  for (;;) {
    let timeNs = Infinity;
    for (const [index, column] of samples.entries()) {
      timeNs = Math.min(timeNs, column[next[index]!]?.timeNs ?? Infinity);
    }
    if (timeNs === Infinity) return largest;
    for (const [index, column] of samples.entries()) {
      while ((column[next[index]!]?.timeNs ?? Infinity) <= timeNs) {
        current[index] = pick(column[next[index]!]!);
        next[index]!++;
      }
    }
    largest = Math.max(
      largest,
      current.reduce((sum, bytes) => sum + bytes, 0),
    );
  }
}

function sumOf<T>(items: readonly T[], pick: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += pick(item);
  return sum;
}
