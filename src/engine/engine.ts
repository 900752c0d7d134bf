/**
 * One engine: its tick is the path of a token, in order.
 *
 * Called by a driver loop (the simulator's cluster, the daemon's loop): submit requests, tick at
 * the time it asked for, read nextDueNs. It is synchronous and deterministic; time is given to it.
 * It does not know whether its runner and copy engine compute, emulate or only cost.
 *
 *     pool events -> copies -> runner -> update -> recalls -> links -> schedule -> plan -> submit
 *
 * Invariants: tables change between steps only; a slice goes home after its last read; a step that
 * was interrupted goes on with who is left.
 */

import type { EngineId } from "../base/index.ts";
import { LOCAL_SOURCE, type Arena, type KvCache } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import type { Scheduler, SchedulerEvents } from "../scheduler/index.ts";
import type { EngineCounters } from "./engine-counters.ts";
import type { EngineOptions } from "./engine-options.ts";
import { createParts, type EngineParts } from "./engine-parts.ts";
import { LenderWatch } from "./lender-watch.ts";
import type { CopyEngine, EngineFailure, EngineSink, StepRunner } from "./ports.ts";
import type { LadderHost } from "./recall-ladder.ts";
import { TokenDelivery } from "./token-delivery.ts";

/** How often borrowing is decided. */
const CONTROL_NS = 50e6;
/** An engine that waits for memory looks again after so long, should no event wake it. */
const RETRY_NS = 10e6;

export class Engine implements SchedulerEvents, LadderHost {
  readonly id: EngineId;
  readonly counters: EngineCounters;
  readonly kv: KvCache;
  readonly arena: Arena;
  readonly scheduler: Scheduler;

  readonly #options: EngineOptions;
  readonly #pool: Pool;
  readonly #copies: CopyEngine;
  readonly #sink: EngineSink;
  readonly #parts: EngineParts;
  readonly #lenders: LenderWatch;
  readonly #delivery: TokenDelivery;
  /** Cancelled while their step is in flight; gone when it has ended. */
  readonly #cancelled = new Set<number>();
  #nowNs = 0;
  #isActive = false;
  #controlDueNs = 0;
  #retryNs = Infinity;

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
    this.#copies = copies;
    this.#sink = sink;
    this.#parts = createParts(options, pool, runner, copies, this);
    this.#lenders = new LenderWatch(options, this.#parts, pool);
    this.counters = this.#parts.counters;
    this.kv = this.#parts.kv;
    this.arena = this.#parts.arena;
    this.scheduler = this.#parts.scheduler;
    const { flight, tokenTimes } = this.#parts;
    this.#delivery = new TokenDelivery(this.kv, this.scheduler, flight, sink, tokenTimes);
    this.#keepHeadroom(0);
  }

  submit(request: number, promptTokens: number, outputTokensMax: number, nowNs: number): void {
    this.#nowNs = nowNs;
    this.#parts.reserve.observe(promptTokens);
    this.scheduler.submit(request, promptTokens, outputTokensMax, nowNs);
    if (!this.#parts.flight.isInFlight) this.#retryNs = nowNs;
  }

  /**
   * Its client has gone: the request makes no more tokens, and its memory is free by the next step.
   * @returns whether it was here; the sink is not told.
   */
  cancel(request: number, nowNs: number): boolean {
    this.#nowNs = nowNs;
    const { isInFlight } = this.#parts.flight;
    if (isInFlight && this.scheduler.sequences.rowOf(request) >= 0) {
      // The step may be writing the sequence's blocks: they are free when it has ended.
      const isFirst = !this.#cancelled.has(request);
      this.#cancelled.add(request);
      return isFirst;
    }
    const wasHere = this.scheduler.cancel(request);
    if (wasHere && !isInFlight) this.#retryNs = nowNs;
    return wasHere;
  }

  tick(nowNs: number): void {
    this.#nowNs = nowNs;
    const { arena, residency, flight, ladder, scheduler } = this.#parts;
    arena.poll(nowNs);
    residency.poll(nowNs);
    if (flight.hasEnded(scheduler.batch, nowNs)) this.#endStep(nowNs);
    if (!flight.isInFlight && residency.hasEndedMoves) residency.settle();
    if (arena.lostRows.length > 0) {
      this.#interrupt(nowNs);
      this.#lenders.recover(nowNs);
    }
    if (arena.isElastic) ladder.process(nowNs);
    if (arena.hasActivityChanged) this.#followLenders(nowNs);
    if (flight.isPaused) flight.resume(scheduler.batch);
    if (!flight.isInFlight) this.#startStep(nowNs);
  }

  nextDueNs(): number {
    const { flight, arena } = this.#parts;
    const stepNs = flight.isInFlight ? flight.nextDueNs() : this.#retryNs;
    return Math.min(stepNs, this.#copies.nextDueNs(), arena.nextDueNs());
  }

  check(): void {
    this.kv.check();
    this.arena.check();
    this.scheduler.check();
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
    const { accounts, arena, flight } = this.#parts;
    const isLeaving = arena.recalls.length > 0 || arena.lostRows.length > 0;
    accounts.chargeRecompute(recomputedTokens, flight.localStepNs, isLeaving, this.#nowNs);
    this.#sink.note("preempted", request, this.#nowNs);
  }

  // What the recall ladder asks.

  fenceNs(row: number, nowNs: number): number {
    return this.#parts.flight.fenceNs(row, nowNs);
  }

  preempt(row: number, nowNs: number): void {
    const { flight, residency } = this.#parts;
    this.#interrupt(nowNs);
    if (flight.isInFlight) residency.places.isHomeClosed = true;
    this.scheduler.preempt(row, nowNs);
  }

  #interrupt(nowNs: number): void {
    const untilNs = this.#parts.flight.interrupt(nowNs);
    if (untilNs >= 0) this.#sink.note("interrupted", untilNs, nowNs);
  }

  /** A lender began or ceased to run. */
  #followLenders(nowNs: number): void {
    const { arena, flight } = this.#parts;
    arena.hasActivityChanged = false;
    this.#lenders.follow(flight.localStepNs, nowNs);
    if (!flight.isInFlight) return;
    if (this.#lenders.thinOut(flight.localStepNs, nowNs)) this.#interrupt(nowNs);
  }

  #endStep(nowNs: number): void {
    const { arena, flight, accounts, reads, headroom, residency } = this.#parts;
    const { timing } = flight;
    residency.places.isHomeClosed = false;
    // Before its sequences go: what it read is still counted where it lies.
    const isLoan = arena.borrowedSlices > 0 && !timing.isVoid;
    if (isLoan) {
      accounts.earn(this.scheduler.batch, timing);
      reads.observe(timing.readBytes);
    }
    this.#dropCancelled();
    this.scheduler.steps.landed();
    if (!flight.isForeseen) arena.endReads(nowNs);
    const made = timing.isVoid ? 0 : this.#delivery.deliver(nowNs);
    this.counters.outputTokens += made;
    if (arena.isElastic) headroom.observe(nowNs);
    this.#sink.ran(timing.startNs, timing.endNs);
    this.#sink.note("step", made, nowNs);
  }

  #dropCancelled(): void {
    if (this.#cancelled.size === 0) return;
    for (const request of this.#cancelled) {
      const row = this.scheduler.sequences.rowOf(request);
      if (row >= 0) this.#parts.flight.forget(row);
      this.scheduler.cancel(request);
    }
    this.#cancelled.clear();
  }

  #startStep(nowNs: number): void {
    this.#retryNs = Infinity;
    const { scheduler } = this;
    const { flight, arena, planner, residency } = this.#parts;
    if (!scheduler.isEmpty) {
      if (arena.isElastic) this.#control(nowNs);
      // The ring first: room that prompts move out into is gone before its slice is empty.
      const isShared = scheduler.sequences.count > 1;
      planner.keepRing(arena.borrowedSlices > 0, isShared, residency, nowNs);
      const isReady = scheduler.steps.isDecided || this.#schedule(nowNs);
      if (isReady) this.#submitStep(nowNs);
      else if (!scheduler.isEmpty) this.#retryNs = nowNs + RETRY_NS;
    }
    if (!flight.isInFlight) this.#rest(nowNs);
    this.#keepHeadroom(nowNs);
    if (arena.isElastic && scheduler.isEmpty) this.#idle(nowNs);
  }

  /** @returns whether the batch has anything to run. */
  #schedule(nowNs: number): boolean {
    const { scheduler } = this;
    const { localStepNs } = this.#parts.flight;
    let batch = scheduler.schedule(localStepNs, nowNs);
    for (let tries = 0; batch.count === 0 && tries < 4 && !this.#isMemoryComing(); tries++) {
      const isHelped = this.arena.isElastic && this.#parts.borrowing.helpLoneSequence(nowNs);
      if (!isHelped) scheduler.breakDeadlock(nowNs);
      batch = scheduler.schedule(localStepNs, nowNs);
    }
    return batch.count > 0;
  }

  /** Whether memory is on its way without anybody giving way. */
  #isMemoryComing(): boolean {
    return this.kv.moves.size > 0 || this.arena.isAwaitingReturn || this.arena.hasFences;
  }

  #submitStep(nowNs: number): void {
    const { flight, arena, residency, reserve, rates } = this.#parts;
    this.scheduler.steps.advance();
    flight.submit(this.scheduler.batch, nowNs);
    this.#setActive(true, nowNs);
    if (this.#options.stepsAhead === 1) this.scheduler.schedule(flight.localStepNs, nowNs);
    if (arena.borrowedSlices === 0) return;
    const { maxBatchTokens } = this.#options;
    const { homeBlocks } = reserve;
    const hasRoom = rates.hasRoomFor(homeBlocks, this.kv, flight.localStepNs);
    const arrivalBlocks = hasRoom ? homeBlocks : 0;
    residency.prepareRoom(this.scheduler, maxBatchTokens, arrivalBlocks, nowNs);
  }

  #control(nowNs: number): void {
    const { borrowing, residency, accounts, flight } = this.#parts;
    this.#lenders.follow(flight.localStepNs, nowNs);
    if (this.scheduler.rotation.isLinkFull) this.#parts.relief.relieve(nowNs);
    if (nowNs < this.#controlDueNs) return;
    this.#controlDueNs = nowNs + CONTROL_NS;
    this.#lenders.followReads(flight.localStepNs, nowNs);
    borrowing.decide(nowNs);
    residency.bringBack(nowNs);
    accounts.settle(this.arena, this.#pool, nowNs);
    borrowing.retreat(nowNs);
  }

  #rest(nowNs: number): void {
    if (!this.#isActive) return;
    this.#parts.flight.rest(nowNs);
    if (this.scheduler.sequences.count === 0) this.#parts.planner.ring.release();
    this.#setActive(false, nowNs);
  }

  #setActive(isRunning: boolean, nowNs: number): void {
    if (this.#isActive === isRunning) return;
    this.#isActive = isRunning;
    if (this.arena.isElastic) {
      this.#pool.apply({ type: "SetActivity", engine: this.id, isRunning }, nowNs);
    }
  }

  #keepHeadroom(nowNs: number): void {
    const { arena, headroom, scheduler, borrowing } = this.#parts;
    if (!arena.isElastic) return;
    if (borrowing.isYielding) {
      arena.keepHeadroom(0, false, nowNs);
      return;
    }
    arena.keepHeadroom(headroom.slices(nowNs), scheduler.isMemoryShort, nowNs);
  }

  /** Nothing to do: what was borrowed goes home, and idle memory is offered when it is quiet. */
  #idle(nowNs: number): void {
    const { borrowing, arena, headroom } = this.#parts;
    borrowing.returnAll(nowNs);
    const surplus = this.kv.slices.emptyRows[LOCAL_SOURCE]! - headroom.slices(nowNs);
    if (surplus >= 3 && arena.quietUntilNs > nowNs) this.#retryNs = arena.quietUntilNs;
  }
}
