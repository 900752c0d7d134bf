/**
 * The share of the time in which a lender runs steps, from its own requests.
 *
 * Called by `ema limits` for every other engine of a scenario. It is an estimate of its own, not a
 * simulation: nothing queues, all requests of the lender advance at one step time.
 *
 * A request is resident from its arrival for its prefill plus `output` steps of T; the lender runs
 * while at least one is. T depends on how many are resident, n, and n on T: starting from one
 * resident, a few rounds of
 *     T = step time at n,   busy = length of the union of the residences,   n = sum of them / busy
 * settle it. A lender whose work exceeds what it can serve runs longer than that: busy is at least
 * all its tokens at its full-memory throughput. What arrives in bursts and leaves a tail of long
 * outputs is so counted as what it is, running until the last token.
 */

import type { Borrower } from "./borrower.ts";
import { lengthsOf } from "./lengths.ts";
import { stepTime } from "./step-time.ts";

/** Parallel columns, arrivals ascending, as a request table has them. */
export interface RequestColumns {
  readonly count: number;
  readonly arrivalNs: ArrayLike<number>;
  readonly promptTokens: ArrayLike<number>;
  readonly outputTokens: ArrayLike<number>;
}

/** [start, end), in nanoseconds since the run's start. */
export interface TimeWindow {
  readonly startNs: number;
  readonly endNs: number;
}

export interface LenderLoad {
  /** In [0, 1]: of the window given. */
  readonly runShare: number;
  /** KV bytes its own sequences hold while it runs, at most all it has. */
  readonly residentBytes: number;
}

const ROUNDS = 8;
const NO_LINK = {
  bytesPerSecond: Infinity,
  pacedBytesPerSecond: Infinity,
  copySecondsPerByte: 0,
  latencySeconds: 0,
  groupLayers: 0,
};

/**
 * @param engine the lender's own GPU and model; its `contextTokens` is not read.
 * @param window over which the share is taken; not empty.
 */
export function lenderLoad(
  engine: Borrower,
  requests: RequestColumns,
  sequencesMax: number,
  window: TimeWindow,
): LenderLoad {
  if (requests.count === 0) return { runShare: 0, residentBytes: 0 };
  const { contextTokens } = lengthsOf(requests.promptTokens, requests.outputTokens);
  const sequenceBytes = contextTokens * engine.kvBytesPerToken;
  const residentMax = Math.min(sequencesMax, engine.ownKvBytes / sequenceBytes);
  const stepSeconds = (sequences: number): number => {
    const localBytes = sequences * sequenceBytes;
    const load = { sequences, localBytes, remoteBytes: 0, stagedBytes: 0, pacedBytes: 0 };
    return stepTime(engine, load, NO_LINK, null).seconds;
  };
  let residents = Math.min(1, residentMax);
  let busySeconds = 0;
  let outputTokens = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const union = residences(engine, requests, stepSeconds(residents), window);
    busySeconds = union.busySeconds;
    outputTokens = union.outputTokens;
    if (busySeconds > 0) residents = Math.min(residentMax, union.residentSeconds / busySeconds);
  }
  const windowSeconds = (window.endNs - window.startNs) / 1e9;
  const leastSeconds = (outputTokens * stepSeconds(residentMax)) / residentMax;
  return {
    runShare: Math.min(1, Math.max(busySeconds, leastSeconds) / windowSeconds),
    residentBytes: Math.min(engine.ownKvBytes, residents * sequenceBytes),
  };
}

/** Union, sum and tokens of the residences, cut to the window. */
function residences(
  engine: Borrower,
  requests: RequestColumns,
  stepSeconds: number,
  window: TimeWindow,
): { busySeconds: number; residentSeconds: number; outputTokens: number } {
  const flopsPerToken = 2 * engine.paramCount;
  const endSeconds = (window.endNs - window.startNs) / 1e9;
  let busySeconds = 0;
  let residentSeconds = 0;
  let outputTokens = 0;
  let busyUntil = 0;
  for (let row = 0; row < requests.count; row++) {
    const arrival = (requests.arrivalNs[row]! - window.startNs) / 1e9;
    if (arrival >= endSeconds) break;
    const prefill = Math.max(
      (flopsPerToken * requests.promptTokens[row]!) / engine.flopsPerSecond,
      engine.weightBytes / engine.hbmBytesPerSecond,
    );
    const output = requests.outputTokens[row]!;
    const seconds = prefill + output * stepSeconds;
    const end = Math.min(endSeconds, arrival + seconds);
    const insideSeconds = Math.max(0, end - Math.max(0, arrival));
    busySeconds += Math.max(0, end - Math.max(0, arrival, busyUntil));
    busyUntil = Math.max(busyUntil, end);
    residentSeconds += insideSeconds;
    outputTokens += output * (insideSeconds / seconds);
  }
  return { busySeconds, residentSeconds, outputTokens };
}
