/**
 * `ema compare --capacity`: how many requests one engine serves within the SLO, per system.
 *
 * Called by the command with a simulator and a way to read the scenario at another rate. For each
 * system it looks for the highest rate of one engine's workload at which its p99 TTFT and p99 TPOT
 * (means over seeds) meet the SLO; all other engines stay as they are. At each rate the admission
 * settings are tried until one meets it, the one that last did first.
 *
 * Invariants: no request of the engine was lost at a rate that counts as met (requests that no
 * setting can hold fail at every rate and are left out, as in every statistic); the same scenario
 * and seeds give the same result.
 */

import { assert } from "../base/index.ts";
import type { Scenario, SystemSettings } from "../scenario/index.ts";
import type { CapacityJson, SystemCapacity } from "./capacity-schema.ts";
import { searchHighest, type Probed } from "./capacity-search.ts";
import { capacityVerdict, capacityWarnings } from "./capacity-verdict.ts";
import type { CompareProgress } from "./compare.ts";
import { referenceOf } from "./comparison.ts";
import { quantile } from "./quantiles.ts";
import { meanOf } from "./seeds.ts";
import { sharingRuns } from "./shared-runs.ts";
import type { AdmissionSetting, EngineRecord, RunRecord, Simulator } from "./simulation.ts";
import { finishRates, perSecond, requestTimes } from "./statistics.ts";

export const CAPACITY_TOLERANCE = 0.02;

/** The engine whose rate is changed, and how. */
export interface ScaledEngine {
  readonly name: string;
  /** What is set, like `engines.chat.workload.rate`. */
  readonly key: string;
  /** The value to begin with, and how many requests a second one unit of it is. */
  readonly startSetting: number;
  readonly requestsPerSecondOfUnit: number;
  /** The scenario with another value; everything else is the same. */
  scenarioAt(setting: number): Scenario;
}

export interface CapacityOptions {
  readonly simulator: Simulator;
  /** At least one; each gives one run per system, rate and admission setting. */
  readonly seeds: readonly number[];
  readonly onProgress?: (progress: CompareProgress) => void;
}

/** One rate under one admission setting. */
interface Trial {
  readonly admission: string;
  readonly meets: boolean;
  readonly ttftP99Seconds: number | null;
  readonly tpotP99Seconds: number | null;
  readonly outputTokensPerSecond: number | null;
  readonly goodputRequestsPerSecond: number | null;
  readonly othersGoodputRequestsPerSecond: number | null;
  readonly finished: number;
}

/** @throws EmaError E_SYSTEM when a system cannot run the scenario. */
export function capacities(
  scenario: Scenario,
  engine: ScaledEngine,
  options: CapacityOptions,
): CapacityJson {
  const { simulator, seeds } = options;
  assert(seeds.length > 0, "capacity: no seeds");
  assert(simulator.admissionSettings.length > 0, "capacity: no admission settings");
  const found: Record<string, SystemCapacity> = {};
  let startSetting = engine.startSetting;
  scenario.systems.forEach((system, index) => {
    const share = (own: number): number => (index + own) / scenario.systems.length;
    const report = (own: number, admission: string, seed: number): void =>
      options.onProgress?.({ doneShare: share(own), system: system.name, admission, seed });
    const capacity = systemCapacity(system, engine, startSetting, options, report);
    // Systems differ by less than a factor of two or so: the next one starts where this one ended.
    startSetting = capacity.setting ?? startSetting;
    found[system.name] = capacity;
  });
  const reference = referenceOf(scenario.systems);
  const base = reference === null ? null : found[reference.name]!.requestsPerSecond;
  const capacity = Object.fromEntries(
    Object.entries(found).map(([name, own]) => [name, { ...own, versusStatic: over(own, base) }]),
  );
  const { ttftSeconds, tpotSeconds } = scenario.slo;
  const facts = { engine: engine.name, slo: { ttftSeconds, tpotSeconds }, capacity };
  return {
    formatVersion: 1,
    scenario: scenario.name,
    engine: engine.name,
    scaledKey: engine.key,
    slo: facts.slo,
    seeds: [...seeds],
    tolerance: CAPACITY_TOLERANCE,
    capacity,
    verdict: capacityVerdict(facts, reference?.name ?? null),
    warnings: capacityWarnings(facts),
  };
}

function over(own: SystemCapacity, base: number | null): number | null {
  if (own.requestsPerSecond === null || base === null) return null;
  return own.requestsPerSecond / base;
}

function systemCapacity(
  system: SystemSettings,
  engine: ScaledEngine,
  startRate: number,
  options: CapacityOptions,
  report: (doneShare: number, admission: string, seed: number) => void,
): SystemCapacity {
  const { seeds } = options;
  const simulator = sharingRuns(options.simulator);
  let runs = 0;
  let settings = simulator.admissionSettings;
  const search = searchHighest<Trial>({
    startRate,
    tolerance: CAPACITY_TOLERANCE,
    probe: (rate, doneShare) => {
      const scenario = engine.scenarioAt(rate);
      let best: Trial | null = null;
      for (const setting of settings) {
        const records = seeds.map((seed) => {
          const perSecondText = String(significantRate(rate * engine.requestsPerSecondOfUnit));
          report(doneShare, `${perSecondText} requests/s, ${setting.name}`, seed);
          return simulator.simulate(scenario, system, seed, setting);
        });
        runs += records.length;
        const trial = trialOf(records, engine.name, setting, scenario);
        if (trial.meets) {
          // Tried first from now on: what works here most likely works at the next rate.
          settings = [setting, ...settings.filter((other) => other !== setting)];
          return { holds: true, detail: trial };
        }
        if (best === null || isNearer(trial, best, scenario)) best = trial;
      }
      assert(best !== null, "capacity: no trial was the best");
      return { holds: false, detail: best };
    },
  });
  return toCapacity(system, engine, search, runs);
}

function toCapacity(
  system: SystemSettings,
  engine: ScaledEngine,
  search: ReturnType<typeof searchHighest<Trial>>,
  runs: number,
): SystemCapacity {
  const { highest, beyond, probes } = search;
  const rateOf = (probed: Probed<Trial>): number => probed.rate * engine.requestsPerSecondOfUnit;
  const at = highest?.detail ?? null;
  return {
    base: system.base,
    requestsPerSecond: highest === null ? null : rateOf(highest),
    setting: highest?.rate ?? null,
    isBracketed: highest !== null && beyond !== null,
    outputTokensPerSecond: at?.outputTokensPerSecond ?? null,
    goodputRequestsPerSecond: at?.goodputRequestsPerSecond ?? null,
    ttftP99Seconds: at?.ttftP99Seconds ?? null,
    tpotP99Seconds: at?.tpotP99Seconds ?? null,
    finished: at?.finished ?? null,
    admission: at?.admission ?? null,
    othersGoodputRequestsPerSecond: at?.othersGoodputRequestsPerSecond ?? null,
    beyond:
      beyond === null
        ? null
        : {
            requestsPerSecond: rateOf(beyond),
            ttftP99Seconds: beyond.detail.ttftP99Seconds,
            tpotP99Seconds: beyond.detail.tpotP99Seconds,
          },
    versusStatic: null,
    rates: probes,
    runs,
  };
}

function trialOf(
  runs: readonly RunRecord[],
  engineName: string,
  admission: AdmissionSetting,
  scenario: Scenario,
): Trial {
  const { slo } = scenario;
  const engines = runs.map((run) => {
    const engine = run.engines.find(({ name }) => name === engineName);
    assert(engine !== undefined, `capacity: no record of engine ${engineName}`);
    return engine;
  });
  const times = engines.map((engine) => requestTimes([engine.requests]));
  const ttftP99Seconds = meanOf(times.map(({ ttftNs }) => p99Seconds(ttftNs)));
  const tpotP99Seconds = meanOf(times.map(({ tpotNs }) => p99Seconds(tpotNs)));
  const finished = meanOf(times.map(({ ttftNs }) => ttftNs.length)) ?? 0;
  const isTtftMet = ttftP99Seconds !== null && ttftP99Seconds <= slo.ttftSeconds;
  // Without a request of two tokens there is no TPOT to miss.
  const isTpotMet = tpotP99Seconds === null || tpotP99Seconds <= slo.tpotSeconds;
  const othersGood = runs.map((run) => {
    const others = run.engines.filter(({ name }) => name !== engineName);
    const rates = others.map((other) => finishRates([other.requests], other.window, slo).good);
    return rates.reduce<number>((sum, rate) => sum + (rate ?? 0), 0);
  });
  return {
    admission: admission.name,
    meets: isTtftMet && isTpotMet && !engines.some(losesRequests),
    ttftP99Seconds,
    tpotP99Seconds,
    outputTokensPerSecond: meanOf(engines.map((e) => perSecond(e.outputTokensInWindow, e.window))),
    goodputRequestsPerSecond: meanOf(
      engines.map((e) => finishRates([e.requests], e.window, slo).good),
    ),
    othersGoodputRequestsPerSecond: meanOf(othersGood),
    finished,
  };
}

/** Requests that ran out of time or lost their engine; those too large fail at every rate. */
function losesRequests(engine: EngineRecord): boolean {
  return engine.requests.failure.some((reason) => reason === "timeout" || reason === "engine-lost");
}

function p99Seconds(sortedNs: Float64Array): number | null {
  const valueNs = quantile(sortedNs, 0.99);
  return valueNs === null ? null : valueNs / 1e9;
}

/** Which of two settings that miss the SLO misses it by less: by the worse of both objectives. */
function isNearer(trial: Trial, best: Trial, { slo }: Scenario): boolean {
  const excess = ({ ttftP99Seconds, tpotP99Seconds }: Trial): number =>
    Math.max(
      (ttftP99Seconds ?? Infinity) / slo.ttftSeconds,
      (tpotP99Seconds ?? 0) / slo.tpotSeconds,
    );
  return excess(trial) < excess(best);
}

function significantRate(rate: number): number {
  return Number(rate.toPrecision(3));
}
