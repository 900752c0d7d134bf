/**
 * Which engine `ema compare --capacity` scales, by which key, and from where it starts.
 *
 * Called by compare-command.ts. It knows scenarios as files and options: a rate is changed the way
 * a user would, with `--set`, so that what is found can be run again. It simulates nothing.
 */

import { EmaError, suggestNames } from "../base/index.ts";
import { roundRate, type ScaledEngine } from "../report/index.ts";
import type { EngineSettings, Scenario } from "../scenario/index.ts";
import { inputsOfScenario } from "./limits-scenario.ts";

/** Where the scenario is from, to read it again with other values. */
export interface ScenarioSource {
  /** `null`: from options alone. */
  readonly path: string | null;
  readonly set: readonly string[];
  readonly traces: readonly string[];
  /** Reads it with values changed on top of the user's own. @throws EmaError. */
  read(sets: readonly string[]): Scenario;
}

/**
 * @param engineName `null`: the most loaded engine.
 * @throws EmaError for an unknown engine, and for one whose rate cannot be changed.
 */
export function scaledEngine(
  scenario: Scenario,
  source: ScenarioSource,
  engineName: string | null,
): ScaledEngine {
  const name = engineName ?? mostLoaded(scenario, source);
  const engine = scenario.engines.find((candidate) => candidate.name === name);
  if (engine === undefined) {
    const names = scenario.engines.map((candidate) => candidate.name);
    throw argumentError(`--engine "${name}": no such engine${suggestNames(name, names)}`);
  }
  const offered = arrivalsPerSecond(engine, scenario.seed);
  const isTrace = !engine.isGenerated;
  const key = `engines.${name}.workload.${isTrace ? "rateScale" : "rate"}`;
  const scenarioAt = (setting: number): Scenario => {
    try {
      return source.read([`${key}=${setting}`]);
    } catch (cause) {
      if (!(cause instanceof EmaError)) throw cause;
      const expected = "expected one workload with a rate (poisson, on-off) or one trace";
      throw argumentError(`--capacity: engine ${name} cannot be scaled: ${expected}`, cause);
    }
  };
  // The scale of a trace is a factor; that of a generator is the rate itself. Reading it once more
  // also finds out, before anything runs, whether there is such a key.
  const unit = scenarioAt(isTrace ? 1 : roundRate(offered)).engines.find((e) => e.name === name)!;
  const requestsPerSecondOfUnit = isTrace ? arrivalsPerSecond(unit, scenario.seed) : 1;
  // The mean rate of an on-off workload is below that of its on part: the search finds its way.
  const startSetting = roundRate(offered / requestsPerSecondOfUnit);
  return { name, key, startSetting, requestsPerSecondOfUnit, scenarioAt };
}

/** By what each engine could serve alone; of a server without a file by tokens a second. */
function mostLoaded(scenario: Scenario, source: ScenarioSource): string {
  if (source.path !== null) {
    const choice = { mode: null, cap: null, peers: null };
    const { set, traces } = source;
    const { engineName } = inputsOfScenario(source.path, { set, traces }, null, choice);
    return engineName ?? scenario.engines[0]!.name;
  }
  let most = { name: "", tokens: 0 };
  for (const engine of scenario.engines) {
    const { promptTokens, outputTokens } = engine.requests(scenario.seed);
    const sum = (total: number, tokens: number): number => total + tokens;
    const tokens = promptTokens.reduce(sum, 0) + outputTokens.reduce(sum, 0);
    if (tokens > most.tokens) most = { name: engine.name, tokens };
  }
  if (most.tokens === 0) throw argumentError("--capacity: no engine has requests; give a --trace");
  return most.name;
}

/** Requests over the span of their arrivals. @throws EmaError when there is no such span. */
function arrivalsPerSecond(engine: EngineSettings, seed: number): number {
  const { count, arrivalNs } = engine.requests(seed);
  const spanNs = count < 2 ? 0 : arrivalNs[count - 1]! - arrivalNs[0]!;
  if (spanNs > 0) return ((count - 1) * 1e9) / spanNs;
  const has = count === 0 ? "no requests" : "all its requests at one time";
  throw argumentError(`--capacity: engine ${engine.name} has ${has}; expected a rate to change`);
}

function argumentError(message: string, cause?: unknown): EmaError {
  return new EmaError("E_ARGUMENT", message, cause === undefined ? {} : { cause });
}
