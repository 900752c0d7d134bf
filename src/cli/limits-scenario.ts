/**
 * What `ema limits` is asked about an engine of a scenario.
 *
 * Called by limits-command.ts. Draws the scenario's requests with its seed, and from them takes the
 * lengths of the borrower and how often its lenders run; it simulates nothing.
 */

import { EmaError, suggestNames } from "../base/index.ts";
import { pathBetween } from "../hardware/index.ts";
import {
  lenderLoad,
  lengthsOf,
  measuredBorrower,
  practicalLimit,
  saturatedBorrower,
  type Lender,
  type Limit,
  type PracticalInputs,
  type TimeWindow,
} from "../limits/index.ts";
import {
  readScenario,
  type EngineSettings,
  type PoolSettings,
  type Scenario,
} from "../scenario/index.ts";
import type { RequestTable } from "../workload/index.ts";
import {
  bytesOfCap,
  latencyTo,
  peersOf,
  poolOf,
  sumOfLenders,
  type Choice,
  type Question,
} from "./limits-inputs.ts";

/** An engine with the requests that the scenario's seed draws for it. */
interface LoadedEngine {
  readonly settings: EngineSettings;
  readonly requests: RequestTable;
}

/**
 * @param engineName `null`: the engine that asks for the most, measured in what it can serve alone.
 * @throws EmaError for what the scenario reader refuses, an unknown engine, one without requests.
 */
export function inputsOfScenario(
  path: string,
  source: { readonly set: readonly string[]; readonly traces: readonly string[] },
  engineName: string | null,
  choice: Choice,
): Question {
  const scenario = readScenario(path, source);
  const engines = scenario.engines.map((settings) => ({
    settings,
    requests: servable(settings, settings.requests(scenario.seed)),
  }));
  const pool = poolOf(scenario);
  const names = engines.map(({ settings }) => settings.name);
  const asked =
    engineName === null
      ? mostLoaded(scenario, engines, pool)
      : engines.find(({ settings }) => settings.name === engineName);
  if (asked === undefined) {
    throw new EmaError(
      "E_ARGUMENT",
      `--engine "${engineName}": no such engine in ${path}${suggestNames(engineName ?? "", names)}`,
    );
  }
  if (asked.requests.count === 0) {
    throw new EmaError(
      "E_ARGUMENT",
      `engine ${asked.settings.name} of ${path} has no requests: expected a borrower with work`,
    );
  }
  return questionOf(scenario, engines, asked, pool, choice);
}

function questionOf(
  scenario: Scenario,
  engines: readonly LoadedEngine[],
  asked: LoadedEngine,
  pool: PoolSettings,
  choice: Choice,
): Question {
  const { settings } = asked;
  const mode = choice.mode ?? pool.accessMode;
  const cap = choice.cap ?? pool.borrowLimit;
  const window = windowOf(asked.requests);
  const lenders = lendersOf(scenario, engines, settings.gpuIndex, window, choice.peers);
  const withLenders = (engine: LoadedEngine): PracticalInputs => {
    const alone = practicalAlone(scenario, engine, pool);
    return { ...alone, mode, capBytes: bytesOfCap(cap, alone.borrower.ownKvBytes), lenders };
  };
  const practical = withLenders(servedInTime(asked, practicalLimit(withLenders(asked))));
  const { borrower, capBytes, prefill } = practical;
  const { lengths } = prefill!;
  const bandwidthsAlone = { ...borrower, operators: null };
  const runShares = lenders.map(({ runShare }) => runShare);
  const runShareSum = runShares.reduce((sum, share) => sum + share, 0);
  return {
    engineName: settings.name,
    serverName: scenario.topology.name,
    gpuIndex: settings.gpuIndex,
    gpu: scenario.topology.gpus[settings.gpuIndex]!,
    model: settings.model,
    cap,
    ideal: { borrower: bandwidthsAlone, mode, capBytes, ...sumOfLenders(lenders) },
    practical,
    workload: {
      lengths,
      offeredTokensPerSecond: offeredTokensPerSecond(asked.requests),
      lenderRunShare: lenders.length === 0 ? 0 : runShareSum / lenders.length,
    },
    notes: scenario.notes,
  };
}

/** Statistics begin after this share of the arrival span. */
const WARM_UP_SHARE = 0.1;

/**
 * With the requests that it can serve while statistics are taken, in the order of their arrival. Of
 * a saturated engine's most still wait at the end, and they are longer or shorter by chance: five
 * per cent of the mean context in one of two seeds of scenarios/h100-32b.yaml.
 */
function servedInTime(engine: LoadedEngine, limit: Limit): LoadedEngine {
  const { settings, requests } = engine;
  const { startNs, endNs } = windowOf(requests);
  const tokensMax = (limit.tokensPerSecond * (endNs - startNs)) / 1e9;
  let [tokens, from, count] = [0, 0, 0];
  while (count < requests.count && tokens < tokensMax) {
    tokens += requests.outputTokens[count++]!;
    if (tokens <= WARM_UP_SHARE * tokensMax) from = count;
  }
  if (count === requests.count) return engine;
  const served = {
    count: count - from,
    arrivalNs: requests.arrivalNs.subarray(from, count),
    promptTokens: requests.promptTokens.subarray(from, count),
    outputTokens: requests.outputTokens.subarray(from, count),
  };
  return { settings, requests: served };
}

/** Without the requests that fail at once because no context holds them. */
function servable(settings: EngineSettings, requests: RequestTable): RequestTable {
  const { contextTokensMax } = settings.model;
  const rows: number[] = [];
  for (let row = 0; row < requests.count; row++) {
    const tokens = requests.promptTokens[row]! + requests.outputTokens[row]!;
    if (tokens <= contextTokensMax) rows.push(row);
  }
  return {
    count: rows.length,
    arrivalNs: Float64Array.from(rows, (row) => requests.arrivalNs[row]!),
    promptTokens: Int32Array.from(rows, (row) => requests.promptTokens[row]!),
    outputTokens: Int32Array.from(rows, (row) => requests.outputTokens[row]!),
  };
}

/** Engines on GPUs with a path to the borrower; a GPU without an engine has nobody who lends. */
function lendersOf(
  scenario: Scenario,
  engines: readonly LoadedEngine[],
  borrowerGpu: number,
  window: TimeWindow,
  count: number | null,
): readonly Lender[] {
  const { topology } = scenario;
  const lenders: Lender[] = [];
  for (const gpuIndex of peersOf(topology, borrowerGpu, null)) {
    const engine = engines.find(({ settings }) => settings.gpuIndex === gpuIndex);
    if (engine === undefined) continue;
    const gpu = topology.gpus[gpuIndex]!;
    const { model } = engine.settings;
    const server = measuredBorrower(saturatedBorrower(gpu, model, 1), gpu, model);
    const load = lenderLoad(server, engine.requests, engine.settings.maxSequences, window);
    lenders.push({
      idleLendableBytes: server.ownKvBytes,
      runningLendableBytes: server.ownKvBytes - load.residentBytes,
      runShare: load.runShare,
      hbmBytesPerSecond: gpu.hbmBytesPerSecond,
      pathBytesPerSecond: pathBetween(topology, gpuIndex, borrowerGpu)?.bytesPerSecond ?? 0,
    });
  }
  if (count !== null && count > lenders.length) {
    throw new EmaError(
      "E_ARGUMENT",
      `--peers ${count}: the scenario has ${lenders.length} other engines that can lend`,
    );
  }
  return lenders.slice(0, count ?? lenders.length);
}

/** The engine on its own GPU: nobody lends. */
function practicalAlone(
  scenario: Scenario,
  engine: LoadedEngine,
  pool: PoolSettings,
): PracticalInputs {
  const { settings, requests } = engine;
  const lengths = lengthsOf(requests.promptTokens, requests.outputTokens);
  const gpu = scenario.topology.gpus[settings.gpuIndex]!;
  const borrower = saturatedBorrower(gpu, settings.model, lengths.contextTokens);
  return {
    borrower: measuredBorrower(borrower, gpu, settings.model),
    mode: pool.accessMode,
    capBytes: 0,
    lenders: [],
    lenderShare: pool.lenderShare,
    sliceBytes: pool.sliceBytes,
    blockTokens: settings.blockTokens,
    copySeconds: pool.copyCostSeconds,
    latencySeconds: latencyTo(scenario.topology, settings.gpuIndex),
    sequencesMax: settings.maxSequences,
    areSequencesWhole: false,
    prefill: { lengths, batchTokensMax: settings.maxBatchTokens },
  };
}

function mostLoaded(
  scenario: Scenario,
  engines: readonly LoadedEngine[],
  pool: PoolSettings,
): LoadedEngine | undefined {
  let most = engines[0];
  let mostLoad = -1;
  for (const engine of engines) {
    if (engine.requests.count === 0) continue;
    const served = practicalLimit(practicalAlone(scenario, engine, pool)).static.tokensPerSecond;
    const load = offeredTokensPerSecond(engine.requests) / served;
    if (load > mostLoad) {
      mostLoad = load;
      most = engine;
    }
  }
  return most;
}

function offeredTokensPerSecond(requests: RequestTable): number {
  const { startNs, endNs } = windowOf(requests);
  const tokens = requests.outputTokens.reduce((sum, output) => sum + output, 0);
  return (tokens * 1e9) / (endNs - startNs);
}

/** From the first arrival to the last; a second long where there is but one moment of arrival. */
function windowOf(requests: RequestTable): TimeWindow {
  const startNs = requests.arrivalNs[0]!;
  const endNs = requests.arrivalNs[requests.count - 1]!;
  return { startNs, endNs: endNs > startNs ? endNs : startNs + 1e9 };
}
