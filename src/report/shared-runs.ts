/**
 * A simulator that does not run again what another setting has shown already.
 *
 * Wrapped around the simulator by comparisons, which run every system with a short list of
 * admission settings. A record says which growth shares would have decided the same at every turn;
 * where memory never was short that is all of them, and their runs are the same to the last bit.
 *
 * Invariant: a record handed out differs from its run's own in the name of the setting alone.
 */

import type { Scenario, SystemSettings } from "../scenario/index.ts";
import type { AdmissionSetting, RunRecord, Simulator } from "./simulation.ts";

/** Remembers the runs of the scenario and the system asked for last, and no others. */
export function sharingRuns(simulator: Simulator): Simulator {
  let asked: { readonly scenario: Scenario; readonly system: SystemSettings } | null = null;
  const known = new Map<number, RunRecord[]>();
  return {
    admissionSettings: simulator.admissionSettings,
    simulate(scenario, system, seed, admission, onProgress) {
      if (asked?.scenario !== scenario || asked.system !== system) known.clear();
      asked = { scenario, system };
      const runs = known.get(seed) ?? [];
      const same = runs.find((run) => holdsFor(run, admission));
      if (same !== undefined) return { ...same, admission: admission.name };
      const run = simulator.simulate(scenario, system, seed, admission, onProgress);
      // One that decided nothing for others is not worth its memory.
      if (run.sameGrowthShares !== undefined) known.set(seed, [...runs, run]);
      return run;
    },
  };
}

function holdsFor(run: RunRecord, { growthShare, present }: AdmissionSetting): boolean {
  const range = run.sameGrowthShares;
  if (range === undefined || present !== undefined) return false;
  return growthShare > range.above && growthShare < range.upTo;
}
