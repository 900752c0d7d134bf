/**
 * One server under `static`, under `static` with less bandwidth and under `ema`.
 *
 * Called by the sweep, by the shrinker and by tests. All runs share requests, seed and admission
 * setting, and no run is given what `static` cannot serve (same-work.ts): what an engine's users
 * see differently then comes from lending alone. It hands out columns by request and judges
 * nothing.
 */

import { assert } from "../../src/base/index.ts";
import type { PoolSettings, Scenario, SystemSettings } from "../../src/scenario/index.ts";
import {
  ADMISSION_SETTINGS,
  simulate,
  type AdmissionSetting,
  type EngineRecord,
  type RunRecord,
} from "../../src/sim/index.ts";
import { refusedBy, withoutRequests } from "./same-work.ts";

/** One run's requests of one engine, in the order of their arrival. */
export interface RequestColumns {
  /** Infinity for a request that failed: its user waits for ever. */
  readonly ttftNs: Float64Array;
  /** NaN for a request of one output token, Infinity for one that failed. */
  readonly tpotNs: Float64Array;
  /** Output tokens inside the window, laid evenly between the first and the last. */
  readonly windowTokens: Float64Array;
  /** 1 for a request that finished inside the window and met the SLO. */
  readonly isGood: Float64Array;
}

export interface EnginePair {
  readonly name: string;
  readonly hasBorrowed: boolean;
  readonly hasLent: boolean;
  readonly finished: number;
  readonly ema: RequestColumns;
  readonly static: RequestColumns;
  /** `static` on what lenderShare leaves of the bandwidth. */
  readonly slowed: RequestColumns;
}

export interface PairedRuns {
  readonly engines: readonly EnginePair[];
  readonly ema: RunRecord;
  readonly static: RunRecord;
  /** Requests that `static` cannot serve, and that no run was given. */
  readonly leftOut: number;
}

/** What a test changes about the system that is judged: a bug planted in its settings. */
export type PoolChange = (pool: PoolSettings) => PoolSettings;

export function runPairs(
  drawn: Scenario,
  admissionName: string,
  plant: PoolChange = (pool) => pool,
): PairedRuns {
  const admission = admissionNamed(admissionName);
  const share = drawn.pool.lenderShare ?? 0;
  const run = (base: "static" | "ema", on: Scenario, pool: PoolSettings): RunRecord => {
    const system: SystemSettings = { name: base, base, pool };
    return simulate(on, system, drawn.seed, admission);
  };
  const { scenario, plain, leftOut } = sameWork(drawn, (on) => run("static", on, on.pool));
  const slower = withBandwidth(scenario, 1 - share);
  const slowed = share > 0 ? run("static", slower, scenario.pool) : plain;
  const ema = run("ema", scenario, plant(scenario.pool));
  const engines = enginePairs(scenario, ema, plain, slowed);
  return { engines, ema, static: plain, leftOut };
}

/** @param ema the run that is judged: of lending, or of whatever else is held against `plain`. */
export function enginePairs(
  { slo }: Scenario,
  ema: RunRecord,
  plain: RunRecord,
  slowed: RunRecord,
): EnginePair[] {
  return ema.engines.map((engine, index): EnginePair => {
    const columns = (record: RunRecord): RequestColumns => columnsOf(record.engines[index]!, slo);
    return {
      name: engine.name,
      hasBorrowed: engine.borrowed.maxBytes > 0,
      hasLent: engine.lent.maxBytes > 0,
      finished: finishedOf(engine),
      ema: columns(ema),
      static: columns(plain),
      slowed: columns(slowed),
    };
  });
}

/** The scenario without what `static` cannot serve, and its run of the rest. */
export function sameWork(
  drawn: Scenario,
  run: (on: Scenario) => RunRecord,
): { scenario: Scenario; plain: RunRecord; leftOut: number } {
  const plain = run(drawn);
  const refused = refusedBy(plain);
  const leftOut = refused.reduce((sum, rows) => sum + rows.size, 0);
  if (leftOut === 0) return { scenario: drawn, plain, leftOut };
  const scenario = withoutRequests(drawn, refused);
  return { scenario, plain: run(scenario), leftOut };
}

export function admissionNamed(name: string): AdmissionSetting {
  const found = ADMISSION_SETTINGS.find((setting) => setting.name === name);
  assert(found !== undefined, `sweep: no admission setting is named ${name}`);
  return found;
}

/** Every GPU's HBM at a share of its speed; links, memory and requests as they are. */
export function withBandwidth(scenario: Scenario, share: number): Scenario {
  const gpus = scenario.topology.gpus.map((gpu) => ({
    ...gpu,
    hbmPeakBytesPerSecond: gpu.hbmPeakBytesPerSecond * share,
    hbmBytesPerSecond: gpu.hbmBytesPerSecond * share,
  }));
  return { ...scenario, topology: { ...scenario.topology, gpus } };
}

function finishedOf({ requests }: EngineRecord): number {
  let finished = 0;
  for (let row = 0; row < requests.count; row++) {
    if (!Number.isNaN(requests.lastTokenNs[row]!)) finished++;
  }
  return finished;
}

function columnsOf({ requests, window }: EngineRecord, slo: Scenario["slo"]): RequestColumns {
  const { count } = requests;
  const columns = {
    ttftNs: new Float64Array(count).fill(Infinity),
    tpotNs: new Float64Array(count).fill(Infinity),
    windowTokens: new Float64Array(count),
    isGood: new Float64Array(count),
  };
  for (let row = 0; row < count; row++) {
    const firstNs = requests.firstTokenNs[row]!;
    const lastNs = requests.lastTokenNs[row]!;
    if (Number.isNaN(lastNs)) continue;
    const gaps = requests.outputTokens[row]! - 1;
    const ttftNs = firstNs - requests.arrivalNs[row]!;
    const tpotNs = gaps > 0 ? (lastNs - firstNs) / gaps : NaN;
    columns.ttftNs[row] = ttftNs;
    columns.tpotNs[row] = tpotNs;
    const isInside = (ns: number): boolean => ns >= window.startNs && ns < window.endNs;
    columns.windowTokens[row] = isInside(firstNs) ? 1 : 0;
    if (gaps > 0) {
      const fromNs = Math.max(firstNs, window.startNs);
      const toNs = Math.min(lastNs, window.endNs);
      const insideNs = Math.max(0, toNs - fromNs);
      if (insideNs > 0) columns.windowTokens[row]! += (gaps * insideNs) / (lastNs - firstNs);
    }
    const isFast = ttftNs <= slo.ttftSeconds * 1e9 && !(tpotNs > slo.tpotSeconds * 1e9);
    columns.isGood[row] = isFast && isInside(lastNs) ? 1 : 0;
  }
  return columns;
}
