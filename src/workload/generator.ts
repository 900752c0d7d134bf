/**
 * Seeded generators: Poisson arrivals, Poisson in bursts, and everything at once.
 *
 * Called by scenarios, once an engine and seed. It does not know engines or models. Arrivals,
 * prompts and outputs come from streams of their own, separate for each engine: another rate of one
 * engine leaves the n-th lengths of all engines, and the arrivals of the others, as they were.
 *
 * On-off: a Poisson process on the time that is on, cut into parts of `onSeconds` and pulled apart
 * by `offSeconds`; memorylessness makes that the same as starting afresh in each part.
 *
 *      on     off              on     off
 *   |#####|..............|#####|..............|      starts in its on part
 *
 * Invariant: the same seed gives the same table.
 */

import { assert, NS_PER_SECOND, Prng } from "../base/index.ts";
import { drawOutput, drawPrompt, type LengthSpec } from "./lengths.ts";
import type { RequestTable } from "./request-table.ts";

export type ArrivalPattern =
  | { readonly type: "poisson"; readonly requestsPerSecond: number; readonly seconds: number }
  | {
      readonly type: "on-off";
      /** Of the on part. */
      readonly requestsPerSecond: number;
      readonly onSeconds: number;
      readonly offSeconds: number;
      readonly seconds: number;
    }
  /** All at time 0: an engine that never runs dry until it is done. */
  | { readonly type: "backlog"; readonly requests: number };

export interface RandomStreams {
  readonly arrivals: Prng;
  readonly prompts: Prng;
  readonly outputs: Prng;
}

export interface GeneratedRequests {
  readonly table: RequestTable;
  /** How many prompts were drawn longer than `promptTokensMax`. */
  readonly clippedPrompts: number;
}

/** Parts of one engine's workload that have streams of their own. */
export const WORKLOAD_PARTS_MAX = 64;

/** @param partIndex of a workload that merges several; each part draws from streams of its own. */
export function streamsOf(seed: number, engineIndex: number, partIndex: number): RandomStreams {
  assert(partIndex < WORKLOAD_PARTS_MAX, `generator: part ${partIndex} of ${WORKLOAD_PARTS_MAX}`);
  const stream = (engineIndex * WORKLOAD_PARTS_MAX + partIndex) * 4;
  return {
    arrivals: new Prng(seed, stream + 1),
    prompts: new Prng(seed, stream + 2),
    outputs: new Prng(seed, stream + 3),
  };
}

/** Arrivals from 0; `delay` shifts them. The table may be empty where the rate is low. */
export function generate(
  pattern: ArrivalPattern,
  lengths: LengthSpec,
  streams: RandomStreams,
): GeneratedRequests {
  const arrivalNs = drawArrivals(pattern, streams.arrivals);
  const promptTokens = new Int32Array(arrivalNs.length);
  const outputTokens = new Int32Array(arrivalNs.length);
  let clippedPrompts = 0;
  for (let row = 0; row < arrivalNs.length; row++) {
    const drawn = drawPrompt(lengths, streams.prompts);
    if (drawn > lengths.promptTokensMax) clippedPrompts++;
    promptTokens[row] = Math.min(drawn, lengths.promptTokensMax);
    outputTokens[row] = drawOutput(lengths, promptTokens[row]!, streams.outputs);
  }
  const table = {
    count: arrivalNs.length,
    arrivalNs: Float64Array.from(arrivalNs),
    promptTokens,
    outputTokens,
  };
  return { table, clippedPrompts };
}

/** The mean number of requests a pattern makes. */
export function expectedRequests(pattern: ArrivalPattern): number {
  return pattern.type === "backlog"
    ? pattern.requests
    : pattern.requestsPerSecond * onTimeSeconds(pattern);
}

function onTimeSeconds(pattern: Exclude<ArrivalPattern, { type: "backlog" }>): number {
  if (pattern.type === "poisson") return pattern.seconds;
  const periodSeconds = pattern.onSeconds + pattern.offSeconds;
  const periods = Math.floor(pattern.seconds / periodSeconds);
  const restSeconds = pattern.seconds - periods * periodSeconds;
  return periods * pattern.onSeconds + Math.min(restSeconds, pattern.onSeconds);
}

function drawArrivals(pattern: ArrivalPattern, prng: Prng): number[] {
  if (pattern.type === "backlog") return new Array<number>(pattern.requests).fill(0);
  const endSeconds = onTimeSeconds(pattern);
  const gapSeconds = 1 / pattern.requestsPerSecond;
  const arrivalNs: number[] = [];
  let seconds = prng.nextExponential(gapSeconds);
  while (seconds < endSeconds) {
    arrivalNs.push(Math.round(wallSeconds(pattern, seconds) * NS_PER_SECOND));
    seconds += prng.nextExponential(gapSeconds);
  }
  return arrivalNs;
}

/** When the `onSeconds`-th second of on time comes to pass. */
function wallSeconds(pattern: ArrivalPattern, onTime: number): number {
  if (pattern.type !== "on-off") return onTime;
  return onTime + Math.floor(onTime / pattern.onSeconds) * pattern.offSeconds;
}
