/**
 * Which possible lenders have hardly run of late, seen by an engine that may want to borrow.
 *
 * Told the time by the borrow controller at each decision, asked before a loan. A lender that is
 * idle at this moment and runs at the next is no lender where running ones are not read at all:
 * sequences with blocks there would be parked each time and computed again.
 *
 * Invariant: what was seen weighs by its time, at most the window's; an unseen lender is calm.
 */

import { engineId, NS_PER_SECOND, type EngineId } from "../base/index.ts";
import type { Pool } from "../pool/index.ts";

const WINDOW_NS = 30 * NS_PER_SECOND;
/** A decision stands for the time since the one before, unless that is long ago. */
const STEP_MAX_NS = NS_PER_SECOND / 10;
/** A lender that has run less than this share of what was seen is calm. */
const CALM_SHARE = 0.1;

export class LenderCalm {
  /** (engines) */
  readonly #runningNs: Float64Array;
  #seenNs = 0;
  #nowNs = Infinity;

  constructor(engineCount: number) {
    this.#runningNs = new Float64Array(engineCount);
  }

  watch(pool: Pick<Pool, "isRunning">, nowNs: number): void {
    const stepNs = Math.max(0, Math.min(STEP_MAX_NS, nowNs - this.#nowNs));
    this.#nowNs = nowNs;
    const fading = Math.min(1, WINDOW_NS / (this.#seenNs + stepNs));
    this.#seenNs = (this.#seenNs + stepNs) * fading;
    for (let lender = 0; lender < this.#runningNs.length; lender++) {
      const ranNs = pool.isRunning(engineId(lender)) ? stepNs : 0;
      this.#runningNs[lender] = (this.#runningNs[lender]! + ranNs) * fading;
    }
  }

  isCalm(lender: EngineId): boolean {
    return this.#runningNs[lender]! <= CALM_SHARE * this.#seenNs;
  }
}
