/**
 * The parts of one engine, made and tied together.
 *
 * Called by the engine's constructor only. Nothing here decides anything; it is the list of what an
 * engine consists of, each part a file of its own.
 */

import { assert, NS_PER_SECOND } from "../base/index.ts";
import { Arena, KvCache, type ArenaOptions, type KvCacheOptions } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import { ReadSet } from "../prefetch/index.ts";
import { Scheduler, type SchedulerEvents, type SchedulerOptions } from "../scheduler/index.ts";
import { ArrivalReserve } from "./arrival-reserve.ts";
import { BorrowController, type BorrowOptions } from "./borrow-controller.ts";
import { EngineCounters } from "./engine-counters.ts";
import { EngineMemory } from "./engine-memory.ts";
import type { EngineOptions } from "./engine-options.ts";
import { LendingHeadroom } from "./lending-headroom.ts";
import { LinkRelief } from "./link-relief.ts";
import { LinkRates } from "./link-rates.ts";
import { LoanAccounts } from "./loan-accounts.ts";
import { groupLayersFor, LoanForecast } from "./loan-forecast.ts";
import { ReadReports } from "./read-reports.ts";
import type { CopyEngine, StepRunner } from "./ports.ts";
import { RecallLadder, type LadderHost } from "./recall-ladder.ts";
import { Residency } from "./residency.ts";
import { ROLE_TIMES } from "./role-times.ts";
import { TokenTimes } from "./token-times.ts";
import { StepCost } from "./step-cost.ts";
import { StepFlight } from "./step-flight.ts";
import { StepPlanner } from "./step-planner.ts";

export interface EngineParts {
  readonly counters: EngineCounters;
  readonly kv: KvCache;
  readonly arena: Arena;
  readonly rates: LinkRates;
  readonly planner: StepPlanner;
  readonly scheduler: Scheduler;
  readonly residency: Residency;
  readonly relief: LinkRelief;
  readonly flight: StepFlight;
  readonly ladder: RecallLadder;
  readonly borrowing: BorrowController;
  readonly accounts: LoanAccounts;
  readonly reads: ReadReports;
  readonly tokenTimes: TokenTimes;
  readonly headroom: LendingHeadroom;
  readonly reserve: ArrivalReserve;
}

export function createParts(
  options: EngineOptions,
  pool: Pool,
  runner: StepRunner,
  copies: CopyEngine,
  host: SchedulerEvents & LadderHost,
): EngineParts {
  const { layout, link } = options;
  const isPlain = !options.isElastic || options.stepsAhead !== 1;
  assert(isPlain, "engine: steps are decided ahead only where nobody lends or borrows");
  const counters = new EngineCounters();
  const kv = new KvCache(cacheOptions(options));
  const arena = new Arena(arenaOptions(options), pool, kv);
  const rates = new LinkRates(options);
  const reading = { mode: options.accessMode, link, groupLayers: groupLayersFor(options) };
  const planner = new StepPlanner(reading, kv);
  const { mode, groupLayers } = reading;
  const forecast = new LoanForecast({ mode, link, layout, groupLayers });
  const memory = new EngineMemory(options, kv, arena, planner);
  const scheduling = schedulerOptions(options, arena.hostSource);
  const scheduler = new Scheduler(scheduling, kv, memory, rates, host);
  const { sequences } = scheduler;
  const residency = new Residency(kv, arena, copies, sequences, counters);
  const relief = new LinkRelief(kv, arena, sequences, residency);
  memory.connect(residency, sequences);
  const cost = new StepCost(options.cost, layout.layers);
  const flight = new StepFlight(runner, kv, sequences, cost, planner, rates, counters);
  const rowsOf = { pool, slicesOf: options.slicesOf };
  const ladder = new RecallLadder(arena, kv, scheduler, residency, counters, host, rowsOf);
  const { promptTime } = flight;
  const reserve = new ArrivalReserve(layout, options.ownSlices);
  const tokenTimes = new TokenTimes();
  const borrowing = new BorrowController(borrowOptions(options), {
    pool,
    arena,
    kv,
    scheduler,
    rates,
    cost,
    forecast,
    promptTime,
    tokenTimes,
    planner,
    ladder,
    reserve,
    residency,
  });
  const accounts = new LoanAccounts(options, kv, scheduler, cost);
  const reads = new ReadReports(options.engineCount);
  const headroom = new LendingHeadroom(options, kv);
  for (const row of options.hostRows) kv.slices.admit(row);
  return {
    counters,
    kv,
    arena,
    rates,
    planner,
    scheduler,
    residency,
    relief,
    flight,
    ladder,
    borrowing,
    accounts,
    reads,
    headroom,
    tokenTimes,
    reserve,
  };
}

// What parts are told is listed, not spread: each spread makes a shape of its own for every engine,
// and what all engines do at every step would look its settings up by name.

function cacheOptions(options: EngineOptions): KvCacheOptions {
  const { layout, link } = options;
  const sourceCount = options.engineCount + 2;
  // A copy's fixed price in bytes: half of it may be spent on holes to save a copy.
  const copyPriceBytes = (link.copyCostNs * link.portBytesPerSecond) / NS_PER_SECOND;
  return {
    layout,
    sourceOfRow: options.sourceOfRow,
    sourceCount,
    readSet: new ReadSet(sourceCount, 64),
    bridgedBlocksMax: Math.floor(copyPriceBytes / layout.blockLayerBytes / 2),
    remembersFreed: options.remembersFreed === true,
  };
}

function arenaOptions(options: EngineOptions): ArenaOptions {
  return {
    engine: options.engine,
    engineCount: options.engineCount,
    ownSlices: options.ownSlices,
    isElastic: options.isElastic,
    quietNs: NS_PER_SECOND,
    clearing: options.clearing ?? null,
  };
}

function schedulerOptions(options: EngineOptions, hostSource: number): SchedulerOptions {
  return {
    maxBatchTokens: options.maxBatchTokens,
    maxSequences: options.maxSequences,
    contextTokensMax: options.contextTokensMax,
    tpotTargetNs: options.tpotTargetNs,
    admission: options.admission,
    headTimeoutNs: options.headTimeoutNs,
    parkedMaxNs: options.parkedMaxNs,
    hostSource,
    stepsAhead: options.stepsAhead ?? 0,
    remembersFreed: options.remembersFreed === true,
  };
}

function borrowOptions(options: EngineOptions): BorrowOptions {
  return {
    engineCount: options.engineCount,
    ownSlices: options.ownSlices,
    tpotTargetNs: options.tpotTargetNs,
    growthShare: options.admission.growthShare,
    maxSequences: options.maxSequences,
    lenderShare: options.lenderShare,
    roleTimes: options.roleTimes ?? ROLE_TIMES,
  };
}
