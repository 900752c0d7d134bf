/**
 * One engine: its tick is the path of a token, in order.
 *
 * Called by a driver loop (the simulator's cluster, the daemon's loop): submit requests, tick at the
 * time it asked for, read nextDueNs. It is synchronous and deterministic; time is given to it. It
 * does not know whether its runner and copy engine compute, emulate or only cost.
 *
 *     pool events -> copies -> runner -> update -> recalls -> links -> schedule -> plan -> submit
 *
 * Invariants: tables change between steps only; a slice goes home after its last read; a step that
 * was interrupted goes on with who is left.
 */

import { assert, NS_PER_SECOND, type EngineId } from "../base/index.ts";
import { Arena, KvCache, LOCAL_SOURCE } from "../kvcache/index.ts";
import { AllocationRate, headroomSlices, type Pool } from "../pool/index.ts";
import { ReadSet, type StepCompute } from "../prefetch/index.ts";
import { Scheduler, type SchedulerEvents } from "../scheduler/index.ts";
import { BorrowController } from "./borrow-controller.ts";
import { EngineCounters } from "./engine-counters.ts";
import { EngineMemory } from "./engine-memory.ts";
import type { EngineOptions } from "./engine-options.ts";
import { LinkRates } from "./link-rates.ts";
import { LoanAccounts } from "./loan-accounts.ts";
import type { CopyEngine, EngineFailure, EngineSink, StepRunner } from "./ports.ts";
import { RecallLadder, type LadderHost } from "./recall-ladder.ts";
import { Residency } from "./residency.ts";
import { StepCost } from "./step-cost.ts";
import { StepPlanner } from "./step-planner.ts";

/** How often borrowing is decided. */
const CONTROL_NS = 50e6;
/** An engine that waits for memory looks again after so long, should no event wake it. */
const RETRY_NS = 10e6;

export class Engine implements SchedulerEvents, LadderHost {
  readonly id: EngineId;
  readonly counters = new EngineCounters();
  readonly kv: KvCache;
  readonly arena: Arena;
  readonly scheduler: Scheduler;
  readonly rates: LinkRates;

  readonly #options: EngineOptions;
  readonly #pool: Pool;
  readonly #runner: StepRunner;
  readonly #copies: CopyEngine;
  readonly #sink: EngineSink;
  readonly #memory: EngineMemory;
  readonly #residency: Residency;
  readonly #ladder: RecallLadder;
  readonly #cost: StepCost;
  readonly #planner: StepPlanner;
  readonly #borrowing: BorrowController;
  readonly #accounts: LoanAccounts;
  readonly #allocation = new AllocationRate();
  readonly #compute: StepCompute;
  readonly #cancelled = new Set<number>();
  #nowNs = 0;
  #allocatedBlocks = 0;
  #isStepInFlight = false;
  #isStepRemote = false;
  #isActive = false;
  #controlDueNs = 0;
  #headroomDueNs = 0;
  #headroomSlices = 0;
  #retryNs = Infinity;
  /** Set while the step in flight is interrupted: when its group in flight ends. */
  #pausedUntilNs = -1;
  #stepEndNs = 0;
  /** How long a step lasts with all KV local: what links have time for. */
  #localStepNs: number;
  /** Staged bytes of one layer as last submitted, and of sequences that have left since. */
  #stagedBytes = 0;
  #leftBytes = 0;

  constructor(
    options: EngineOptions,
    pool: Pool,
    runner: StepRunner,
    copies: CopyEngine,
    sink: EngineSink,
  ) {
    this.id = options.engine;
    this.#options = options;
    this.#pool = pool;
    this.#runner = runner;
    this.#copies = copies;
    this.#sink = sink;
    const { layout, ownSlices, link } = options;
    const sourceCount = options.engineCount + 2;
    const gapBytes = (link.copyCostNs * link.portBytesPerSecond) / 1e9;
    this.kv = new KvCache({
      layout,
      sourceOfRow: options.sourceOfRow,
      sourceCount,
      readSet: new ReadSet(sourceCount, 64),
      bridgedBlocksMax: Math.floor(gapBytes / layout.blockLayerBytes / 2),
    });
    this.arena = new Arena({ ...options, quietNs: NS_PER_SECOND }, pool, this.kv);
    this.rates = new LinkRates(options);
    this.#planner = new StepPlanner(
      { mode: options.accessMode, link, ownBytes: ownSlices * layout.sliceBytes },
      this.kv,
    );
    this.#memory = new EngineMemory(options, this.kv, this.arena, this.#planner);
    const scheduling = { ...options, hostSource: this.arena.hostSource };
    this.scheduler = new Scheduler(scheduling, this.kv, this.#memory, this.rates, this);
    const { sequences } = this.scheduler;
    this.#residency = new Residency(this.kv, this.arena, copies, sequences, this.counters);
    this.#memory.connect(this.#residency, sequences);
    this.#cost = new StepCost(options.cost, layout.layers);
    this.#compute = this.#cost.blank();
    this.#localStepNs = this.#cost.localNs(this.#cost.decodeStep(1, layout.blockTokens));
    this.#ladder = new RecallLadder(
      this.arena,
      this.kv,
      this.scheduler,
      this.#residency,
      this.counters,
      this,
      (engine) => pool.firstSliceOf(engine),
      (engine) => options.slicesOf[engine]!,
    );
    this.#borrowing = new BorrowController(
      { ...options, growthShare: options.admission.growthShare },
      pool,
      this.arena,
      this.kv,
      this.scheduler,
      this.rates,
      this.#cost,
      this.#planner,
      this.#ladder,
      this.#residency,
    );
    this.#accounts = new LoanAccounts(options.engineCount);
    for (const row of options.hostRows) this.kv.slices.admit(row);
    if (this.arena.isElastic) this.arena.keepHeadroom(this.#headroom(0), false, 0);
  }

  submit(request: number, promptTokens: number, outputTokensMax: number, nowNs: number): void {
    this.#nowNs = nowNs;
    this.scheduler.submit(request, promptTokens, outputTokensMax, nowNs);
    if (!this.#isStepInFlight) this.#retryNs = nowNs;
  }

  /**
   * Its client has gone: the request makes no more tokens, and its memory is free by the next step.
   * @returns whether it was here; the sink is not told.
   */
  cancel(request: number, nowNs: number): boolean {
    this.#nowNs = nowNs;
    const row = this.scheduler.sequences.rowOf(request);
    if (row >= 0 && this.#isStepInFlight) {
      // The step may be writing the sequence's blocks: they are free when it has ended.
      this.#cancelled.add(request);
      return true;
    }
    const wasHere = this.scheduler.cancel(request);
    if (wasHere && !this.#isStepInFlight) this.#retryNs = nowNs;
    return wasHere;
  }

  tick(nowNs: number): void {
    this.#nowNs = nowNs;
    this.arena.poll(nowNs);
    this.#residency.poll(nowNs);
    if (this.#isStepInFlight && this.#runner.poll(nowNs)) this.#endStep(nowNs);
    if (!this.#isStepInFlight && this.#residency.hasEndedMoves) this.#residency.settle();
    if (this.arena.lostRows.length > 0) this.#recoverLost(nowNs);
    if (this.arena.isElastic) this.#ladder.process(nowNs);
    if (this.arena.hasActivityChanged) this.#followLenders(nowNs);
    if (this.#pausedUntilNs >= 0) this.#resumeStep();
    if (!this.#isStepInFlight) this.#startStep(nowNs);
  }

  nextDueNs(): number {
    const runnerNs = this.#isStepInFlight ? this.#runner.nextDueNs() : this.#retryNs;
    return Math.min(runnerNs, this.#copies.nextDueNs(), this.arena.nextDueNs());
  }

  // What the scheduler tells.

  failed(request: number, reason: EngineFailure): void {
    this.#sink.failed(request, reason, this.#nowNs);
  }

  admitted(request: number): void {
    this.#sink.note("admitted", request, this.#nowNs);
  }

  preempted(request: number, _row: number, recomputedTokens: number): void {
    this.counters.preemptions++;
    this.counters.recomputedTokens += recomputedTokens;
    this.#sink.note("preempted", request, this.#nowNs);
  }

  // What the recall ladder asks.

  fenceNs(row: number, nowNs: number): number {
    if (!this.#isStepInFlight || !this.#isStepRemote || !this.kv.readSet.has(row)) return nowNs;
    if (this.#pausedUntilNs < 0 || !this.kv.readSet.isStaged(row)) return this.#stepEndNs;
    return this.#pausedUntilNs;
  }

  preempt(row: number, lender: EngineId, nowNs: number): void {
    if (this.#isStepInFlight) this.#interrupt(nowNs);
    const tokens = this.scheduler.sequences.computedTokens[row]!;
    const perToken = this.#options.cost.linearLayerNs(1024) / 1024;
    const batch = Math.max(1, this.scheduler.batch.decodeSequences);
    const lost = (tokens * perToken * this.kv.layout.layers * batch) / this.#localStepNs;
    this.#accounts.charge(lender, lost);
    this.scheduler.preempt(row, nowNs);
  }

  check(): void {
    this.kv.check();
    this.arena.check();
    this.scheduler.check();
  }

  /** A step that reads nothing remote has nothing that a recall or a lender could disturb. */
  #interrupt(nowNs: number): void {
    if (this.#pausedUntilNs >= 0 || !this.#isStepRemote) return;
    this.#pausedUntilNs = this.#runner.interrupt(nowNs);
    this.#sink.note("interrupted", this.#pausedUntilNs, nowNs);
  }

  #resumeStep(): void {
    this.#pausedUntilNs = -1;
    this.kv.syncReadSet();
    this.#cost.price(this.scheduler.batch, this.#compute);
    this.#runner.resume(this.#work(Infinity));
    this.#stepEndNs = this.#runner.nextDueNs();
  }

  /** A lender began or ceased to run: leave it, or at least do not read it faster than its share. */
  #followLenders(nowNs: number): void {
    this.arena.hasActivityChanged = false;
    this.rates.refresh(this.arena, this.#residency.leaving);
    if (!this.rates.isConstrained) return;
    this.#leaveBusyLenders(nowNs);
    if (!this.#isStepInFlight || this.kv.readSet.totalBytes() === 0) return;
    const { batch, rotation, sequences } = this.scheduler;
    rotation.select(this.#localStepNs, this.#skipsMax(), nowNs);
    let isChanged = this.#readsSlowly();
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      if (row < 0 || this.kv.isActive(row)) continue;
      batch.exclude(row, sequences.pendingTokens(row) === batch.tokens[index]!);
      isChanged = true;
    }
    if (isChanged) this.#interrupt(nowNs);
  }

  /** Whether the step in flight reads from a source that must now be read more slowly. */
  #readsSlowly(): boolean {
    const { readSet } = this.kv;
    for (let source = 1; source < this.arena.hostSource; source++) {
      if (readSet.stagedBytes[source]! + readSet.directBytes[source]! === 0) continue;
      const rate = this.rates.sourceBytesPerSecond[source]!;
      if (rate < this.rates.pathBytesPerSecond(source)) return true;
    }
    return false;
  }

  #skipsMax(): number {
    return Math.max(1, Math.floor(this.#options.tpotTargetNs / this.#localStepNs) - 1);
  }

  /** Moves off lenders that run whatever their share cannot carry within a step. */
  #leaveBusyLenders(nowNs: number): void {
    const { blockBytes, sliceBytes } = this.kv.layout;
    for (let source = 1; source < this.arena.hostSource; source++) {
      if (this.arena.isLenderRunning[source - 1] === 0) continue;
      const keep = 0.9 * (this.rates.pacedBytesPerSecond(source) / 1e9) * this.#localStepNs;
      this.#residency.sharedBytes[source] = keep;
      const surplus = this.kv.slices.heldRows[source]! - this.#residency.sharedRows(source);
      if (surplus <= 0) continue;
      this.#ladder.returnEmpty((source - 1) as EngineId, surplus, nowNs);
      const excess = this.#residency.stayingBlocks(source) * blockBytes - keep;
      if (excess <= 0 || this.#options.lenderShare === 0) continue;
      const homeless = excess - this.#residency.refugeBlocks(source) * blockBytes;
      const room = this.#options.borrowLimitSlices - this.arena.borrowedSlices;
      const wanted = Math.min(room, Math.ceil(homeless / sliceBytes));
      if (wanted > 0 && this.#pool.obtainable(this.id, nowNs).fromIdleLenders > 0) {
        this.arena.borrow(wanted, false, nowNs);
      }
      this.#residency.evacuate(source, keep, nowNs);
    }
    this.rates.refresh(this.arena, this.#residency.leaving);
  }

  #endStep(nowNs: number): void {
    this.#isStepInFlight = false;
    const { timing } = this.#runner;
    const { counters } = this;
    const durationNs = timing.endNs - timing.startNs;
    counters.steps++;
    counters.stepNs += durationNs;
    counters.stepLocalNs += timing.localNs;
    counters.stepUnlentNs += timing.unlentNs;
    counters.waitNs += timing.waitNs;
    counters.remoteReadNs += timing.linkBusyNs;
    counters.prefetchHits += timing.hits;
    counters.prefetchLates += timing.lates;
    counters.prefetchMisses += timing.misses;
    for (let source = 1; source < this.arena.hostSource; source++) {
      counters.remoteReadBytes += timing.readBytes[source]!;
    }
    if (this.#cancelled.size > 0) this.#dropCancelled();
    const made = this.#giveTokens(nowNs);
    if (this.arena.isElastic) {
      if (this.arena.borrowedSlices > 0) {
        this.#accounts.earn(this.kv, made, durationNs, timing.localNs);
      }
      const blocks = this.kv.allocatedBlocks - this.#allocatedBlocks;
      this.#allocation.record(blocks * this.kv.layout.blockBytes, nowNs);
      this.#allocatedBlocks = this.kv.allocatedBlocks;
    }
    if (this.scheduler.batch.prefillSequences === 0) this.#localStepNs = timing.localNs;
    this.#sink.ran(timing.startNs, timing.endNs);
    this.#sink.note("step", made, nowNs);
  }

  #dropCancelled(): void {
    for (const request of this.#cancelled) {
      const row = this.scheduler.sequences.rowOf(request);
      if (row >= 0) this.#leftBytes += this.#remoteBytesPerLayer(row);
      this.scheduler.cancel(request);
    }
    this.#cancelled.clear();
  }

  /** @returns tokens made. */
  #giveTokens(nowNs: number): number {
    const { batch, sequences } = this.scheduler;
    let made = 0;
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      if (row < 0) continue;
      sequences.computedTokens[row]! += batch.tokens[index]!;
      this.kv.seal(row, sequences.computedTokens[row]!);
      if (sequences.pendingTokens(row) > 0) continue;
      const generated = ++sequences.generatedTokens[row]!;
      const gapNs = nowNs - sequences.lastTokenNs[row]!;
      sequences.lastTokenNs[row] = nowNs;
      made++;
      this.#sink.token(sequences.request[row]!, generated === 1, gapNs, nowNs);
      if (generated < sequences.outputTokensMax[row]!) continue;
      this.#leftBytes += this.#remoteBytesPerLayer(row);
      this.#sink.finished(sequences.request[row]!, nowNs);
      this.scheduler.finish(row);
    }
    this.counters.outputTokens += made;
    return made;
  }

  #remoteBytesPerLayer(row: number): number {
    const remote = this.kv.blockCount(row) - this.kv.blocksAt(row, LOCAL_SOURCE);
    return remote * this.kv.layout.blockLayerBytes;
  }

  #startStep(nowNs: number): void {
    this.#retryNs = Infinity;
    const { scheduler } = this;
    if (!scheduler.isEmpty) {
      if (this.arena.isElastic) this.#control(nowNs);
      let batch = scheduler.schedule(this.#localStepNs, nowNs);
      for (let tries = 0; batch.count === 0 && tries < 4 && !this.#isWaiting(); tries++) {
        scheduler.breakDeadlock(nowNs);
        batch = scheduler.schedule(this.#localStepNs, nowNs);
      }
      if (batch.count > 0) this.#submitStep(nowNs);
      else if (!scheduler.isEmpty) this.#retryNs = nowNs + RETRY_NS;
    }
    if (!this.#isStepInFlight) this.#rest(nowNs);
    if (!this.arena.isElastic) return;
    this.arena.keepHeadroom(this.#headroom(nowNs), scheduler.isMemoryShort, nowNs);
    if (scheduler.isEmpty) this.#idle(nowNs);
  }

  /** Whether memory is on its way without anybody giving way. */
  #isWaiting(): boolean {
    return this.kv.moves.size > 0 || this.arena.isAwaitingReturn || this.arena.hasFences;
  }

  #submitStep(nowNs: number): void {
    const { batch } = this.scheduler;
    this.#cost.price(batch, this.#compute);
    this.kv.syncReadSet();
    const before = this.#stagedBytes - this.#leftBytes;
    this.#runner.submit(this.#work(before), nowNs);
    this.#stepEndNs = this.#runner.nextDueNs();
    this.#isStepInFlight = true;
    this.#isStepRemote = this.kv.readSet.totalBytes() > 0;
    this.#setActive(true, nowNs);
    if (this.arena.borrowedSlices > 0) this.#keepLocalRoom(nowNs);
  }

  /** @param aheadBytes staged bytes of a layer that the step before could foresee. */
  #work(aheadBytes: number): Parameters<StepRunner["submit"]>[0] {
    const { readSet } = this.kv;
    const hasPrompts = this.scheduler.batch.prefillSequences > 0;
    this.#planner.plan(this.#compute, hasPrompts, this.rates.sourceBytesPerSecond);
    let staged = 0;
    for (let source = 1; source < this.kv.sourceCount; source++) {
      staged += readSet.stagedBytes[source]!;
    }
    const { groupLayers } = this.#planner;
    this.counters.prefetchWastedBytes += Math.min(this.#leftBytes, this.#stagedBytes) * groupLayers;
    this.#leftBytes = 0;
    this.#stagedBytes = staged;
    return {
      compute: this.#compute,
      groupLayers,
      readSet,
      sourceBytesPerSecond: this.rates.sourceBytesPerSecond,
      aheadShare: staged === 0 ? 1 : Math.min(1, Math.max(0, aheadBytes / staged)),
    };
  }

  /** Local blocks for the next steps' growth and the next chunk; sealed ones move out for them. */
  #keepLocalRoom(nowNs: number): void {
    const { blockTokens } = this.kv.layout;
    const { scheduler } = this;
    const growth = Math.ceil((2 * scheduler.sequences.count) / blockTokens) + 2;
    this.#residency.localReserveBlocks = growth;
    let chunk = 0;
    if (scheduler.waiting.size > 0) chunk = scheduler.waiting.tokensAt(0) / blockTokens + 1;
    chunk = Math.max(chunk, scheduler.claimedBlocks);
    const most = this.#options.maxBatchTokens / blockTokens;
    const room = growth + Math.min(most, Math.ceil(chunk));
    this.#residency.makeLocalRoom(room, nowNs);
    this.#planner.growRing(this.#residency, nowNs);
  }

  #control(nowNs: number): void {
    this.rates.refresh(this.arena, this.#residency.leaving);
    if (this.rates.isConstrained) this.#leaveBusyLenders(nowNs);
    if (nowNs < this.#controlDueNs) return;
    this.#controlDueNs = nowNs + CONTROL_NS;
    this.#borrowing.decide(nowNs);
    this.#residency.bringBack(nowNs);
    this.#accounts.settle(this.arena, this.#pool, nowNs);
  }

  #rest(nowNs: number): void {
    if (!this.#isActive) return;
    this.#runner.rest(nowNs);
    this.#stagedBytes = 0;
    this.#leftBytes = 0;
    this.#setActive(false, nowNs);
  }

  #setActive(isRunning: boolean, nowNs: number): void {
    if (this.#isActive === isRunning) return;
    this.#isActive = isRunning;
    if (this.arena.isElastic) {
      this.#pool.apply({ type: "SetActivity", engine: this.id, isRunning }, nowNs);
    }
  }

  /** Nothing to do: what was borrowed goes home, and idle memory is offered when it is quiet. */
  #idle(nowNs: number): void {
    this.#borrowing.returnAll(nowNs);
    const surplus = this.kv.slices.emptyRows[LOCAL_SOURCE]! - this.#headroom(nowNs);
    if (surplus >= 3 && this.arena.quietUntilNs > nowNs) this.#retryNs = this.arena.quietUntilNs;
  }

  /** Sized anew once a second: the rates behind it are measured in seconds. */
  #headroom(nowNs: number): number {
    if (nowNs < this.#headroomDueNs) return this.#headroomSlices;
    this.#headroomDueNs = nowNs + NS_PER_SECOND;
    const { layout, ownSlices, headroom, refillNs } = this.#options;
    this.#headroomSlices = headroomSlices({
      peakAllocationBytesPerSecond: this.#allocation.peakBytesPerSecond(nowNs),
      refillNs,
      sliceBytes: layout.sliceBytes,
      ownSlices,
      setting: headroom,
    });
    return this.#headroomSlices;
  }

  /** A lender is gone: sequences with blocks there are computed again. */
  #recoverLost(nowNs: number): void {
    if (this.#isStepInFlight) this.#interrupt(nowNs);
    const { sequences } = this.scheduler;
    const lost = new Set(this.arena.lostRows);
    for (let index = sequences.count - 1; index >= 0; index--) {
      const row = sequences.order[index]!;
      const isHit = this.#touches(row, lost);
      if (isHit) this.scheduler.preempt(row, nowNs);
    }
    assert(this.kv.moves.size >= 0, "engine: moves");
    this.arena.dropLost();
  }

  #touches(sequence: number, rows: ReadonlySet<number>): boolean {
    for (let block = 0; block < this.kv.blockCount(sequence); block++) {
      if (rows.has(this.kv.rowOf(this.kv.handleOf(sequence, block)))) return true;
    }
    return false;
  }

  parked(request: number): void {
    this.#sink.note("parked", request, this.#nowNs);
  }
}
