/**
 * What the bounds of the sweep show where nothing was changed: `static` held against itself.
 *
 * Run by the sweep's processes (`npm run sweep -- --noise`); docs/EXPERIMENTS.md quotes it. The run
 * that is judged is `static` again, with one output token more in each engine's first request.
 * Near saturation that is enough for another order of batches, and a queue remembers it for the
 * rest of the run. What is broken here is what chance breaks, as an engine cannot harm itself; all
 * are judged as borrowers, whose bounds are the ones that saturated engines break.
 */

import type { Scenario, SystemSettings } from "../../src/scenario/index.ts";
import { simulate, type RunRecord } from "../../src/sim/index.ts";
import type { RequestTable } from "../../src/workload/index.ts";
import { judge } from "./bounds.ts";
import { admissionNamed, enginePairs, sameWork } from "./paired-runs.ts";
import { scenarioOf, type ServerPlan } from "./server-plan.ts";
import {
  failedVerdict,
  planOf,
  wiringOf,
  type EngineVerdict,
  type ServerVerdict,
} from "./server-verdict.ts";

/** @param planned what server the seed is of. */
export function noiseVerdictOf(
  seed: number,
  planned: (seed: number) => ServerPlan = planOf,
): ServerVerdict {
  try {
    return heldAgainstItself(seed, planned(seed));
  } catch (failure) {
    return failedVerdict(seed, (failure as Error).stack ?? String(failure));
  }
}

function heldAgainstItself(seed: number, plan: ServerPlan): ServerVerdict {
  const admission = admissionNamed(plan.admission);
  const run = (on: Scenario): RunRecord => {
    const system: SystemSettings = { name: "static", base: "static", pool: on.pool };
    return simulate(on, system, on.seed, admission);
  };
  const { scenario, plain, leftOut } = sameWork(scenarioOf(plan), run);
  const nudged = run(withOneTokenMore(scenario));
  const tpotSloNs = scenario.slo.tpotSeconds * 1e9;
  const engines = enginePairs(scenario, nudged, plain, plain).map((pair): EngineVerdict => ({
    name: pair.name,
    role: "borrower",
    finished: pair.finished,
    judgements: judge({ ...pair, hasBorrowed: true }, tpotSloNs),
  }));
  const recalls = { refill: 0, demand: 0 };
  return { seed, engines, isBound: true, wiring: wiringOf(seed), recalls, leftOut, errors: [] };
}

/** One less where the context has no room for one more: the request would be refused. */
export function withOneTokenMore(scenario: Scenario): Scenario {
  const engines = scenario.engines.map((engine) => ({
    ...engine,
    requests: (seed: number): RequestTable => {
      const table = engine.requests(seed);
      if (table.count === 0) return table;
      const outputTokens = table.outputTokens.slice();
      const tokens = table.promptTokens[0]! + outputTokens[0]!;
      if (tokens < engine.model.contextTokensMax) outputTokens[0]!++;
      else if (outputTokens[0]! > 1) outputTokens[0]!--;
      return { ...table, outputTokens };
    },
  }));
  return { ...scenario, engines };
}
