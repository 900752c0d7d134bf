/**
 * The step in flight: what it computes, what it reads remotely, until when a slice is being read.
 *
 * Owned by the engine. It prices the batch, plans its remote reads, hands it to the runner, and
 * lays the rest anew when a recall or a lender's change of pace interrupts it.
 *
 *     IDLE --submit--> FLYING --hasEnded--> IDLE
 *                       |  ^
 *            interrupt  |  | resume
 *                       v  |
 *                     PAUSED (within one tick)
 */

import type { KvCache } from "../kvcache/index.ts";
import type { StepCompute } from "../prefetch/index.ts";
import type { Batch, Sequences } from "../scheduler/index.ts";
import type { EngineCounters } from "./engine-counters.ts";
import type { LinkRates } from "./link-rates.ts";
import { PromptTime } from "./prompt-time.ts";
import type { StepRunner, StepWork } from "./ports.ts";
import type { StepTiming } from "./step-timing.ts";
import type { StepCost } from "./step-cost.ts";
import type { StepPlanner } from "./step-planner.ts";

export class StepFlight {
  isInFlight = false;
  /** How long a step lasts with all KV local: what links have time for. */
  localStepNs: number;
  readonly promptTime = new PromptTime();
  readonly #runner: StepRunner;
  readonly #kv: KvCache;
  readonly #sequences: Sequences;
  readonly #cost: StepCost;
  readonly #planner: StepPlanner;
  readonly #rates: LinkRates;
  readonly #counters: EngineCounters;
  readonly #compute: StepCompute;
  #isRemote = false;
  /** Interrupted: what it took in all is no measure of the batch that is left. */
  #isCut = false;
  #endNs = 0;
  /** While paused: when the group in flight ends. */
  #pausedUntilNs = -1;
  /**
   * When the group ends that was in flight at the last interrupt: until then it reads as it did.
   */
  #groupEndNs = 0;
  /** Staged bytes of one layer as last submitted, and of sequences that have left since. */
  #stagedBytes = 0;
  #leftBytes = 0;

  constructor(
    runner: StepRunner,
    kv: KvCache,
    sequences: Sequences,
    cost: StepCost,
    planner: StepPlanner,
    rates: LinkRates,
    counters: EngineCounters,
  ) {
    this.#runner = runner;
    this.#kv = kv;
    this.#sequences = sequences;
    this.#cost = cost;
    this.#planner = planner;
    this.#rates = rates;
    this.#counters = counters;
    this.#compute = cost.blank();
    this.localStepNs = cost.localNs(cost.decodeStep(1, kv.layout.blockTokens));
  }

  get isPaused(): boolean {
    return this.#pausedUntilNs >= 0;
  }

  get timing(): StepTiming {
    return this.#runner.timing;
  }

  /** Whether it was known from the start until when the step reads what. */
  get isForeseen(): boolean {
    return this.#runner.isForeseen;
  }

  nextDueNs(): number {
    return this.#runner.nextDueNs();
  }

  submit(batch: Batch, nowNs: number): void {
    this.#cost.price(batch, this.#compute);
    this.#kv.syncReadSet();
    this.#runner.submit(this.#work(batch, this.#stagedBytes - this.#leftBytes), nowNs);
    this.#endNs = this.#runner.nextDueNs();
    this.#groupEndNs = nowNs;
    this.#isCut = false;
    this.isInFlight = true;
    this.#isRemote = this.#kv.readSet.totalBytes() > 0;
  }

  /** @returns whether the step has ended by now; its timing is counted. */
  hasEnded(batch: Batch, nowNs: number): boolean {
    if (!this.isInFlight || !this.#runner.poll(nowNs)) return false;
    this.isInFlight = false;
    const { timing, isForeseen } = this.#runner;
    this.#count(timing);
    if (this.#isRemote) this.#rates.observe(timing, nowNs);
    const hasPrompts = batch.prefillSequences > 0;
    this.promptTime.observe(this.#promptNs(batch), batch.sampledSequences);
    if (!hasPrompts) this.localStepNs = timing.localNs;
    const isMeasured = !isForeseen && !this.#isCut && !timing.isVoid;
    if (isMeasured) this.#cost.correct(hasPrompts, this.#compute, timing.localNs);
    return true;
  }

  /**
   * Stops after the layer group in flight; `resume` lays out the rest. A step that reads nothing
   * remote has nothing that a recall or a lender could disturb.
   *
   * @returns when that group ends, or -1 if there was nothing to stop.
   */
  interrupt(nowNs: number): number {
    if (!this.isInFlight || !this.#isRemote || this.isPaused) return -1;
    this.#pausedUntilNs = this.#runner.interrupt(nowNs);
    this.#groupEndNs = this.#pausedUntilNs;
    return this.#pausedUntilNs;
  }

  /** The rest of the step is of those sequences that may still be read. */
  resume(batch: Batch): void {
    this.#pausedUntilNs = -1;
    this.#isCut = true;
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      if (row < 0 || this.#kv.isActive(row)) continue;
      batch.exclude(row);
    }
    this.#kv.syncReadSet();
    this.#cost.price(batch, this.#compute);
    this.#runner.resume(this.#work(batch, Infinity));
    this.#endNs = this.#runner.nextDueNs();
  }

  /**
   * Until when the step may still read the slice; `nowNs` when it does not. Infinity: until the
   * step has ended, whenever that is.
   */
  fenceNs(row: number, nowNs: number): number {
    const { readSet } = this.#kv;
    if (!this.isInFlight || !this.#isRemote) return nowNs;
    // The group in flight has really ended, and what goes back is not in the rest of the step.
    if (!this.#runner.isForeseen) return this.isPaused ? nowNs : Infinity;
    if (!readSet.has(row)) return Math.max(nowNs, this.#groupEndNs);
    // What is read in place may be read until the step has ended, staged blocks a group at a time.
    return this.isPaused && readSet.isStaged(row) ? this.#pausedUntilNs : this.#endNs;
  }

  /** A sequence leaves: what was fetched ahead of its blocks is wasted. */
  forget(sequence: number): void {
    const remote = this.#kv.blockCount(sequence) - this.#kv.blocksAt(sequence, 0);
    this.#leftBytes += remote * this.#kv.layout.blockLayerBytes;
  }

  /** No step follows for now. */
  rest(nowNs: number): void {
    this.#runner.rest(nowNs);
    this.#stagedBytes = 0;
    this.#leftBytes = 0;
  }

  /** @param aheadBytes staged bytes of a layer that the step before could foresee. */
  #work(batch: Batch, aheadBytes: number): StepWork {
    const { readSet } = this.#kv;
    const { sourceBytesPerSecond, allowedBytesPerSecond } = this.#rates;
    this.#planner.plan(this.#compute, batch.prefillSequences > 0, sourceBytesPerSecond);
    let staged = 0;
    if (readSet.totalBytes() > 0) {
      for (let source = 1; source < this.#kv.sourceCount; source++) {
        staged += readSet.stagedBytes[source]!;
      }
    }
    const { groupLayers } = this.#planner;
    const wasted = Math.min(this.#leftBytes, this.#stagedBytes) * groupLayers;
    this.#counters.prefetchWastedBytes += wasted;
    this.#leftBytes = 0;
    this.#stagedBytes = staged;
    return {
      compute: this.#compute,
      groupLayers,
      readSet,
      sourceBytesPerSecond: allowedBytesPerSecond,
      aheadShare: staged === 0 ? 1 : Math.min(1, Math.max(0, aheadBytes / staged)),
      batch,
      sequences: this.#sequences,
      kv: this.#kv,
      ringRows: this.#planner.ring.rows,
    };
  }

  /** What the batch's prompts add to the time of its decodes. */
  #promptNs(batch: Batch): number {
    if (batch.prefillSequences === 0) return 0;
    const { localNs } = this.#runner.timing;
    if (batch.decodeSequences === 0) return localNs;
    const decode = this.#cost.decodeStep(batch.decodeSequences, batch.decodeContextTokens);
    return Math.max(0, localNs - this.#cost.localNs(decode));
  }

  #count(timing: StepTiming): void {
    const counters = this.#counters;
    counters.steps++;
    counters.stepNs += timing.endNs - timing.startNs;
    counters.stepLocalNs += timing.localNs;
    counters.stepUnlentNs += timing.unlentNs;
    counters.waitNs += timing.waitNs;
    counters.remoteReadNs += timing.linkBusyNs;
    counters.prefetchHits += timing.hits;
    counters.prefetchLates += timing.lates;
    counters.prefetchMisses += timing.misses;
    if (!this.#isRemote) return;
    for (let source = 1; source < timing.readBytes.length; source++) {
      counters.remoteReadBytes += timing.readBytes[source]!;
    }
  }
}
