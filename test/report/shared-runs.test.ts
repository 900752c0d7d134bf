/** sharingRuns: what was shown already is not run again, and nothing else is shared. */

import { expect, it } from "vitest";
import { sharingRuns } from "../../src/report/shared-runs.ts";
import { runRecord, scenarioOf, simulatorOf, systemSettings } from "./fixtures.ts";

const [STATIC, EMA] = [systemSettings("static"), systemSettings("ema")];
const SCENARIO = scenarioOf(["chat"], [STATIC, EMA]);
const setting = (growthShare: number) => ({ name: `growth ${growthShare}`, growthShare });

/** A simulator whose runs say so much of other shares, and what it was asked. */
function counted(sameGrowthShares: { above: number; upTo: number } | null) {
  const asked: string[] = [];
  const simulator = simulatorOf((system, seed, { name }) => {
    asked.push(`${system} ${seed} ${name}`);
    const record = runRecord({ admission: name, seed, system });
    return sameGrowthShares === null ? record : { ...record, sameGrowthShares };
  });
  return { asked, simulator: sharingRuns(simulator) };
}

it("runs a setting within the range of an earlier run once, under its own name", () => {
  const { asked, simulator } = counted({ above: 0.05, upTo: 0.25 });
  const first = simulator.simulate(SCENARIO, STATIC, 1, setting(0.1));
  const second = simulator.simulate(SCENARIO, STATIC, 1, setting(0.2));
  expect(second).toEqual({ ...first, admission: "growth 0.2" });
  expect(asked).toEqual(["static 1 growth 0.1"]);
});

it("runs what is out of the range, of another seed, system or scenario, or of another rule", () => {
  const { asked, simulator } = counted({ above: 0.05, upTo: 0.25 });
  simulator.simulate(SCENARIO, STATIC, 1, setting(0.1));
  simulator.simulate(SCENARIO, STATIC, 1, setting(0.25));
  simulator.simulate(SCENARIO, STATIC, 1, setting(0.05));
  simulator.simulate(SCENARIO, STATIC, 1, { ...setting(0.2), present: "prompt" });
  simulator.simulate(SCENARIO, STATIC, 2, setting(0.2));
  simulator.simulate(SCENARIO, EMA, 1, setting(0.2));
  simulator.simulate({ ...SCENARIO }, EMA, 1, setting(0.2));
  expect(asked).toHaveLength(7);
});

it("shares nothing of a run that does not say for whom it holds", () => {
  const { asked, simulator } = counted(null);
  simulator.simulate(SCENARIO, STATIC, 1, setting(0.1));
  simulator.simulate(SCENARIO, STATIC, 1, setting(0.1));
  expect(asked).toHaveLength(2);
});
