// Tests of the tests: each planted bug is found by the seeds and checks of the simulation.

import { describe, expect, it } from "vitest";
import { PLANTED_BUGS } from "./planted-bugs.ts";
import { randomRun } from "./random-scenario.ts";
import { SIMULATED_RUNS } from "./simulated-runs.ts";
import { runSimulation, type PlantedBug } from "./simulation.ts";

/** What the first seed said that found it, or null when all of them passed. */
function firstFinding(bug: PlantedBug): string | null {
  // From the last family on: its faults make most things happen within a few seeds.
  for (const { family, seed } of SIMULATED_RUNS.toReversed()) {
    try {
      runSimulation(randomRun(family, seed), bug);
    } catch (failure) {
      return `${family} ${seed}: ${(failure as Error).message}`;
    }
  }
  return null;
}

describe("planted bugs", () => {
  for (const [name, bug] of PLANTED_BUGS) {
    it(`${name} is found`, { timeout: 300_000 }, () => {
      expect(firstFinding(bug)).not.toBeNull();
    });
  }
});
