/**
 * What an engine owes its lenders: the recalls it has not answered in full.
 *
 * Kept by Arena, answered by the recall ladder, cheapest slices first. Any slice of a lender will
 * do. It does not know slices; it is told how many of a lender are held, because nobody owes more
 * than it holds: a demand for what is under a refill recall makes it urgent, not more.
 *
 * Invariants: DEMAND recalls come before REFILL ones, each kind in the order of arrival; what is
 * owed to a lender is at most what is held of it; no recall is open that wants nothing.
 */

import { assert, type EngineId } from "../base/index.ts";
import type { RecallKind } from "../pool/index.ts";

/** A recall this engine has to answer as a borrower. */
export interface PendingRecall {
  readonly lender: EngineId;
  readonly kind: RecallKind;
  readonly deadlineNs: number;
  remaining: number;
}

export class RecallDebts {
  /** Owned by this class; readers see it change while slices are given back. */
  readonly open: PendingRecall[] = [];
  readonly #heldOf: (lender: EngineId) => number;

  /** @param heldOf slices of a lender that are not given back yet. */
  constructor(heldOf: (lender: EngineId) => number) {
    this.#heldOf = heldOf;
  }

  /** A recall has come. What exceeds the slices held upgrades refills, newest first, or is void. */
  note(lender: EngineId, count: number, kind: RecallKind, deadlineNs: number): void {
    this.open.push({ lender, kind, deadlineNs, remaining: count });
    this.open.sort((a, b) => Number(a.kind === "refill") - Number(b.kind === "refill"));
    this.#fit(lender);
  }

  /** One slice of the lender has been given back, asked for or not, and is held no more. */
  settle(lender: EngineId): void {
    const oldest = this.open.find((recall) => recall.lender === lender);
    if (oldest !== undefined) oldest.remaining--;
    this.#fit(lender);
  }

  /** Slices owed to a lender, those on their way counted in. */
  owed(lender: EngineId, kind: RecallKind | "any"): number {
    let owed = 0;
    for (const recall of this.open) {
      const isMeant = recall.lender === lender && (kind === "any" || recall.kind === kind);
      if (isMeant) owed += recall.remaining;
    }
    return owed;
  }

  /** Lenders that are gone are owed nothing: strikes what exceeds the slices held. */
  fitAll(): void {
    for (const lender of new Set(this.open.map((recall) => recall.lender))) this.#fit(lender);
  }

  /** The next deadline that is not past; an overdue recall waits for something else. */
  nextDueNs(nowNs: number): number {
    let due = Infinity;
    for (const { deadlineNs } of this.open) {
      if (deadlineNs > nowNs) due = Math.min(due, deadlineNs);
    }
    return due;
  }

  check(): void {
    let isRefill = false;
    for (const { lender, kind, remaining } of this.open) {
      assert(remaining > 0, () => `recall debts: one of ${lender} wants ${remaining}`);
      assert(kind === "refill" || !isRefill, "recall debts: a demand waits behind a refill");
      isRefill = kind === "refill";
      const [owed, held] = [this.owed(lender, "any"), this.#heldOf(lender)];
      assert(owed <= held, () => `recall debts: ${owed} owed to ${lender}, ${held} held`);
    }
  }

  /** Cuts what is owed to what is held, least urgent recall first, and drops answered ones. */
  #fit(lender: EngineId): void {
    let excess = this.owed(lender, "any") - this.#heldOf(lender);
    for (let index = this.open.length - 1; index >= 0; index--) {
      const recall = this.open[index]!;
      if (recall.lender === lender && excess > 0) {
        const cut = Math.min(recall.remaining, excess);
        recall.remaining -= cut;
        excess -= cut;
      }
      if (recall.remaining <= 0) this.open.splice(index, 1);
    }
  }
}
