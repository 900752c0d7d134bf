/**
 * One saturated borrower in the simulator, and what its decode steps do once nothing changes.
 *
 * Called by limit-sweep.ts and by the tests that hold the simulator to the closed form. It drives
 * the cluster itself, because a run's record has no single steps.
 *
 * Every request has the same lengths and all arrive at once, so that in the steps looked at nobody
 * starts or ends, and every sequence is at about the same context. Memory stays full all the while:
 * as contexts grow, the youngest sequence gives way. GPU 0 has the requests, the others lend;
 * they have no work, or one sequence each that never ends. Steps that take in prompts are left out.
 */

import { createCostModel } from "../src/hardware/index.ts";
import { quickScenario, type AccessMode, type Scenario } from "../src/scenario/index.ts";
import { buildCluster, Digest, type AdmissionSetting } from "../src/sim/index.ts";
import { ROLE_TIMES, type StepRunner } from "../src/engine/index.ts";
import type { RequestTable } from "../src/workload/index.ts";

export interface SteadyCase {
  /** A short name like 4xh100; GPU 0 borrows, all others lend. */
  readonly server: string;
  readonly model: string;
  /** A multiple of 16. */
  readonly contextTokens: number;
  readonly mode: AccessMode;
  /** As `--set pool.borrowLimit=`: 100% or none. */
  readonly cap: string;
  /** Whether each lender runs a sequence of its own all the time. */
  readonly areLendersRunning: boolean;
}

/** Means over the decode steps looked at; bytes are those of one step. */
export interface SteadyState {
  readonly tokensPerSecond: number;
  readonly stepSeconds: number;
  readonly sequences: number;
  readonly contextTokens: number;
  readonly remoteBytes: number;
  readonly stagedBytes: number;
  readonly borrowedBytes: number;
  readonly steps: number;
  /** How many of them fell into each whole number of blocks of the mean context, rounded up. */
  readonly stepsByBlocks: ReadonlyMap<number, number>;
  /** The same steps had all KV been local. */
  readonly localSeconds: number;
}

/** Decode steps before those looked at: loans, moves and the staging ring come to rest. */
const WARM_UP_STEPS = 200;
/** Decode steps looked at: the last ones below the context asked for. */
const STEPS = 64;
export const BLOCK_TOKENS = 16;

export function steadyScenario(asked: SteadyCase, requests: number): Scenario {
  const { server, model, mode, cap } = asked;
  const scenario = quickScenario({
    server,
    model,
    traces: [],
    // The closed form's lenders keep nothing back.
    set: [`pool.accessMode=${mode}`, `pool.borrowLimit=${cap}`, "pool.headroom=0%"],
  });
  const table = requestsOf(scenario, asked.contextTokens, requests);
  const engines = scenario.engines.map((engine, index) => {
    if (index === 0) return { ...engine, ...SATURATED, requests: () => table };
    const { contextTokensMax } = engine.model;
    const busy = { ...engine, requests: () => oneRequest(contextTokensMax) };
    return asked.areLendersRunning ? busy : engine;
  });
  return { ...scenario, engines, slo: { ttftSeconds: 1e3, tpotSeconds: 1e3 } };
}

/** All at once, and long enough that none ends before the steps looked at are over. */
function requestsOf(scenario: Scenario, contextTokens: number, count: number): RequestTable {
  const { model } = scenario.engines[0]!;
  const more = Math.min(model.contextTokensMax - contextTokens, 512);
  const growth = WARM_UP_STEPS + STEPS;
  return {
    count,
    arrivalNs: new Float64Array(count),
    promptTokens: new Int32Array(count).fill(contextTokens - growth),
    outputTokens: new Int32Array(count).fill(growth + more),
  };
}

/** Long enough to outlast the borrower's steps. */
function oneRequest(contextTokensMax: number): RequestTable {
  const outputTokens = Math.min(4000, contextTokensMax - BLOCK_TOKENS);
  return {
    count: 1,
    arrivalNs: Float64Array.of(0),
    promptTokens: Int32Array.of(BLOCK_TOKENS),
    outputTokens: Int32Array.of(outputTokens),
  };
}

/** Prompts go together, so that most steps only decode; no bound on the batch but memory. */
const SATURATED = { maxBatchTokens: 1 << 16, maxSequences: 4096 };

/** @param requests more than memory has room for. */
export function steadyState(
  asked: SteadyCase,
  requests: number,
  admission: AdmissionSetting,
  system: "static" | "double" | "ema" = "ema",
): SteadyState {
  const scenario = steadyScenario(asked, requests);
  const chosen = scenario.systems.find(({ base }) => base === system)!;
  const watch = new StepWatch(scenario);
  const cluster = buildCluster(scenario, chosen, 1, admission, new Digest(), {
    runner: (runner, engine) => (engine === 0 ? watch.over(runner) : runner),
    // The shortage has lasted: here it never ends.
    roleTimes: { ...ROLE_TIMES, shortageNs: 0 },
  });
  const { recorder, engine, sliceBytes } = cluster.members[0]!;
  const token = recorder.token.bind(recorder);
  recorder.token = (request, isFirst, gapNs, nowNs) => {
    watch.token(request);
    return token(request, isFirst, gapNs, nowNs);
  };
  while (cluster.openRequests > 0 && watch.context <= asked.contextTokens && cluster.step()) {
    watch.isCounting = watch.context > asked.contextTokens - STEPS;
    watch.borrowedBytes = engine.arena.borrowedSlices * sliceBytes;
    watch.settle();
  }
  return watch.means();
}

class StepWatch {
  /** Mean over the last step that only decoded. */
  context = 0;
  isCounting = false;
  borrowedBytes = 0;
  readonly #cost: ReturnType<typeof createCostModel>;
  readonly #layers: number;
  readonly #made: Int32Array;
  readonly #promptTokens: Int32Array;
  #linearNs = 0;
  #runner: StepRunner | null = null;
  /** Of the step that has just ended. */
  #stepTokens = 0;
  #stepContext = 0;
  #hasEnded = false;
  #ended = { ns: 0, local: 0, linear: 0, remote: 0, staged: 0 };
  readonly #sums = {
    steps: 0,
    ns: 0,
    local: 0,
    tokens: 0,
    context: 0,
    remote: 0,
    staged: 0,
    borrowed: 0,
  };
  readonly #stepsByBlocks = new Map<number, number>();
  #remote = 0;
  #staged = 0;

  constructor(scenario: Scenario) {
    const { gpuIndex, model, requests } = scenario.engines[0]!;
    this.#cost = createCostModel(scenario.topology.gpus[gpuIndex]!, model);
    this.#layers = model.layers;
    const table = requests(1);
    this.#made = new Int32Array(table.count);
    this.#promptTokens = table.promptTokens;
  }

  over(runner: StepRunner): StepRunner {
    this.#runner = runner;
    return {
      timing: runner.timing,
      submit: (work, nowNs) => {
        this.#linearNs = work.compute.linearLayerNs;
        runner.submit(work, nowNs);
        this.#staged = sum(work.readSet.stagedBytes) * this.#layers;
        this.#remote = this.#staged + sum(work.readSet.directBytes) * this.#layers;
      },
      interrupt: (nowNs) => runner.interrupt(nowNs),
      resume: (work) => runner.resume(work),
      poll: (nowNs) => {
        const ended = runner.poll(nowNs);
        if (ended) this.#end();
        return ended;
      },
      rest: (nowNs) => runner.rest(nowNs),
      nextDueNs: () => runner.nextDueNs(),
      isForeseen: runner.isForeseen,
    };
  }

  #end(): void {
    const { startNs, endNs, localNs } = this.#runner!.timing;
    this.#ended = {
      ns: endNs - startNs,
      local: localNs,
      linear: this.#linearNs,
      remote: this.#remote,
      staged: this.#staged,
    };
    this.#hasEnded = true;
  }

  token(request: number): void {
    this.#stepTokens++;
    // The step read what there was before this token, its own query's KV included.
    this.#stepContext += this.#promptTokens[request]! + this.#made[request]!++;
  }

  /** After a tick: the step that ended in it, if any, counts if it only decoded. */
  settle(): void {
    if (!this.#hasEnded) return;
    this.#hasEnded = false;
    const isDecode = this.#ended.linear === this.#cost.linearLayerNs(this.#stepTokens);
    if (isDecode) this.context = this.#stepContext / this.#stepTokens;
    if (this.isCounting && isDecode) {
      const sums = this.#sums;
      sums.steps++;
      const blocks = Math.ceil(this.context / BLOCK_TOKENS);
      this.#stepsByBlocks.set(blocks, (this.#stepsByBlocks.get(blocks) ?? 0) + 1);
      sums.ns += this.#ended.ns;
      sums.local += this.#ended.local;
      sums.tokens += this.#stepTokens;
      sums.context += this.#stepContext;
      sums.remote += this.#ended.remote;
      sums.staged += this.#ended.staged;
      sums.borrowed += this.borrowedBytes;
    }
    this.#stepTokens = 0;
    this.#stepContext = 0;
  }

  means(): SteadyState {
    const { steps, ns, local, tokens, context, remote, staged, borrowed } = this.#sums;
    return {
      tokensPerSecond: (tokens * 1e9) / ns,
      stepSeconds: ns / steps / 1e9,
      localSeconds: local / steps / 1e9,
      sequences: tokens / steps,
      contextTokens: context / tokens,
      remoteBytes: remote / steps,
      stagedBytes: staged / steps,
      borrowedBytes: borrowed / steps,
      steps,
      stepsByBlocks: this.#stepsByBlocks,
    };
  }
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
