/** Runs that share what others decided: a setting said to be the same gives the same record. */

import { describe, expect, it } from "vitest";
import { simulate, type RunRecord } from "../../src/sim/index.ts";
import { FAMILIES, randomRun } from "./random-scenario.ts";

const SHARES = [0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.45, 0.9, 3];
/**
 * With the second, what is borrowed follows the share in a run whose admissions do not; with the
 * others engines have memory to spare in some family, and lend and borrow by no share at all.
 */
const SEEDS = [1, 8, 13, 14];

/** Every family and seed, with the pool off and on, run with each growth share. */
function runsByShare(family: (typeof FAMILIES)[number], seed: number): RunRecord[][] {
  const { scenario } = randomRun(family, seed);
  const [elastic] = scenario.systems;
  const systems = [elastic!, { ...elastic!, name: "static", base: "static" as const }];
  return systems.map((system) =>
    SHARES.map((growthShare) =>
      simulate(scenario, system, seed, { name: "any", growthShare }),
    ),
  );
}

describe("a record's same growth shares", () => {
  it("are of settings with the same run, to the last bit; the range is not just its own", () => {
    let [same, more, different] = [0, 0, 0];
    for (const family of FAMILIES) {
      for (const seed of SEEDS) {
        for (const runs of runsByShare(family, seed)) {
          runs.forEach((run, own) => {
            const range = run.sameGrowthShares;
            runs.forEach((other, at) => {
              const isSame =
                range !== undefined && SHARES[at]! > range.above && SHARES[at]! < range.upTo;
              if (at === own || !isSame) {
                if (at !== own && other.digest !== run.digest) different++;
                return;
              }
              expect(stripped(other)).toStrictEqual(stripped(run));
              if (run.system === "static") same++;
              else more++;
            });
          });
        }
      }
    }
    expect(same).toBeGreaterThan(20);
    expect(more).toBeGreaterThan(5);
    expect(different).toBeGreaterThan(20);
  });
});

/** The range itself is of the share that was run with. */
function stripped(run: RunRecord): RunRecord {
  const { sameGrowthShares: _, ...rest } = run;
  return rest;
}
