// Seeds that found a bug, and what it was. Each is confirmed: without the fix the seed fails.

import type { SeededRun } from "./random-scenario.ts";

export interface RegressionSeed extends SeededRun {
  readonly found: string;
}

export const REGRESSION_SEEDS: readonly RegressionSeed[] = [
  {
    family: "faults",
    seed: 0,
    found: "a step laid anew after an interrupt still had a sequence that was parked meanwhile",
  },
  {
    family: "squeeze",
    seed: 2,
    found: "whether a lender runs was not known when the first slice of it came",
  },
  {
    family: "faults",
    seed: 13,
    found: "a slice went home while the group in flight at the last interrupt still read it",
  },
  {
    family: "links",
    seed: 8,
    found: "a sequence whose bytes no step could carry was left out, parked and preempted for ever",
  },
  {
    family: "squeeze",
    seed: 25,
    found: "a lone prompt that needed the last block was preempted for ever: a reserve kept it",
  },
  {
    family: "faults",
    seed: 85,
    found: "blocks moved home into slots that the step in flight still wrote for one it had lost",
  },
];
