/**
 * Open recalls in one list, served slice by slice.
 *
 * Oracle of the pool's model and of recall-book.test.ts; shares no code with src/pool.
 */

import type { FinishedRecall, RecallKind } from "../../src/pool/index.ts";

interface OpenRecall {
  readonly lender: number;
  readonly kind: RecallKind;
  readonly requestNs: number;
  arrived: number;
  remaining: number;
  lastNs: number;
}

export class NaiveRecalls {
  readonly finished: FinishedRecall[] = [];
  #open: OpenRecall[] = [];

  open(lender: number, kind: RecallKind, count: number, nowNs: number): void {
    const times = { requestNs: nowNs, lastNs: nowNs };
    this.#open.push({ lender, kind, arrived: 0, remaining: count, ...times });
  }

  waitedFor(lender: number, kind?: RecallKind): number {
    return this.#of(lender)
      .filter((recall) => recall.kind === (kind ?? recall.kind))
      .reduce((sum, recall) => sum + recall.remaining, 0);
  }

  /** The newest refill recalls wait for `count` slices less. */
  takeOver(lender: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const newest = this.#of(lender).findLast((recall) => recall.kind === "refill")!;
      newest.remaining--;
      this.#close(newest);
    }
  }

  arrive(lender: number, count: number, nowNs: number): void {
    for (let i = 0; i < count; i++) {
      const ours = this.#of(lender);
      const first = ours.find(({ kind }) => kind === "demand") ?? ours[0];
      if (first === undefined) return;
      first.arrived++;
      first.remaining--;
      first.lastNs = nowNs;
      this.#close(first);
    }
  }

  drop(lender: number): void {
    this.#open = this.#open.filter((recall) => recall.lender !== lender);
  }

  #of(lender: number): OpenRecall[] {
    return this.#open.filter((recall) => recall.lender === lender);
  }

  #close(recall: OpenRecall): void {
    if (recall.remaining > 0) return;
    this.#open = this.#open.filter((other) => other !== recall);
    const { kind, arrived: slices, lastNs, requestNs } = recall;
    if (slices > 0) this.finished.push({ kind, slices, waitNs: lastNs - requestNs });
  }
}
