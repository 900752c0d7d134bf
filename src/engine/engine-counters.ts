/**
 * What an engine counts about itself, for metrics and for the simulator's record.
 *
 * Written by the engine and its parts, read by anybody. Plain numbers that only grow; times are
 * nanoseconds, bytes are bytes.
 */

/** The rungs of the recall ladder, cheapest first; `cached` waits for a prefix cache. */
export const LADDER_RUNGS = [
  "free",
  "twin",
  "cached",
  "parked",
  "home",
  "other-lender",
  "host",
  "drop-parked",
  "drop-running",
] as const;
export type LadderRung = (typeof LADDER_RUNGS)[number];

export class EngineCounters {
  steps = 0;
  outputTokens = 0;
  preemptions = 0;
  recomputedTokens = 0;
  stepNs = 0;
  stepLocalNs = 0;
  stepUnlentNs = 0;
  waitNs = 0;
  remoteReadNs = 0;
  remoteReadBytes = 0;
  prefetchHits = 0;
  prefetchLates = 0;
  prefetchMisses = 0;
  prefetchWastedBytes = 0;
  movedBytes = 0;
  /** Slices given back by each rung (moves count the slice they emptied). */
  readonly ladder: Record<LadderRung, number> = {
    free: 0,
    twin: 0,
    cached: 0,
    parked: 0,
    home: 0,
    "other-lender": 0,
    host: 0,
    "drop-parked": 0,
    "drop-running": 0,
  };
}
