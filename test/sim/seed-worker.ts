// A process that runs every n-th simulation of the list and sends what came of each to its parent.

import { SIMULATED_RUNS } from "./simulated-runs.ts";
import { randomRun } from "./random-scenario.ts";
import { runSimulation } from "./simulation.ts";

export interface WorkerShare {
  readonly first: number;
  readonly stride: number;
}

export interface RunReport {
  readonly name: string;
  /** What broke, or null. */
  readonly failure: string | null;
  readonly counts: ReadonlyMap<string, number>;
}

process.once("message", ({ first, stride }: WorkerShare) => {
  for (let index = first; index < SIMULATED_RUNS.length; index += stride) {
    process.send!(report(index));
  }
  // The channel may not close while it hands over this very message.
  setImmediate(() => process.disconnect());
});

function report(index: number): RunReport {
  const { family, seed } = SIMULATED_RUNS[index]!;
  const name = `${family} ${seed}`;
  try {
    return { name, failure: null, counts: runSimulation(randomRun(family, seed)).counts };
  } catch (failure) {
    return { name, failure: (failure as Error).message, counts: new Map() };
  }
}
