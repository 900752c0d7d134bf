/**
 * Replays the arrivals of a log on one engine in virtual time.
 *
 * Called by validate.ts. The engine, its scheduler and its cache are the production ones, set up
 * as vLLM V1 is: a step decided ahead, admission by present need, blocks as the unit of memory, a
 * preempted request finding its own blocks. Only the loop is its own: vLLM takes requests in
 * between steps and stamps them there, so a request is handed over at the end of a step, and that
 * time is its `queued_ts`, as it is in the log.
 *
 * Invariant: every request ends; times are those of step ends.
 */

import { assert, engineId } from "../base/index.ts";
import {
  Engine,
  type EngineFailure,
  type EngineOptions,
  type EngineSink,
} from "../engine/index.ts";
import { topologyFrom, type CostModel, type Gpu, type ModelShape } from "../hardware/index.ts";
import { createKvLayout } from "../kvcache/index.ts";
import { Pool } from "../pool/index.ts";
import { CostedCopies, CostedRunner, ServerLoad } from "../sim/index.ts";
import type { RealLog } from "./request-log.ts";
import type { RunMeta } from "./run-meta.ts";
import type { RequestTimes } from "./statistics.ts";

export interface ReplaySetup {
  readonly gpu: Gpu;
  readonly model: ModelShape;
  readonly meta: RunMeta;
  readonly cost: CostModel;
  /** vLLM keeps one of them as its null block. */
  readonly blockCount: number;
}

export interface Replay extends RequestTimes {
  readonly failed: number;
  readonly preemptions: number;
  readonly restoredTokens: number;
  readonly steps: number;
}

/** Nothing is moved and nobody lends: any finite figures serve. */
const NO_LINK = { portBytesPerSecond: 1e9, copyCostNs: 1000, latencyNs: 1000 };

export function replay(log: RealLog, setup: ReplaySetup): Replay {
  const times = new TimeSink(log.count);
  const engine = createEngine(setup, times);
  let next = 0;
  let nowNs = 0;
  for (;;) {
    while (next < log.count && log.queuedNs[next]! <= nowNs) {
      times.queuedNs[next] = nowNs;
      engine.submit(next, log.promptTokens[next]!, log.outputTokens[next]!, nowNs);
      next++;
    }
    engine.tick(nowNs);
    // An idle engine wakes for a request; a busy one looks when its step has ended.
    const dueNs = engine.nextDueNs();
    const isIdle = dueNs === Infinity;
    if (isIdle && next === log.count) break;
    nowNs = isIdle ? log.queuedNs[next]! : Math.max(dueNs, nowNs);
  }
  assert(times.ended === log.count, () => `replay: ${times.ended} of ${log.count} ended`);
  return {
    queuedNs: times.queuedNs,
    firstTokenNs: times.firstTokenNs,
    lastTokenNs: times.lastTokenNs,
    failed: times.failures,
    preemptions: engine.counters.preemptions,
    restoredTokens: engine.scheduler.restoredTokens,
    steps: engine.counters.steps,
  };
}

/** Keeps when each request got its first and last token. */
class TimeSink implements EngineSink {
  readonly queuedNs: Float64Array;
  readonly firstTokenNs: Float64Array;
  readonly lastTokenNs: Float64Array;
  ended = 0;
  failures = 0;

  constructor(count: number) {
    this.queuedNs = new Float64Array(count).fill(NaN);
    this.firstTokenNs = new Float64Array(count).fill(NaN);
    this.lastTokenNs = new Float64Array(count).fill(NaN);
  }

  token(request: number, isFirst: boolean, _gapNs: number, nowNs: number): boolean {
    if (isFirst) this.firstTokenNs[request] = nowNs;
    return false;
  }

  finished(request: number, nowNs: number): void {
    this.lastTokenNs[request] = nowNs;
    this.ended++;
  }

  failed(_request: number, _reason: EngineFailure): void {
    this.failures++;
    this.ended++;
  }

  ran(): void {}

  note(): void {}
}

function createEngine(setup: ReplaySetup, sink: EngineSink): Engine {
  const { gpu } = setup;
  const options = engineOptions(setup);
  const topology = topologyFrom(gpu.name, [gpu.name], "pcie");
  const load = new ServerLoad(topology, "subtractive", null);
  const pool = new Pool({
    members: [{ device: 0, sliceCount: options.ownSlices, borrowLimitSlices: 0 }],
    pathBytesPerSecond: new Float64Array(1),
    refillDeadlineNs: 1e9,
    accountWindowNs: 1e9,
  });
  const gpuOfSource = Int32Array.of(-1, -1, -1);
  const runner = new CostedRunner(
    {
      gpu: 0,
      layers: setup.model.layers,
      link: NO_LINK,
      gpuOfSource,
      portOfGpu: Float64Array.of(NO_LINK.portBytesPerSecond),
    },
    load,
  );
  const copies = new CostedCopies(
    {
      ...NO_LINK,
      gpu: 0,
      gpuOfSource,
      gpuCount: 1,
      pathBytesPerSecond: new Float64Array(1),
      hostBytesPerSecond: gpu.hostBytesPerSecond,
      paceOf: () => Infinity,
    },
    load,
  );
  return new Engine(options, pool, runner, copies, sink);
}

function engineOptions(setup: ReplaySetup): EngineOptions {
  const { gpu, model, meta, cost, blockCount } = setup;
  const blockBytes = model.kvBytesPerToken * meta.blockTokens;
  const ownSlices = blockCount - 1;
  return {
    engine: engineId(0),
    engineCount: 1,
    isElastic: false,
    layout: createKvLayout(model.kvBytesPerToken, model.layers, meta.blockTokens, blockBytes),
    cost,
    ownSlices,
    slicesOf: [ownSlices],
    borrowSlicesMax: 0,
    sourceOfRow: new Int16Array(ownSlices),
    hostRows: [],
    pathBytesPerSecond: new Float64Array(3),
    portBytesPerSecond: NO_LINK.portBytesPerSecond,
    hbmBytesPerSecond: Float64Array.of(gpu.hbmBytesPerSecond, gpu.hbmBytesPerSecond, Infinity),
    link: NO_LINK,
    lenderShare: null,
    accessMode: "mixed",
    headroom: { kind: "none" },
    refillNs: 1e9,
    maxBatchTokens: meta.maxBatchTokens,
    maxSequences: meta.maxSequences,
    contextTokensMax: meta.contextTokensMax ?? model.contextTokensMax,
    tpotTargetNs: 1e9,
    admission: {
      name: "present",
      growthShare: 0,
      present: meta.reservesPrompt ? "prompt" : "chunk",
    },
    headTimeoutNs: Infinity,
    parkedMaxNs: Infinity,
    stepsAhead: meta.isAsync ? 1 : 0,
    remembersFreed: meta.isPrefixCached,
  };
}
