/**
 * Runs simulations in a process of its own.
 *
 * Forked by simulation.test.ts it runs every n-th one of the list and sends what came of each. By
 * hand it replays one and prints what broke, or what occurred:
 *
 *     npx tsx test/sim/seed-worker.ts faults 3
 */

import { SIMULATED_RUNS } from "./simulated-runs.ts";
import { randomRun, type Family } from "./random-scenario.ts";
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

const [family, seed] = process.argv.slice(2);
if (family !== undefined) {
  console.log(runSimulation(randomRun(family as Family, Number(seed))));
} else {
  process.once("message", ({ first, stride }: WorkerShare) => {
    for (let index = first; index < SIMULATED_RUNS.length; index += stride) {
      process.send!(report(index));
    }
    // The channel may not close while it hands over this very message.
    setImmediate(() => process.disconnect());
  });
}

function report(index: number): RunReport {
  const run = SIMULATED_RUNS[index]!;
  const name = `${run.family} ${run.seed}`;
  try {
    const { counts } = runSimulation(randomRun(run.family, run.seed));
    return { name, failure: null, counts };
  } catch (failure) {
    return { name, failure: (failure as Error).message, counts: new Map() };
  }
}
