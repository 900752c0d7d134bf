// The hundred seeds and more that every change must pass, and that must find every planted bug.

import type { Family, SeededRun } from "./random-scenario.ts";
import { REGRESSION_SEEDS } from "./regression-seeds.ts";

const SEEDS: readonly (readonly [Family, number])[] = [
  ["bursts", 15],
  ["links", 15],
  ["squeeze", 15],
  ["faults", 55],
];

/** What hardly any seed lets occur: a parked sequence that a demand recall drops. */
const RARE: readonly SeededRun[] = [
  { family: "squeeze", seed: 73 },
  { family: "links", seed: 77 },
];

const regular = SEEDS.flatMap(([family, count]) =>
  Array.from({ length: count }, (_, seed): SeededRun => ({ family, seed })),
);

/** Those that once found something are among them or come after. */
export const SIMULATED_RUNS: readonly SeededRun[] = [
  ...regular,
  ...RARE,
  ...REGRESSION_SEEDS.filter(({ family, seed }) => {
    return !regular.some((run) => run.family === family && run.seed === seed);
  }),
];
