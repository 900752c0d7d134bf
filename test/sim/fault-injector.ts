/**
 * Lets faults into a running cluster: a process that dies, limits, cancellations, hard recalls.
 *
 * Called after every event with the faults of a scenario; each acts at the first event at or after
 * its time, or at its worst moment after that. Once the list is empty there are no more faults.
 */

import { engineId } from "../../src/base/index.ts";
import { LOCAL_SOURCE } from "../../src/kvcache/index.ts";
import type { Cluster } from "../../src/sim/index.ts";
import type { Fault } from "./random-scenario.ts";
import type { ReadWatch } from "./read-watch.ts";
import type { RequestWatch } from "./request-watch.ts";

/** A fault waits at most so long for its worst moment. */
const PATIENCE_NS = 3e9;

export class FaultInjector {
  readonly counts = new Map<string, number>();
  readonly #cluster: Cluster;
  readonly #requests: RequestWatch;
  readonly #reads: readonly ReadWatch[];
  readonly #faults: Fault[];

  constructor(
    cluster: Cluster,
    faults: readonly Fault[],
    requests: RequestWatch,
    reads: readonly ReadWatch[],
  ) {
    this.#cluster = cluster;
    this.#faults = [...faults];
    this.#requests = requests;
    this.#reads = reads;
  }

  inject(): void {
    const { nowNs } = this.#cluster;
    for (let index = 0; index < this.#faults.length; index++) {
      const fault = this.#faults[index]!;
      if (fault.timeNs > nowNs) return;
      const isLate = nowNs - fault.timeNs > PATIENCE_NS;
      const isDone = this.#cluster.isGone(fault.engine) || this.#apply(fault);
      if (isDone) this.#counted(fault);
      if (isDone || isLate) this.#faults.splice(index--, 1);
    }
  }

  #counted({ kind, moment }: Fault): void {
    const name = kind === "recall" ? `recall when ${moment}` : kind;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  /** @returns false while it is not the moment for it. */
  #apply(fault: Fault): boolean {
    const { engine: index, draw } = fault;
    switch (fault.kind) {
      case "remove":
        // A lender's death is the one that others notice.
        if (draw < 0.7 && this.#cluster.pool.lentSlices(engineId(index)) === 0) return false;
        this.#cluster.removeEngine(index);
        return true;
      case "limit":
        this.#setLimit(index, draw);
        return true;
      case "cancel":
        return this.#cancel(index, draw);
      case "recall":
        return this.#recall(index, fault);
      case "refill-then-demand":
        return this.#recallTwice(index);
      case "flap":
        return this.#flap(index);
    }
  }

  #setLimit(index: number, draw: number): void {
    const sliceCount = draw < 0.2 ? Infinity : draw < 0.6 ? 0 : Math.floor(draw * 20);
    const engine = engineId(index);
    this.#cluster.act(index, (_, nowNs) => {
      this.#cluster.pool.apply({ type: "SetBorrowLimit", engine, sliceCount }, nowNs);
    });
  }

  #cancel(index: number, draw: number): boolean {
    const { recorder, requests } = this.#cluster.members[index]!;
    const first = Math.floor(draw * requests.count);
    for (let offset = 0; offset < requests.count; offset++) {
      const request = (first + offset) % requests.count;
      if (!this.#requests.isOpen(index, request)) continue;
      let wasHere = false;
      this.#cluster.act(index, (engine, nowNs) => {
        wasHere = engine.cancel(request, nowNs);
      });
      if (!wasHere) continue;
      this.#requests.ended(index, request, "cancelled");
      recorder.cancelled(request, this.#cluster.nowNs);
      return true;
    }
    return false;
  }

  #recall(index: number, fault: Fault): boolean {
    const lent = this.#cluster.pool.lentSlices(engineId(index));
    if (lent === 0 || !this.#isMoment(index + 1, fault.moment)) return false;
    const isSudden = fault.moment === "parked" || fault.moment === "interrupted";
    const demandShare = isSudden ? 0.8 : fault.moment === "roomy elsewhere" ? 0.1 : 0.5;
    const kind = fault.draw < demandShare ? "demand" : "refill";
    const isAll = fault.draw < 0.25 || isSudden;
    const rows = isAll ? lent : Math.ceil(lent * fault.draw);
    this.#cluster.act(index, (engine, nowNs) => engine.arena.recall(rows, kind, nowNs));
    return true;
  }

  /** Whether any borrower is in the middle of that with slices of the source. */
  #isMoment(source: number, moment: Fault["moment"]): boolean {
    return this.#cluster.members.some(({ engine }, borrower) => {
      if (this.#cluster.isGone(borrower) || borrower === source - 1) return false;
      const { kv, scheduler } = engine;
      const { order, count, isParked } = scheduler.sequences;
      switch (moment) {
        case "any":
          return true;
        case "read in place":
          return kv.readSet.directBytes[source]! > 0;
        case "copied into":
          return [...kv.moves.values()].some((move) => move.targetSource === source);
        case "interrupted":
          return this.#reads[borrower]!.groupEndNs > this.#cluster.nowNs;
        case "parked":
          return order
            .subarray(0, count)
            .some((row) => isParked[row] === 1 && kv.blocksAt(row, source) > 0)
            && !order.subarray(0, count).some((row) => scheduler.rotation.isAtHost(row));
        case "roomy elsewhere": {
          const { freeBlocks, usedBlocks } = kv.slices;
          const others = freeBlocks.subarray(1, engine.arena.hostSource);
          const isRoomy = others.some((free, index) => index + 1 !== source && free > 0);
          return isRoomy && usedBlocks[source]! > 0 && freeBlocks[LOCAL_SOURCE]! < 4;
        }
      }
    });
  }

  #recallTwice(index: number): boolean {
    const lent = this.#cluster.pool.lentSlices(engineId(index));
    if (lent === 0) return false;
    this.#cluster.act(index, (engine, nowNs) => {
      engine.arena.recall(lent, "refill", nowNs);
      engine.arena.recall(lent, "demand", nowNs);
    });
    return true;
  }

  /** Its borrowers are told that it runs, and the moment after that it does not. */
  #flap(index: number): boolean {
    const { engine } = this.#cluster.members[index]!;
    const id = engineId(index);
    if (!engine.scheduler.isEmpty || this.#cluster.pool.lentSlices(id) === 0) return false;
    for (const isRunning of [true, false]) {
      this.#cluster.act(index, (_, nowNs) => {
        this.#cluster.pool.apply({ type: "SetActivity", engine: id, isRunning }, nowNs);
      });
    }
    return true;
  }
}
