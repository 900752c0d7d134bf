// The hundred seeds that every change must pass, and that must find every planted bug.

import type { Family } from "./random-scenario.ts";

export interface SeededRun {
  readonly family: Family;
  readonly seed: number;
}

const SEEDS: readonly (readonly [Family, number])[] = [
  ["bursts", 20],
  ["links", 15],
  ["squeeze", 20],
  ["faults", 45],
];

export const SIMULATED_RUNS: readonly SeededRun[] = SEEDS.flatMap(([family, count]) =>
  Array.from({ length: count }, (_, seed) => ({ family, seed })),
);
