/**
 * Builds a costed cluster for one system of a scenario: sizes, paths, options.
 *
 * Called by simulate.ts and by simulation tests. Systems differ in numbers only: `double` has twice
 * the KV memory of each engine, `static` and `double` take no part in lending.
 */

import { EmaError, engineId } from "../base/index.ts";
import { kvMemoryBytes, pathBetween, type Topology } from "../hardware/index.ts";
import {
  Engine,
  ROLE_TIMES,
  WAIT_TIMES,
  type CopyEngine,
  type EngineOptions,
  type EngineSink,
  type RoleTimes,
  type StepRunner,
} from "../engine/index.ts";
import { createKvLayout, laySliceRows, type KvLayout } from "../kvcache/index.ts";
import { lendableSlices, Pool, type FinishedRecall } from "../pool/index.ts";
import type { MemoryLimit, Scenario, SystemSettings } from "../scenario/index.ts";
import type { AdmissionSetting } from "../scheduler/index.ts";
import type { RequestTable } from "../workload/index.ts";
import { Cluster, type ClusterMember } from "./cluster.ts";
import { CostModels } from "./cost-models.ts";
import { CostedCopies } from "./costed-copies.ts";
import { CostedRunner } from "./costed-runner.ts";
import type { Digest } from "./digest.ts";
import { Recorder, windowOf } from "./recorder.ts";
import type { Window } from "./run-record.ts";
import { ServerLoad } from "./server-load.ts";

/** Where tests put watchers and faults between an engine and what it uses; nothing else does. */
export interface ClusterSeams {
  pool?(pool: Pool): Pool;
  runner?(runner: StepRunner, engine: number): StepRunner;
  copies?(copies: CopyEngine, engine: number): CopyEngine;
  sink?(sink: EngineSink, engine: number): EngineSink;
  /** Ten minutes of waiting are many events in a small simulation. */
  readonly headTimeoutNs?: number;
  /** So are a minute after lending and a long shortage before borrowing. */
  readonly roleTimes?: RoleTimes;
}

/** What an engine has: whole slices of its own KV memory. */
export interface EngineMemorySize {
  readonly layout: KvLayout;
  readonly ownSlices: number;
  readonly kvBytes: number;
  readonly kvTokens: number;
}

export function memorySizes(scenario: Scenario, system: SystemSettings): EngineMemorySize[] {
  const factor = system.base === "double" ? 2 : 1;
  return scenario.engines.map((engine) => {
    const gpu = scenario.topology.gpus[engine.gpuIndex]!;
    const { model, blockTokens } = engine;
    const { sliceBytes } = system.pool;
    const layout = createKvLayout(model.kvBytesPerToken, model.layers, blockTokens, sliceBytes);
    const ownSlices = Math.floor((factor * kvMemoryBytes(gpu, model)) / sliceBytes);
    if (ownSlices < 1) {
      throw new EmaError("E_SYSTEM", `engine ${engine.name}: its KV memory holds no slice`);
    }
    const kvTokens = ownSlices * layout.blocksPerSlice * blockTokens;
    return { layout, ownSlices, kvBytes: ownSlices * sliceBytes, kvTokens };
  });
}

/** @returns slices, Infinity for none; always of the engine's own memory, never of `double`'s. */
export function limitSlices(limit: MemoryLimit, ownSlices: number, sliceBytes: number): number {
  switch (limit.kind) {
    case "none":
      return Infinity;
    case "share":
      return Math.floor(limit.share * ownSlices);
    case "bytes":
      return Math.floor(limit.bytes / sliceBytes);
  }
}

export function totalWindowOf(tables: readonly RequestTable[]): Window {
  let firstNs = Infinity;
  let lastNs = -Infinity;
  for (const table of tables) {
    if (table.count === 0) continue;
    firstNs = Math.min(firstNs, table.arrivalNs[0]!);
    lastNs = Math.max(lastNs, table.arrivalNs[table.count - 1]!);
  }
  if (lastNs < firstNs) return { startNs: 0, endNs: 0 };
  return windowOf({
    count: 2,
    arrivalNs: Float64Array.of(firstNs, lastNs),
    promptTokens: new Int32Array(2),
    outputTokens: new Int32Array(2),
  });
}

export function buildCluster(
  scenario: Scenario,
  system: SystemSettings,
  seed: number,
  admission: AdmissionSetting,
  digest: Digest,
  seams: ClusterSeams = {},
): Cluster {
  const { topology, engines } = scenario;
  const sizes = memorySizes(scenario, system);
  const tables = engines.map((engine) => engine.requests(seed));
  const totalWindow = totalWindowOf(tables);
  const load = new ServerLoad(topology, system.pool.interference, system.pool.lenderShare);
  const recalls: FinishedRecall[] = [];
  const made = new Pool({
    members: engines.map((engine, index) => ({
      device: engine.gpuIndex,
      sliceCount: sizes[index]!.ownSlices,
      borrowLimitSlices: borrowLimitSlices(system, sizes[index]!),
    })),
    pathBytesPerSecond: enginePaths(scenario),
    refillDeadlineNs: WAIT_TIMES.refillNs,
    accountWindowNs: WAIT_TIMES.accountWindowNs,
    onRecallFinished: (recall) => recalls.push(recall),
  });
  const pool = seams.pool?.(made) ?? made;
  const costModels = new CostModels(scenario);
  const members: ClusterMember[] = engines.map((engine, index) => {
    const recorder = new Recorder(tables[index]!, index, totalWindow, digest);
    const options = engineOptions(scenario, system, sizes, index, admission, costModels, seams);
    const gpuOfSource = Int32Array.of(engine.gpuIndex, ...engines.map((e) => e.gpuIndex), -1);
    const runner = new CostedRunner(
      {
        gpu: engine.gpuIndex,
        layers: engine.model.layers,
        link: options.link,
        gpuOfSource: withoutOwn(gpuOfSource, index),
        portOfGpu: Float64Array.from(topology.gpus, (gpu) => gpu.portBytesPerSecond),
      },
      load,
    );
    const copies = new CostedCopies(
      {
        gpu: engine.gpuIndex,
        gpuOfSource,
        gpuCount: topology.gpus.length,
        pathBytesPerSecond: gpuPaths(topology),
        hostBytesPerSecond: topology.gpus[engine.gpuIndex]!.hostBytesPerSecond,
        copyCostNs: options.link.copyCostNs,
        latencyNs: options.link.latencyNs,
        paceOf: (gpu) => paceOf(scenario, system, pool, gpu),
      },
      load,
    );
    const running = new Engine(
      options,
      pool,
      seams.runner?.(runner, index) ?? runner,
      seams.copies?.(copies, index) ?? copies,
      seams.sink?.(recorder, index) ?? recorder,
    );
    const [requests, gpu] = [tables[index]!, engine.gpuIndex];
    return { engine: running, gpu, recorder, requests, sliceBytes: system.pool.sliceBytes };
  });
  return new Cluster(members, pool, load, recalls);
}

/** @returns slices an engine may borrow in this system; Infinity for no cap. */
export function borrowLimitSlices(system: SystemSettings, size: EngineMemorySize): number {
  if (system.base !== "ema") return 0;
  return limitSlices(system.pool.borrowLimit, size.ownSlices, system.pool.sliceBytes);
}

/** What a running GPU gives to others' moves; without limit when it does not run. */
function paceOf(scenario: Scenario, system: SystemSettings, pool: Pool, gpu: number): number {
  const { lenderShare } = system.pool;
  const index = scenario.engines.findIndex((engine) => engine.gpuIndex === gpu);
  if (index < 0 || lenderShare === null || !pool.isRunning(engineId(index))) return Infinity;
  const share = lenderShare * scenario.topology.gpus[gpu]!.hbmBytesPerSecond;
  return share / Math.max(1, pool.borrowersOf(engineId(index)));
}

function withoutOwn(gpuOfSource: Int32Array, index: number): Int32Array {
  const result = Int32Array.from(gpuOfSource);
  result[0] = -1;
  result[index + 1] = -1;
  return result;
}

/** (engines x engines) how fast borrower b reads lender l, at [l * n + b]. */
function enginePaths(scenario: Scenario): Float64Array {
  const { engines, topology } = scenario;
  const paths = new Float64Array(engines.length * engines.length);
  engines.forEach((lender, l) => {
    engines.forEach((borrower, b) => {
      const path = l === b ? null : pathBetween(topology, lender.gpuIndex, borrower.gpuIndex);
      paths[l * engines.length + b] = path?.bytesPerSecond ?? 0;
    });
  });
  return paths;
}

function gpuPaths(topology: Topology): Float64Array {
  return Float64Array.from(topology.paths, (path) => path?.bytesPerSecond ?? 0);
}

/** What one engine of a scenario is told. */
export function engineOptions(
  scenario: Scenario,
  system: SystemSettings,
  sizes: readonly EngineMemorySize[],
  index: number,
  admission: AdmissionSetting,
  costModels: CostModels,
  times: Pick<ClusterSeams, "headTimeoutNs" | "roleTimes"> = {},
): EngineOptions {
  const { engines, topology, slo } = scenario;
  const engine = engines[index]!;
  const gpu = topology.gpus[engine.gpuIndex]!;
  const size = sizes[index]!;
  const paths = enginePaths(scenario);
  const n = engines.length;
  const isElastic = system.base === "ema";
  const slicesOf = sizes.map(({ ownSlices }) => ownSlices);
  const limit = borrowLimitSlices(system, size);
  const reachable = sizes.filter((_, lender) => paths[lender * n + index]! > 0);
  const lent = reachable.map(({ ownSlices }) => lendableSlices(ownSlices, system.pool));
  const others = lent.reduce((sum, slices) => sum + slices, 0);
  return {
    engine: engineId(index),
    engineCount: n,
    isElastic,
    layout: size.layout,
    cost: costModels.of(index),
    ownSlices: size.ownSlices,
    slicesOf,
    borrowSlicesMax: Math.min(limit, others),
    ...laySliceRows(slicesOf, index, isElastic),
    pathBytesPerSecond: Float64Array.of(0, ...engines.map((_, l) => paths[l * n + index]!), 0),
    portBytesPerSecond: gpu.portBytesPerSecond,
    hbmBytesPerSecond: Float64Array.of(
      gpu.hbmBytesPerSecond,
      ...engines.map((other) => topology.gpus[other.gpuIndex]!.hbmBytesPerSecond),
      Infinity,
    ),
    link: {
      portBytesPerSecond: gpu.portBytesPerSecond,
      copyCostNs: system.pool.copyCostSeconds * 1e9,
      latencyNs: latencyNs(scenario, index),
    },
    lenderShare: system.pool.lenderShare,
    accessMode: system.pool.accessMode,
    headroom: system.pool.headroom,
    refillNs: WAIT_TIMES.refillNs,
    maxBatchTokens: engine.maxBatchTokens,
    maxSequences: engine.maxSequences,
    contextTokensMax: engine.model.contextTokensMax,
    tpotTargetNs: slo.tpotSeconds * 1e9,
    admission,
    headTimeoutNs: times.headTimeoutNs ?? WAIT_TIMES.headTimeoutNs,
    parkedMaxNs: WAIT_TIMES.parkedMaxNs,
    roleTimes: times.roleTimes ?? ROLE_TIMES,
  };
}

function latencyNs(scenario: Scenario, index: number): number {
  const { engines, topology } = scenario;
  const target = engines[index]!.gpuIndex;
  let latencySeconds = 0;
  for (const other of engines) {
    const path = pathBetween(topology, other.gpuIndex, target);
    if (path !== null) latencySeconds = Math.max(latencySeconds, path.latencySeconds);
  }
  return latencySeconds * 1e9;
}
