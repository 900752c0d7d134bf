/**
 * The parts of one engine, made and tied together.
 *
 * Called by the engine's constructor only. Nothing here decides anything; it is the list of what an
 * engine consists of, each part a file of its own.
 */

import { assert, NS_PER_SECOND } from "../base/index.ts";
import { Arena, KvCache } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import { ReadSet } from "../prefetch/index.ts";
import { Scheduler, type SchedulerEvents } from "../scheduler/index.ts";
import { ArrivalReserve } from "./arrival-reserve.ts";
import { BorrowController } from "./borrow-controller.ts";
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
  const sourceCount = options.engineCount + 2;
  const counters = new EngineCounters();
  // A copy's fixed price in bytes: half of it may be spent on holes to save a copy.
  const copyPriceBytes = (link.copyCostNs * link.portBytesPerSecond) / NS_PER_SECOND;
  const kv = new KvCache({
    layout,
    sourceOfRow: options.sourceOfRow,
    sourceCount,
    readSet: new ReadSet(sourceCount, 64),
    bridgedBlocksMax: Math.floor(copyPriceBytes / layout.blockLayerBytes / 2),
    remembersFreed: options.remembersFreed === true,
  });
  const arena = new Arena({ ...options, quietNs: NS_PER_SECOND }, pool, kv);
  const rates = new LinkRates(options);
  const reading = { mode: options.accessMode, link, groupLayers: groupLayersFor(options) };
  const planner = new StepPlanner(reading, kv);
  const forecast = new LoanForecast({ ...reading, layout });
  const memory = new EngineMemory(options, kv, arena, planner);
  const scheduling = { ...options, hostSource: arena.hostSource };
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
  const known = { pool, arena, kv, scheduler, rates, cost, forecast, promptTime, tokenTimes };
  const borrowing = new BorrowController(
    { ...options, growthShare: options.admission.growthShare },
    { ...known, planner, ladder, reserve, residency },
  );
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
