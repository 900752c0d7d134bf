/**
 * One simulated run of a borrower with its steps added up: what they held, made and took.
 *
 * Called by headline-breakdown.ts. It drives the cluster itself, because a run's record has no
 * single steps, and looks at each step of one engine when it is submitted and when it has ended.
 * It knows no closed form.
 *
 * Invariant: the tokens of the steps of a window are those that the recorder counts in it.
 */

import { createCostModel, type CostModel } from "../src/hardware/index.ts";
import type { StepRunner, StepTiming, StepWork } from "../src/engine/index.ts";
import type { Scenario, SystemSettings } from "../src/scenario/index.ts";
import { memorySizes } from "../src/sim/build-cluster.ts";
import {
  buildCluster,
  Digest,
  type AdmissionSetting,
  type ClusterMember,
} from "../src/sim/index.ts";

/** Sums over the steps that ended within the window; times in nanoseconds. */
export interface StepSums {
  windowNs: number;
  steps: number;
  /** Steps that take in prompts. */
  promptSteps: number;
  tokens: number;
  /** Sequences that hold blocks, and the blocks they hold. */
  residents: number;
  usedBlocks: number;
  /** Blocks of all slices that may serve sequences: own less ring, and borrowed. */
  capacityBlocks: number;
  ownBlocks: number;
  ringBlocks: number;
  borrowedBlocks: number;
  /** KV tokens read by decodes, and how many decodes. */
  contextTokens: number;
  decodes: number;
  /** Whole steps, the same with all KV local, and of those what decodes alone would have taken. */
  stepNs: number;
  localNs: number;
  decodeNs: number;
  /** What prompts computed anew after a preemption added; the rest of local - decode is others. */
  recomputeNs: number;
  /** Of steps that only decode, and of those with prompts: waits for the link. */
  decodeWaitNs: number;
  promptWaitNs: number;
  linkBusyNs: number;
  stagedBytes: number;
  remoteBytes: number;
  preemptions: number;
}

export interface LedgerRun {
  readonly sums: StepSums;
  /** Of the window: the recorder's count. */
  readonly tokensPerSecond: number;
  readonly blockTokens: number;
}

/** Runs one system of the scenario with its engine `borrower` watched. */
export function stepLedger(
  scenario: Scenario,
  system: SystemSettings,
  seed: number,
  admission: AdmissionSetting,
  borrower: number,
): LedgerRun {
  const { gpuIndex, model } = scenario.engines[borrower]!;
  const cost = createCostModel(scenario.topology.gpus[gpuIndex]!, model);
  const { ownSlices } = memorySizes(scenario, system)[borrower]!;
  const ledger = new StepLedger(cost, model.layers, ownSlices);
  const cluster = buildCluster(scenario, system, seed, admission, new Digest(), {
    runner: (runner, engine) => (engine === borrower ? ledger.over(runner) : runner),
  });
  const member = cluster.members[borrower]!;
  ledger.member = member;
  const { window } = member.recorder;
  while (cluster.nowNs < window.endNs && cluster.step());
  const windowNs = window.endNs - window.startNs;
  ledger.sums.windowNs = windowNs;
  return {
    sums: ledger.sums,
    tokensPerSecond: (member.recorder.tokensInWindow * 1e9) / windowNs,
    blockTokens: member.engine.kv.layout.blockTokens,
  };
}

class StepLedger {
  readonly sums = emptySums();
  member: ClusterMember | null = null;
  readonly #cost: CostModel;
  readonly #layers: number;
  readonly #ownSlices: number;
  #step = emptySums();

  constructor(cost: CostModel, layers: number, ownSlices: number) {
    this.#cost = cost;
    this.#layers = layers;
    this.#ownSlices = ownSlices;
  }

  over(runner: StepRunner): StepRunner {
    return {
      timing: runner.timing,
      submit: (work, nowNs) => {
        runner.submit(work, nowNs);
        this.#look(work);
      },
      interrupt: (nowNs) => runner.interrupt(nowNs),
      resume: (work) => runner.resume(work),
      poll: (nowNs) => {
        const hasEnded = runner.poll(nowNs);
        if (hasEnded) this.#end(runner.timing);
        return hasEnded;
      },
      rest: (nowNs) => runner.rest(nowNs),
      nextDueNs: () => runner.nextDueNs(),
      isForeseen: runner.isForeseen,
    };
  }

  #look(work: StepWork): void {
    const { batch, sequences, kv, readSet } = work;
    const { engine } = this.member!;
    const step = emptySums();
    step.steps = 1;
    step.tokens = batch.sampledSequences;
    step.residents = sequences.count;
    for (let index = 0; index < sequences.count; index++) {
      step.usedBlocks += kv.blockCount(sequences.order[index]!);
    }
    const { blocksPerSlice } = kv.layout;
    step.ownBlocks = this.#ownSlices * blocksPerSlice;
    step.ringBlocks = work.ringRows.length * blocksPerSlice;
    step.borrowedBlocks = engine.arena.borrowedSlices * blocksPerSlice;
    step.capacityBlocks = step.ownBlocks - step.ringBlocks + step.borrowedBlocks;
    step.contextTokens = batch.decodeContextTokens;
    step.decodes = batch.decodeSequences;
    step.decodeNs = this.#decodeNs(batch.decodeSequences, batch.decodeContextTokens);
    step.stagedBytes = sum(readSet.stagedBytes) * this.#layers;
    step.remoteBytes = step.stagedBytes + sum(readSet.directBytes) * this.#layers;
    step.promptSteps = batch.prefillSequences > 0 ? 1 : 0;
    // Of the prompts' tokens, those of sequences that had made tokens before.
    let anew = 0;
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      const isPrompt = row >= 0 && batch.tokens[index]! > 1;
      if (isPrompt && sequences.generatedTokens[row]! > 0) anew += batch.tokens[index]!;
    }
    const prompts = batch.queryTokens - batch.decodeSequences;
    step.recomputeNs = prompts > 0 ? anew / prompts : 0;
    this.#step = step;
  }

  #end(timing: StepTiming): void {
    const { engine, recorder } = this.member!;
    const { window } = recorder;
    if (timing.endNs < window.startNs || timing.endNs >= window.endNs) return;
    const step = this.#step;
    step.stepNs = timing.endNs - timing.startNs;
    step.localNs = timing.localNs;
    step.recomputeNs *= Math.max(0, timing.localNs - step.decodeNs);
    if (step.promptSteps > 0) step.promptWaitNs = timing.waitNs;
    else step.decodeWaitNs = timing.waitNs;
    step.linkBusyNs = timing.linkBusyNs;
    for (const key of Object.keys(step) as (keyof StepSums)[]) this.sums[key] += step[key];
    this.sums.preemptions = engine.counters.preemptions;
  }

  #decodeNs(decodes: number, contextTokens: number): number {
    const cost = this.#cost;
    if (decodes === 0) return 0;
    const linear = cost.linearLayerNs(decodes);
    const attention = cost.decodeAttentionLayerNs(decodes, contextTokens);
    return this.#layers * (linear + attention) + cost.headNs(decodes) + cost.hostNs;
  }
}

function emptySums(): StepSums {
  return {
    windowNs: 0,
    steps: 0,
    promptSteps: 0,
    tokens: 0,
    residents: 0,
    usedBlocks: 0,
    capacityBlocks: 0,
    ownBlocks: 0,
    ringBlocks: 0,
    borrowedBlocks: 0,
    contextTokens: 0,
    decodes: 0,
    stepNs: 0,
    localNs: 0,
    decodeNs: 0,
    recomputeNs: 0,
    decodeWaitNs: 0,
    promptWaitNs: 0,
    linkBusyNs: 0,
    stagedBytes: 0,
    remoteBytes: 0,
    preemptions: 0,
  };
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
