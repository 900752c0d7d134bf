/**
 * The highest rate at which something still holds, found by asking.
 *
 * Called by capacity.ts once per system. It knows neither requests nor objectives: a probe says
 * whether a rate holds. The rate is doubled or halved until one that holds and one that does not
 * are known, then the gap between them is halved on a logarithmic scale.
 *
 * Invariants: the rate found was itself probed and held, the one beside it was probed and did not;
 * with answers that are not monotone both stay true, though another rate may hold further up. The
 * number of probes is bounded, and rates have four digits, so that anyone can type them.
 */

import { assert } from "../base/index.ts";

/** Ten times double or half: a start that is off by more is a wrong start. */
const BRACKET_STEPS_MAX = 10;
/** Enough for a factor of two down to 2 %, and for tolerances far below. */
const BISECTIONS_MAX = 16;
const RATE_DIGITS = 4;

/** What a probe said of one rate. */
export interface Probed<T> {
  readonly rate: number;
  readonly holds: boolean;
  readonly detail: T;
}

export interface SearchResult<T> {
  /** `null`: none of the rates tried holds. */
  readonly highest: Probed<T> | null;
  /** The lowest rate known not to hold above `highest`; `null`: all rates tried hold. */
  readonly beyond: Probed<T> | null;
  readonly probes: number;
}

export interface SearchOptions<T> {
  /** Above 0: where to begin; the nearer to the answer, the fewer probes. */
  readonly startRate: number;
  /** Relative: 0.02 ends when a rate that is 2 % higher is known not to hold. */
  readonly tolerance: number;
  /** @param doneShare a guess at how much of the search is behind, [0, 1). */
  probe(rate: number, doneShare: number): { readonly holds: boolean; readonly detail: T };
}

export function searchHighest<T>(options: SearchOptions<T>): SearchResult<T> {
  const { startRate, tolerance } = options;
  assert(startRate > 0 && Number.isFinite(startRate), `search: start at ${startRate}`);
  assert(tolerance > 10 ** (1 - RATE_DIGITS), `search: tolerance ${tolerance} below the digits`);
  let probes = 0;
  const ask = (wanted: number, stepsLeft: number): Probed<T> => {
    const rate = roundRate(wanted);
    const answer = options.probe(rate, probes / (probes + stepsLeft));
    probes++;
    return { rate, holds: answer.holds, detail: answer.detail };
  };
  const bisections = Math.ceil(Math.log2(Math.log(2) / Math.log(1 + tolerance)));
  let highest: Probed<T> | null = null;
  let beyond: Probed<T> | null = null;
  let next = startRate;
  for (let step = 0; step <= BRACKET_STEPS_MAX; step++) {
    const probed = ask(next, bisections + 1);
    if (probed.holds) highest = probed;
    else beyond = probed;
    if (highest !== null && beyond !== null) break;
    next = probed.holds ? probed.rate * 2 : probed.rate / 2;
  }
  if (highest === null || beyond === null) return { highest, beyond, probes };
  for (let step = 0; step < BISECTIONS_MAX; step++) {
    if (beyond.rate <= highest.rate * (1 + tolerance)) break;
    const middle = Math.sqrt(highest.rate * beyond.rate);
    const probed = ask(middle, stepsTo(beyond.rate / highest.rate, tolerance));
    if (probed.holds) highest = probed;
    else beyond = probed;
  }
  return { highest, beyond, probes };
}

/** Halvings of the gap that are still to come. */
function stepsTo(ratio: number, tolerance: number): number {
  return Math.max(1, Math.ceil(Math.log2(Math.log(ratio) / Math.log(1 + tolerance))));
}

export function roundRate(rate: number): number {
  return Number(rate.toPrecision(RATE_DIGITS));
}
