/**
 * Runs steps in real time: a thread computes, copy threads bring what it reads from others.
 *
 * Implements the engine's StepRunner. Nothing about its times is known beforehand: `interrupt`
 * blocks until the layer group in flight has ended, and a step has ended when the thread says so.
 * Layer groups wait at gates for their staged blocks; what is read in place needs no gate.
 */

import { assert } from "../base/index.ts";
import { noTiming, type StepRunner, type StepTiming, type StepWork } from "../engine/index.ts";
import type { ComputeThread } from "./compute-handle.ts";
import { State } from "./compute-protocol.ts";
import type { CopyHub } from "./copy-hub.ts";
import type { EpochSource, EpochWatch } from "./epoch-watch.ts";
import type { KvGeometry } from "./kv-geometry.ts";
import { newReadCounts, type ReadCounts } from "./read-counts.ts";
import type { StagedBlock } from "./ring-units.ts";
import type { Staging } from "./staging.ts";
import type { SampledToken } from "./step-execution.ts";
import { buildStepTables, stagedHandles, type StepTables } from "./step-tables.ts";
import type { TokenStore } from "./token-store.ts";

export interface RealRunnerParts {
  readonly thread: ComputeThread;
  readonly staging: Staging;
  readonly hub: CopyHub;
  readonly geometry: KvGeometry;
  readonly tokens: TokenStore;
  readonly epochs: EpochWatch;
  readonly epochSource: EpochSource;
  /** (sources) the place of each. */
  readonly placeOf: readonly number[];
  /** Nanoseconds on the engine's clock, and what to add to get the machine's. */
  readonly now: () => number;
  readonly clockStartNs: number;
}

/** How long `interrupt` sleeps before it looks after copies again. */
const PUMP_MS = 0.5;

export class RealRunner implements StepRunner {
  readonly timing: StepTiming;
  readonly isForeseen = false;
  readonly counts: ReadCounts = newReadCounts();
  readonly #parts: RealRunnerParts;
  readonly #sampled = new Map<number, SampledToken>();
  #isRunning = false;
  #lastNs = 0;

  constructor(parts: RealRunnerParts) {
    this.#parts = parts;
    this.timing = noTiming(parts.placeOf.length);
  }

  tokenOf(request: number): SampledToken {
    const token = this.#sampled.get(request);
    assert(token !== undefined, () => `real runner: no token for request ${request}`);
    return token;
  }

  submit(work: StepWork, nowNs: number): void {
    const { thread, staging, epochs, geometry } = this.#parts;
    assert(!this.#isRunning, "real runner: a step is in flight");
    this.#isRunning = true;
    this.#sampled.clear();
    this.timing.startNs = nowNs;
    this.timing.readBytes.fill(0);
    const tables = this.#tablesOf(work);
    epochs.begin(tables, false);
    const { hostNs, linearLayerNs, attentionLayerNs } = work.compute;
    const groupNs = geometry.groupLayers * (linearLayerNs + attentionLayerNs);
    staging.begin({ firstNs: nowNs + hostNs, groupNs });
    this.#countReads(work, 1);
    thread.order({ kind: "step", tables, ringAddress: staging.ringAddress, hostNs });
  }

  /** @throws EmaError E_DEVICE when the thread has ended */
  interrupt(_nowNs: number): number {
    const { thread, hub, now } = this.#parts;
    this.counts.interruptedSteps++;
    thread.pause();
    for (;;) {
      const { changes } = thread;
      if (thread.state !== State.Running) break;
      hub.pump(now());
      thread.waitForChange(changes, PUMP_MS);
    }
    const { groupsDone } = thread;
    hub.pump(now());
    this.#parts.staging.pump(groupsDone);
    return now();
  }

  resume(work: StepWork): void {
    const { thread, staging, epochs, geometry } = this.#parts;
    const tables = this.#tablesOf(work);
    epochs.begin(tables, true);
    staging.relay();
    const share = 1 - thread.groupsDone / geometry.groupCount;
    this.timing.readBytes.forEach((bytes, source) => {
      this.timing.readBytes[source] = bytes * (1 - share);
    });
    this.#countReads(work, share);
    if (thread.state !== State.Paused) return;
    thread.order({ kind: "resume", tables, ringAddress: staging.ringAddress });
  }

  /** @throws EmaError E_DEVICE when what computes or copies for the device has ended */
  poll(nowNs: number): boolean {
    const { thread, staging, hub, now, placeOf } = this.#parts;
    this.#lastNs = nowNs;
    // First how far the compute has come, then what has arrived: what it has read was there before.
    const { state, groupsDone } = thread;
    hub.pump(now());
    const failure = hub.failureOf(placeOf[0]!);
    if (failure !== null) throw failure;
    staging.pump(this.#isRunning ? groupsDone : 0);
    if (!this.#isRunning || state === State.Running) return false;
    assert(state !== State.Paused, "real runner: a paused step was not resumed");
    this.#isRunning = false;
    this.#end();
    return true;
  }

  rest(): void {
    this.#parts.staging.rest();
  }

  nextDueNs(): number {
    const { thread, hub } = this.#parts;
    const hasEnded = this.#isRunning && thread.state !== State.Running;
    return hasEnded ? this.#lastNs : hub.nextDueNs();
  }

  #end(): void {
    const { thread, epochs, clockStartNs } = this.#parts;
    const { timing } = this;
    const result = thread.takeResult();
    for (const token of result.tokens) this.#sampled.set(token.request, token);
    timing.endNs = Math.round(result.endNs - clockStartNs);
    timing.startNs = Math.round(result.startNs - clockStartNs);
    timing.waitNs = result.waitNs;
    timing.localNs = result.endNs - result.startNs - result.waitNs;
    timing.unlentNs = timing.localNs;
    timing.hits = result.hits;
    timing.lates = result.lates;
    timing.misses = result.misses;
    timing.isVoid = !epochs.isSound();
    if (timing.isVoid) this.counts.voidSteps++;
  }

  #tablesOf(work: StepWork): StepTables {
    const { staging, geometry, tokens, epochSource, placeOf } = this.#parts;
    staging.setRing(work.ringRows);
    const blocks = stagedHandles(work).map((handle): StagedBlock => {
      const row = work.kv.rowOf(handle);
      const place = placeOf[work.kv.slices.source[row]!]!;
      return { handle, epoch: epochSource.epochOf(row), place };
    });
    const missing = staging.units.assign(blocks);
    const unitOf = (handle: number): number => staging.units.unitOf(handle);
    const tables = buildStepTables(work, geometry, tokens, unitOf);
    this.counts.overflowBlocks += missing;
    this.counts.stagedBlocks += staging.units.count;
    this.counts.directBlocks += tables.remoteBlocks - staging.units.count;
    return tables;
  }

  /** Bytes of the step, or of the share of it that is left, by source. */
  #countReads(work: StepWork, share: number): void {
    const { readSet } = work;
    let total = 0;
    for (let source = 1; source < this.timing.readBytes.length; source++) {
      const perLayer = readSet.stagedBytes[source]! + readSet.directBytes[source]!;
      this.timing.readBytes[source]! += perLayer * this.#parts.geometry.layout.layers * share;
      total += this.timing.readBytes[source]!;
    }
    const rate = this.#linkRate(work);
    this.timing.linkBusyNs = total === 0 ? 0 : (total * 1e9) / rate;
  }

  #linkRate(work: StepWork): number {
    let fastest = 1;
    for (const rate of work.sourceBytesPerSecond) {
      if (Number.isFinite(rate)) fastest = Math.max(fastest, rate);
    }
    return fastest;
  }
}
