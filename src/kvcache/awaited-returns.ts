/**
 * What a lender has asked back and not yet received, by the kind of recall.
 *
 * Kept by Arena, so that nothing is asked for twice. It counts as the pool does: whichever slice
 * comes home first serves the demands; a demand beyond what is not under recall upgrades refills.
 *
 * Invariant: no more is awaited than is lent.
 */

import { assert } from "../base/index.ts";
import type { RecallKind } from "../pool/index.ts";

export class AwaitedReturns {
  #demand = 0;
  #refill = 0;

  get total(): number {
    return this.#demand + this.#refill;
  }

  /**
   * How many of `wanted` slices must still be asked for: a refill counts what any recall brings, a
   * demand what demands bring.
   */
  missing(wanted: number, kind: RecallKind, lent: number): number {
    const underway = kind === "demand" ? this.#demand : this.total;
    return Math.max(0, Math.min(wanted, lent) - underway);
  }

  /** `count` slices have been asked for, no more than were missing. */
  ask(count: number, kind: RecallKind, lent: number): void {
    if (kind === "refill") {
      this.#refill += count;
      return;
    }
    const fresh = lent - this.total;
    this.#refill -= Math.max(0, count - fresh);
    this.#demand += count;
  }

  /** `count` slices came home, after which `lent` are still away. */
  arrive(count: number, lent: number): void {
    const demand = Math.min(count, this.#demand);
    this.#demand -= demand;
    this.#refill -= Math.min(count - demand, this.#refill);
    if (lent > 0) return;
    this.#demand = 0;
    this.#refill = 0;
  }

  check(lent: number): void {
    const text = `awaited returns: ${this.#demand} demanded, ${this.#refill} refilled of ${lent}`;
    assert(this.#demand >= 0 && this.#refill >= 0 && this.total <= lent, text);
  }
}
