/**
 * Runs one random simulation under every check and counts what happened in it.
 *
 * Called by the simulation tests with a seed, by the tests of the tests with a planted bug on top.
 * Two phases: faults are let in while requests arrive; then they stop, everything must end, and
 * nothing may be left over.
 */

import { assert, engineId } from "../../src/base/index.ts";
import {
  LADDER_RUNGS,
  type CopyEngine,
  type EngineSink,
  type StepRunner,
} from "../../src/engine/index.ts";
import { RowState } from "../../src/kvcache/index.ts";
import type { Pool } from "../../src/pool/index.ts";
import { buildCluster, Digest, type Cluster } from "../../src/sim/index.ts";
import { FaultInjector } from "./fault-injector.ts";
import type { RandomRun } from "./random-scenario.ts";
import { ReadWatch } from "./read-watch.ts";
import { RecallWatch } from "./recall-watch.ts";
import { RequestWatch } from "./request-watch.ts";

/**
 * A fault of EMA itself, put in on purpose, or what computes real tokens. Wraps lie between the
 * engine and the watchers; `costed` is the runner that is watched.
 */
export interface PlantedBug {
  pool?(pool: Pool): Pool;
  runner?(runner: StepRunner, engine: number, costed: StepRunner): StepRunner;
  copies?(copies: CopyEngine, engine: number): CopyEngine;
  sink?(sink: EngineSink, engine: number): EngineSink;
  cluster?(cluster: Cluster): void;
}

export interface Outcome {
  readonly counts: ReadonlyMap<string, number>;
  readonly digest: string;
  readonly endNs: number;
  readonly events: number;
}

/** A head of the queue gives up after so long; longer than any recall, copy or step takes. */
const HEAD_TIMEOUT_NS = 20e9;
const EVENTS_MAX = 200_000;

/** @throws AssertionFailure at the first event after which something is wrong. */
export function runSimulation(run: RandomRun, bug: PlantedBug = {}): Outcome {
  const { scenario, admission, seed } = run;
  const digest = new Digest();
  const watches: ReadWatch[] = [];
  let recalls: RecallWatch | null = null;
  let members: Cluster["members"] = [];
  const cluster = buildCluster(scenario, scenario.systems[0]!, seed, admission, digest, {
    headTimeoutNs: HEAD_TIMEOUT_NS,
    roleTimes: run.roleTimes,
    pool: (pool) => {
      scenario.engines.forEach((_, index) => {
        watches.push(new ReadWatch(index, pool, () => members[index]!.engine));
      });
      watchGrants(pool, watches);
      recalls = new RecallWatch(pool, scenario.engines.length);
      return bug.pool?.(pool) ?? pool;
    },
    runner: (inner, index) => {
      const watched = watches[index]!.runner(inner);
      return bug.runner?.(watched, index, inner) ?? watched;
    },
    copies: (inner, index) => {
      const watched = watches[index]!.copies(inner);
      return bug.copies?.(watched, index) ?? watched;
    },
    sink: (inner, index) => bug.sink?.(inner, index) ?? inner,
  });
  ({ members } = cluster);
  const requests = new RequestWatch(cluster, run, HEAD_TIMEOUT_NS);
  const faults = new FaultInjector(cluster, run.faults, requests, watches);
  bug.cluster?.(cluster);
  const isGone = (index: number): boolean => cluster.isGone(index);
  while (cluster.step()) {
    assert(cluster.events < EVENTS_MAX, () => `simulation: ${cluster.events} events and no end`);
    faults.inject();
    cluster.check();
    checkUsers(cluster);
    watches.forEach((watch, index) => isGone(index) || watch.check(cluster.nowNs, isGone));
    requests.check();
    recalls!.check(cluster.nowNs);
  }
  checkDrained(cluster, watches);
  requests.checkEnded();
  return {
    counts: countAll(cluster, watches, faults, requests),
    digest: digest.toString(),
    endNs: cluster.nowNs,
    events: cluster.events,
  };
}

function watchGrants(pool: Pool, watches: readonly ReadWatch[]): void {
  const poll = pool.poll.bind(pool);
  pool.poll = (engine) => {
    const event = poll(engine);
    if (event?.type === "LeaseGranted") watches[engine]!.granted(event.slices, event.epochs);
    return event;
  };
}

/** No slice is in the tables of two engines. */
function checkUsers(cluster: Cluster): void {
  const { members } = cluster;
  const hostSource = members[0]!.engine.arena.hostSource;
  const rows = members[0]!.engine.kv.slices.source.findIndex((source) => source === hostSource);
  for (let row = 0; row < rows; row++) {
    let user = -1;
    for (let index = 0; index < members.length; index++) {
      if (cluster.isGone(index)) continue;
      if (members[index]!.engine.kv.slices.state[row] === RowState.Absent) continue;
      assert(user < 0, () => `simulation: slice ${row} is used by ${user} and by ${index}`);
      user = index;
    }
  }
}

/** Nothing is lent, used, on its way or waiting. */
function checkDrained(cluster: Cluster, watches: readonly ReadWatch[]): void {
  cluster.members.forEach(({ engine }, index) => {
    if (cluster.isGone(index)) return;
    const { kv, arena, scheduler } = engine;
    const lent = cluster.pool.lentSlices(engineId(index));
    assert(lent === 0, () => `simulation: engine ${index} still lends ${lent} slices`);
    assert(kv.moves.size === 0, () => `simulation: engine ${index} still moves ${kv.moves.size}`);
    for (let source = 0; source < kv.sourceCount; source++) {
      const used = kv.usedBlocks(source);
      assert(used === 0, () => `simulation: engine ${index} still uses ${used} of ${source}`);
    }
    assert(scheduler.isEmpty, () => `simulation: engine ${index} still has work`);
    assert(arena.recalls.length === 0, () => `simulation: engine ${index} still owes slices`);
    assert(!arena.isAwaitingReturn, () => `simulation: engine ${index} still waits for slices`);
    assert(!arena.hasFences, () => `simulation: engine ${index} still has fences`);
    watches[index]!.checkDrained();
  });
}

function countAll(
  cluster: Cluster,
  watches: readonly ReadWatch[],
  faults: FaultInjector,
  requests: RequestWatch,
): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string, count: number): void => {
    counts.set(name, (counts.get(name) ?? 0) + count);
  };
  for (const [name, count] of Object.entries(cluster.pool.counts)) add(`pool ${name}`, count);
  for (const [name, count] of faults.counts) add(`fault ${name}`, count);
  for (const [name, count] of requests.ends) add(`end ${name}`, count);
  cluster.members.forEach(({ engine }, index) => {
    const watch = watches[index]!;
    const { counters, arena, scheduler } = engine;
    for (const [name, count] of Object.entries(arena.refusals)) add(`refusal ${name}`, count);
    for (const rung of LADDER_RUNGS) add(`rung ${rung}`, counters.ladder[rung]);
    for (const [reason, count] of watch.moves) add(`move ${reason}`, count);
    add("interrupts", watch.interrupts);
    add("remote steps", watch.remoteSteps);
    add("preemptions", counters.preemptions);
    add("rotations", scheduler.rotation.rotations);
    add("parkings", scheduler.rotation.parkings);
    add("prefetch hit", counters.prefetchHits);
    add("prefetch late", counters.prefetchLates);
    add("prefetch miss", counters.prefetchMisses);
  });
  return counts;
}
