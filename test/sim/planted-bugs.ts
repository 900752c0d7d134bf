/**
 * Faults of EMA itself, put in on purpose: each must be found by the seeds and checks of the
 * simulation, none of which knows of it.
 *
 * Each bug changes what one part does by replacing a method on the object, between the engine and
 * the watchers, or behind the engine's back.
 */

import type { CopyEngine, CopyRequest } from "../../src/engine/index.ts";
import type { Arena } from "../../src/kvcache/index.ts";
import type { Pool, PoolEvent } from "../../src/pool/index.ts";
import type { Cluster } from "../../src/sim/index.ts";
import type { PlantedBug } from "./simulation.ts";

/** A borrower forgets every fifth slice that it should give back. */
const leakedSlice: PlantedBug = {
  cluster: onArenas((arena) => {
    const giveBack = arena.giveBack.bind(arena);
    let count = 0;
    arena.giveBack = (row, notBeforeNs, nowNs) => {
      if (++count % 5 === 0) arena.closeRow(row);
      else giveBack(row, notBeforeNs, nowNs);
    };
  }),
};

/** Slices go home while the step in flight still reads them. */
const earlyReuse: PlantedBug = {
  cluster: onArenas((arena) => {
    const giveBack = arena.giveBack.bind(arena);
    arena.giveBack = (row, _notBeforeNs, nowNs) => giveBack(row, nowNs, nowNs);
  }),
};

/** The pool tells a second engine, too, that it was granted slices. */
const doubleGrant: PlantedBug = {
  pool: (pool) => {
    const poll = pool.poll.bind(pool);
    let copy: { readonly event: PoolEvent; readonly of: number } | null = null;
    pool.poll = (engine) => {
      if (copy !== null && copy.of !== engine) {
        const { event } = copy;
        copy = null;
        return event;
      }
      const event = poll(engine);
      if (event?.type === "LeaseGranted") copy = { event, of: engine };
      return event;
    };
    return pool;
  },
};

/** Every third recall never reaches the borrower. */
const lostRecall: PlantedBug = { pool: losing("RecallRequested", 3) };

/** A borrower is never told that its lender is gone. */
const lostLoss: PlantedBug = { pool: losing("LeaseLost", 1) };

/** Every fourth note that a lender began or ceased to run is lost. */
const lostActivity: PlantedBug = { pool: losing("LenderActivity", 4) };

/** Blocks count as moved when their copy has begun. */
const readBeforeArrival: PlantedBug = {
  copies: (inner): CopyEngine => {
    const begun: number[] = [];
    const early = new Set<number>();
    return {
      submit: (request: CopyRequest, nowNs) => {
        inner.submit(request, nowNs);
        begun.push(request.id);
      },
      poll: (nowNs) => {
        const id = begun.shift();
        if (id !== undefined) {
          early.add(id);
          return id;
        }
        let ended = inner.poll(nowNs);
        while (ended >= 0 && early.delete(ended)) ended = inner.poll(nowNs);
        return ended;
      },
      nextDueNs: () => inner.nextDueNs(),
      abort: (id, nowNs) => inner.abort(id, nowNs),
    };
  },
};

/** A block counts as full one block too early, so it moves while tokens are written to it. */
const movedOpenBlock: PlantedBug = {
  cluster: (cluster) => {
    for (const { engine } of cluster.members) {
      const { kv } = engine;
      const seal = kv.seal.bind(kv);
      kv.seal = (sequence, tokens) => {
        const most = kv.blockCount(sequence) * kv.layout.blockTokens;
        seal(sequence, Math.min(most, tokens + kv.layout.blockTokens));
      };
    }
  },
};

/** A lender takes slices for its own that it has offered, and tells nobody. */
const usedWhileOffered: PlantedBug = {
  cluster: onArenas((arena, cluster) => {
    const withdrawFor = arena.withdrawFor.bind(arena);
    arena.withdrawFor = (blocks, nowNs) => {
      const { engine } = cluster.members[arena.engine]!;
      const first = cluster.pool.firstSliceOf(arena.engine);
      const { slices } = engine.kv;
      // The first of its own slices that is not in its table.
      let row: number = first;
      while (slices.source[row] === 0 && slices.state[row] !== 0) row++;
      if (slices.source[row] === 0 && arena.lentSlices > 0) slices.admit(row);
      return withdrawFor(blocks, nowNs);
    };
  }),
};

/** A step in flight goes on reading for sequences that were taken out of it. */
const deafToInterrupts: PlantedBug = {
  runner: (inner) => ({
    timing: inner.timing,
    isForeseen: inner.isForeseen,
    submit: (work, nowNs) => inner.submit(work, nowNs),
    interrupt: (nowNs) => nowNs,
    resume: () => {},
    poll: (nowNs) => inner.poll(nowNs),
    rest: (nowNs) => inner.rest(nowNs),
    nextDueNs: () => inner.nextDueNs(),
  }),
};

/** A step ends before it has computed anything. */
const hastyStep: PlantedBug = {
  runner: (inner) => ({
    timing: inner.timing,
    isForeseen: inner.isForeseen,
    submit: (work, nowNs) => inner.submit(work, nowNs),
    interrupt: (nowNs) => inner.interrupt(nowNs),
    resume: (work) => inner.resume(work),
    poll: () => inner.poll(Infinity),
    rest: (nowNs) => inner.rest(nowNs),
    nextDueNs: () => inner.nextDueNs() - 1e6,
  }),
};

export const PLANTED_BUGS: ReadonlyMap<string, PlantedBug> = new Map([
  ["a leaked slice", leakedSlice],
  ["an early reuse", earlyReuse],
  ["a double grant", doubleGrant],
  ["a lost recall", lostRecall],
  ["a read before arrival", readBeforeArrival],
  ["a loss that nobody is told of", lostLoss],
  ["a lender's activity that is lost", lostActivity],
  ["an open block that moves", movedOpenBlock],
  ["a slice used while it is lent", usedWhileOffered],
  ["a runner that does not stop", deafToInterrupts],
  ["a step that ends too early", hastyStep],
]);

function onArenas(change: (arena: Arena, cluster: Cluster) => void): (cluster: Cluster) => void {
  return (cluster) => {
    for (const { engine } of cluster.members) change(engine.arena, cluster);
  };
}

/** Every n-th event of a type is taken from the mailbox and thrown away. */
function losing(type: PoolEvent["type"], every: number): (pool: Pool) => Pool {
  return (pool) => {
    const poll = pool.poll.bind(pool);
    let count = 0;
    pool.poll = (engine) => {
      let event = poll(engine);
      while (event?.type === type && ++count % every === 0) event = poll(engine);
      return event;
    };
    return pool;
  };
}
