/**
 * `ema compare`: every system, with every admission setting, for every seed; then the best of
 * each.
 *
 * Called by the command with a simulator. It chooses, aggregates and concludes; it neither
 * simulates nor prints. Each system keeps the admission setting with the most throughput (all
 * engines, mean over seeds), so that the table compares memory, not policies. Statistics are taken
 * seed by seed, then their mean; ratios are paired by seed.
 *
 * Invariants: the same scenario and seeds give the same result; records of settings that lost are
 * not kept, nor those of seeds but the first.
 */

import { assert } from "../base/index.ts";
import type { Scenario, SystemSettings } from "../scenario/index.ts";
import {
  referenceOf,
  type CompareResult,
  type Comparison,
  type Line,
  type SystemComparison,
} from "./comparison.ts";
import { toJson } from "./compare-json.ts";
import type { Capacity, EngineResult } from "./compare-schema.ts";
import { groupEngines, type EngineGroup } from "./engine-groups.ts";
import type { EngineSummary } from "./engine-result.ts";
import { meanOf, mergeSeeds } from "./seeds.ts";
import { sharingRuns } from "./shared-runs.ts";
import type { AdmissionSetting, RunRecord, Simulator } from "./simulation.ts";
import { perSecond } from "./statistics.ts";
import { combineDigests, summarizeRun, type RunSummary } from "./system-result.ts";
import { figureIntervals, meanRatios, ratioIntervals } from "./versus.ts";

/** How far a comparison is, for a line of progress. */
export interface CompareProgress {
  readonly doneShare: number;
  readonly system: string;
  readonly admission: string;
  readonly seed: number;
}

export interface CompareOptions {
  readonly simulator: Simulator;
  /** At least one; each gives one run per system and admission setting. */
  readonly seeds: readonly number[];
  readonly onProgress?: (progress: CompareProgress) => void;
}

/** One system's runs with its best admission setting, a run a seed. */
interface BestRuns {
  readonly system: SystemSettings;
  readonly admission: string;
  readonly firstRun: RunRecord;
  readonly summaries: readonly RunSummary[];
}

/** @throws EmaError E_SYSTEM when a system cannot run the scenario. */
export function compare(scenario: Scenario, options: CompareOptions): CompareResult {
  const { seeds } = options;
  const simulator = sharingRuns(options.simulator);
  assert(seeds.length > 0, "compare: no seeds");
  assert(simulator.admissionSettings.length > 0, "compare: no admission settings");
  const groups = groupEngines(scenario.engines);
  const runCount = scenario.systems.length * simulator.admissionSettings.length * seeds.length;
  let doneCount = 0;
  const runOne = (system: SystemSettings, admission: AdmissionSetting, seed: number): RunRecord => {
    const report = (share: number): void => {
      const doneShare = (doneCount + share) / runCount;
      options.onProgress?.({ doneShare, system: system.name, admission: admission.name, seed });
    };
    report(0);
    const run = simulator.simulate(scenario, system, seed, admission, report);
    doneCount++;
    report(0);
    return run;
  };
  const best = scenario.systems.map((system) =>
    bestRuns(scenario, system, groups, simulator.admissionSettings, seeds, runOne),
  );
  const comparison = putTogether(scenario, seeds, groups, best);
  return { comparison, json: toJson(comparison) };
}

function bestRuns(
  scenario: Scenario,
  system: SystemSettings,
  groups: readonly EngineGroup[],
  admissions: readonly AdmissionSetting[],
  seeds: readonly number[],
  runOne: (system: SystemSettings, admission: AdmissionSetting, seed: number) => RunRecord,
): BestRuns {
  let best: { admission: string; runs: RunRecord[]; tokensPerSecond: number } | null = null;
  for (const admission of admissions) {
    const runs = seeds.map((seed) => runOne(system, admission, seed));
    const tokensPerSecond = meanOf(runs.map((run) => totalThroughput(run))) ?? 0;
    // Ties go to the earlier setting, so that the choice does not depend on the last digit of none.
    if (best === null || tokensPerSecond > best.tokensPerSecond) {
      best = { admission: admission.name, runs, tokensPerSecond };
    }
  }
  assert(best !== null, "compare: no run was the best");
  const summaries = best.runs.map((run) => summarizeRun(run, groups, scenario.slo));
  return { system, admission: best.admission, firstRun: best.runs[0]!, summaries };
}

function totalThroughput(run: RunRecord): number | null {
  const tokens = run.engines.reduce((sum, engine) => sum + engine.outputTokensInTotalWindow, 0);
  return perSecond(tokens, run.totalWindow);
}

function putTogether(
  scenario: Scenario,
  seeds: readonly number[],
  groups: readonly EngineGroup[],
  best: readonly BestRuns[],
): Comparison {
  const reference = referenceOf(scenario.systems);
  const referenceRuns = best.find((runs) => runs.system === reference) ?? null;
  const systems = best.map((runs): SystemComparison => {
    const first = runs.summaries[0]!;
    const line = (pick: (summary: RunSummary) => EngineSummary): Line =>
      lineOf(runs.summaries.map(pick), referenceRuns?.summaries.map(pick) ?? null);
    const engines = lines(Object.keys(first.engines), (name) => line((s) => s.engines[name]!));
    const byGroup = lines(Object.keys(first.groups), (label) => line((s) => s.groups[label]!));
    return {
      settings: runs.system,
      admission: runs.admission,
      engines,
      groups: byGroup,
      total: line((summary) => summary.total),
      recalls: mergeSeeds(runs.summaries.map((summary) => summary.recalls)),
      ladder: mergeSeeds(runs.summaries.map((summary) => summary.ladder)),
      links: mergeSeeds(runs.summaries.map((summary) => summary.links)),
      digest: combineDigests(runs.summaries.map((summary) => summary.digest)),
      capacities: capacitiesOf(scenario, runs.firstRun),
      firstRun: runs.firstRun,
    };
  });
  return { scenario, seeds, groups, systems };
}

function lineOf(own: readonly EngineSummary[], reference: readonly EngineSummary[] | null): Line {
  const results = own.map((summary) => summary.result);
  const references = reference?.map((summary) => summary.result) ?? null;
  return {
    result: withExactCounts(mergeSeeds(results)),
    intervals: figureIntervals(results),
    versus: references === null ? null : meanRatios(results, references),
    versusIntervals: references === null ? null : ratioIntervals(results, references),
    finishedPerSecond: meanOf(own.map((summary) => summary.finishedPerSecond)),
    runningShare: meanOf(own.map((summary) => summary.runningShare)) ?? 0,
  };
}

/**
 * Means of counts are rounded; the sum is taken anew, so that it is the sum of what is printed.
 */
function withExactCounts(result: EngineResult): EngineResult {
  const { finished, failed } = result.requests;
  return { ...result, requests: { ...result.requests, arrived: finished + failed } };
}

function lines(names: readonly string[], of: (name: string) => Line): Record<string, Line> {
  return Object.fromEntries(names.map((name) => [name, of(name)]));
}

function capacitiesOf(scenario: Scenario, run: RunRecord): Record<string, Capacity> {
  const capacities: Record<string, Capacity> = {};
  for (const [index, engine] of run.engines.entries()) {
    const settings = scenario.engines[index];
    assert(settings !== undefined, `compare: engine ${index} is not in the scenario`);
    capacities[engine.name] = {
      gpu: scenario.topology.gpus[engine.gpuIndex]?.name ?? "?",
      model: settings.model.name,
      kvBytes: engine.kvBytesCapacity,
      kvTokens: engine.kvTokensCapacity,
      borrowLimitBytes: engine.borrowLimitBytes,
    };
  }
  return capacities;
}
