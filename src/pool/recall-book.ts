/**
 * The recalls of each lender that are not finished; those that are it tells, and forgets.
 *
 * Used by the pool alone. It does not know leases: whichever slice comes home first serves the
 * recall that is most urgent: the oldest DEMAND, then the oldest REFILL. An upgrade takes slices
 * over from refill recalls, newest first, so that no slice is waited for twice.
 *
 *    open --(slices come home)--> finished: told with the time of its last slice, and forgotten
 *      |
 *      +--(a demand takes over all that is left)--> finished with what came, or nothing came: gone
 *
 * Invariant: a lender waits for at most what its leases owe it (the pool's check()), so every
 * recall finishes when every borrower does what it was asked.
 */

import { assert, type EngineId } from "../base/index.ts";
import type { RecallKind } from "./commands.ts";

/** Wait = from the request until the lender may use the last of the slices. */
export interface FinishedRecall {
  readonly kind: RecallKind;
  readonly slices: number;
  readonly waitNs: number;
}

interface OpenRecall {
  readonly kind: RecallKind;
  readonly requestNs: number;
  arrived: number;
  remaining: number;
  lastArrivalNs: number;
}

interface LenderQueue {
  /** Oldest first. */
  readonly demand: OpenRecall[];
  readonly refill: OpenRecall[];
  outstanding: number;
}

/** Open recalls by lender, in the order in which returns serve them. */
export class RecallBook {
  readonly #queues: LenderQueue[];
  readonly #onFinished: (recall: FinishedRecall) => void;

  constructor(engineCount: number, onFinished: (recall: FinishedRecall) => void) {
    this.#onFinished = onFinished;
    this.#queues = Array.from({ length: engineCount }, () => emptyQueue());
  }

  /** Slices that recalls of `lender` still wait for. */
  outstanding(lender: EngineId): number {
    return this.#queues[lender]!.outstanding;
  }

  open(lender: EngineId, kind: RecallKind, count: number, nowNs: number): void {
    assert(count > 0, () => `recalls: opened for ${count} slices`);
    const queue = this.#queues[lender]!;
    queue[kind].push({
      kind,
      requestNs: nowNs,
      arrived: 0,
      remaining: count,
      lastArrivalNs: nowNs,
    });
    queue.outstanding += count;
  }

  /** A demand recall now waits for `count` slices that refill recalls waited for. */
  takeOver(lender: EngineId, count: number): void {
    const queue = this.#queues[lender]!;
    queue.outstanding -= count;
    for (let left = count; left > 0; ) {
      const newest = queue.refill.at(-1);
      assert(
        newest !== undefined,
        () => `recalls: ${left} slices taken over from no refill recall`,
      );
      const taken = Math.min(left, newest.remaining);
      newest.remaining -= taken;
      left -= taken;
      if (newest.remaining === 0) {
        queue.refill.pop();
        if (newest.arrived > 0) this.#finish(newest);
      }
    }
  }

  /** `count` slices of `lender` came home; those that no recall waits for change nothing. */
  arrive(lender: EngineId, count: number, nowNs: number): void {
    const queue = this.#queues[lender]!;
    let left = Math.min(count, queue.outstanding);
    queue.outstanding -= left;
    while (left > 0) {
      const waiting = queue.demand.length > 0 ? queue.demand : queue.refill;
      const oldest = waiting[0]!;
      const served = Math.min(left, oldest.remaining);
      oldest.arrived += served;
      oldest.remaining -= served;
      oldest.lastArrivalNs = nowNs;
      left -= served;
      if (oldest.remaining === 0) {
        waiting.shift();
        this.#finish(oldest);
      }
    }
  }

  /** The lender is gone: nobody waits any more. */
  drop(lender: EngineId): void {
    this.#queues[lender] = emptyQueue();
  }

  check(): void {
    this.#queues.forEach((queue, lender) => {
      const recalls = [...queue.demand, ...queue.refill];
      const sum = recalls.reduce((total, recall) => total + recall.remaining, 0);
      const text = `recalls: lender ${lender} waits for ${queue.outstanding}, counted ${sum}`;
      assert(sum === queue.outstanding, text);
      const isOpen = recalls.every((recall) => recall.remaining > 0);
      assert(isOpen, () => `recalls: lender ${lender} keeps a finished one`);
    });
  }

  #finish(recall: OpenRecall): void {
    const { kind, arrived, requestNs, lastArrivalNs } = recall;
    this.#onFinished({ kind, slices: arrived, waitNs: lastArrivalNs - requestNs });
  }
}

function emptyQueue(): LenderQueue {
  return { demand: [], refill: [], outstanding: 0 };
}
