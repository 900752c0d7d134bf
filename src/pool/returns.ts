/**
 * Executes what brings slices home: returns, recalls, and the end of an engine.
 *
 * Called by Pool. Returned slices serve the lender's recalls whether they were asked for or not
 * (recall-book.ts); what the borrower still owes is its leases' affair (leases.ts).
 */

import type { EngineId, SliceId } from "../base/index.ts";
import type { RecallKind } from "./commands.ts";
import type { PoolState } from "./pool-state.ts";

/** Held slices go to state OWN of their owners under new epochs; one SlicesReturned an owner. */
export function sendHome(state: PoolState, slices: readonly SliceId[]): void {
  const homes: (SliceId[] | undefined)[] = [];
  for (const slice of slices) {
    const wasOwed = state.giveBack(slice);
    state.ledger.takeBack(slice);
    state.counts[wasOwed ? "slice:recalled-own" : "slice:lent-own"]++;
    (homes[state.ledger.ownerOf(slice)] ??= []).push(slice);
  }
  homes.forEach((home, owner) => {
    if (home === undefined) return;
    state.book.arrive(owner as EngineId, home.length, state.nowNs);
    state.post(owner as EngineId, { type: "SlicesReturned", slices: home });
  });
}

/** Asks the borrowers; one RecallRequested a lease. Nothing left to ask for: nothing happens. */
export function recallSlices(
  state: PoolState,
  lender: EngineId,
  count: number,
  kind: RecallKind,
): void {
  const { shares, freshCount, upgradedCount } = state.leases.recall(lender, count, kind);
  if (freshCount + upgradedCount === 0) return;
  state.counts["slice:lent-recalled"] += freshCount;
  state.counts[`recall:${kind}`]++;
  if (upgradedCount > 0) state.counts["recall:upgrade"]++;
  state.book.open(lender, kind, freshCount + upgradedCount, state.nowNs);
  // Unasked returns may have served a recall whose obligations stand; only what exceeds all that
  // is owed would be waited for twice.
  const excess = state.book.outstanding(lender) - state.leases.recalledCounts[lender]!;
  if (excess > 0) state.book.takeOver(lender, excess);
  const deadlineNs = state.nowNs + (kind === "refill" ? state.refillDeadlineNs : 0);
  for (const { lease, borrower, count: slices } of shares) {
    const event = { lease, lender, count: slices, kind, deadlineNs };
    state.post(borrower, { type: "RecallRequested", ...event });
  }
}

/** What it borrowed goes home, what it lent is lost to its borrowers, all its slices are GONE. */
export function removeEngine(state: PoolState, engine: EngineId): void {
  for (let index = 0; index < state.engineCount; index++) {
    const other = index as EngineId;
    sendHome(state, state.leases.slicesOf(other, engine));
    loseLoans(state, engine, other);
  }
  const lost = state.ledger.lose(engine);
  state.counts["slice:own-gone"] += lost.own;
  state.counts["slice:idle-gone"] += lost.idle;
  state.counts["slice:lent-gone"] += lost.lent;
  state.book.drop(engine);
  state.mailboxes.clear(engine);
  state.isRunning[engine] = 0;
  state.isGone[engine] = 1;
}

function loseLoans(state: PoolState, lender: EngineId, borrower: EngineId): void {
  const slices = state.leases.slicesOf(lender, borrower);
  if (slices.length === 0) return;
  for (const slice of slices) state.giveBack(slice);
  state.post(borrower, { type: "LeaseLost", lender, slices });
}
