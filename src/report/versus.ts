/**
 * Ratios to `static` and the seven figures they are of.
 *
 * Called by compare.ts seed by seed, so that a ratio compares equal requests. It knows nothing of
 * which way is better: throughput and goodput are better when greater, times when smaller.
 *
 * Invariant: a ratio with a null or zero part is `null`.
 */

import type { EngineResult, Intervals, Ratios } from "./compare-schema.ts";
import { meanInterval, meanOf } from "./seeds.ts";

const PICK = {
  throughput: (r: EngineResult) => r.outputTokensPerSecond,
  goodput: (r: EngineResult) => r.goodputRequestsPerSecond,
  ttftMean: (r: EngineResult) => r.ttftSeconds.mean,
  ttftP99: (r: EngineResult) => r.ttftSeconds.p99,
  tpotMean: (r: EngineResult) => r.tpotSeconds.mean,
  tpotP95: (r: EngineResult) => r.tpotSeconds.p95,
  tpotP99: (r: EngineResult) => r.tpotSeconds.p99,
} as const satisfies Record<keyof Ratios, (result: EngineResult) => number | null>;

type Figure = keyof typeof PICK;

export function ratio(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || part === 0 || whole === 0 ? null : part / whole;
}

/**
 * The mean over seeds of the ratios of equal seeds. @param own, reference parallel, one a seed.
 */
export function meanRatios(
  own: readonly EngineResult[],
  reference: readonly EngineResult[],
): Ratios {
  return byFigure((figure) => meanOf(pairedRatios(own, reference, figure)));
}

export function ratioIntervals(
  own: readonly EngineResult[],
  reference: readonly EngineResult[],
): Intervals {
  return byFigure((figure) => meanInterval(pairedRatios(own, reference, figure)));
}

/** Of the figures themselves: tokens a second, requests a second, seconds. */
export function figureIntervals(results: readonly EngineResult[]): Intervals {
  return byFigure((figure) => meanInterval(results.map((result) => PICK[figure](result))));
}

function pairedRatios(
  own: readonly EngineResult[],
  reference: readonly EngineResult[],
  figure: Figure,
): (number | null)[] {
  return own.map((result, seed) => ratio(PICK[figure](result), PICK[figure](reference[seed]!)));
}

function byFigure<T>(of: (figure: Figure) => T): Record<Figure, T> {
  return {
    throughput: of("throughput"),
    goodput: of("goodput"),
    ttftMean: of("ttftMean"),
    ttftP99: of("ttftP99"),
    tpotMean: of("tpotMean"),
    tpotP95: of("tpotP95"),
    tpotP99: of("tpotP99"),
  };
}
