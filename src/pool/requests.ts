/**
 * Executes RequestSlices: decides how much a borrower may get, from whom, and says why no more.
 *
 * Called by Pool. Refusals are looked for in a fixed order: role, limit, then what placement found
 * (link, account, lender-share, no-idle-memory); a request that is granted in part is told the
 * reason for the rest.
 */

import type { EngineId, SliceId } from "../base/index.ts";
import type { PoolRefusal } from "./counters.ts";
import { placeSlices, shortageReason } from "./placement.ts";
import type { PoolState } from "./pool-state.ts";

/** Answered by one LeaseGranted a lender and one LeaseDenied for what was not granted. */
export function requestSlices(
  state: PoolState,
  borrower: EngineId,
  count: number,
  allowRunning: boolean,
): void {
  if (state.isLender(borrower)) return deny(state, borrower, "role", count);
  const room = state.borrowLimits[borrower]! - state.leases.borrowedCounts[borrower]!;
  const fitting = Math.max(0, Math.min(count, room));
  if (fitting === 0) return deny(state, borrower, "limit", count);
  const lenders = state.lendersOf(borrower, state.nowNs);
  const granted = placeSlices(fitting, lenders, allowRunning, state.grants);
  const reason = granted === fitting ? "limit" : shortageReason(lenders, state.grants);
  for (let lender = 0; lender < state.engineCount; lender++) {
    const slices = state.grants[lender]!;
    if (slices > 0) grant(state, lender as EngineId, borrower, slices);
  }
  if (granted < count) deny(state, borrower, reason, count - granted);
}

function grant(state: PoolState, lender: EngineId, borrower: EngineId, count: number): void {
  const slices: SliceId[] = [];
  const epochs: number[] = [];
  for (let left = count; left > 0; left--) {
    const slice = state.ledger.lend(lender);
    slices.push(slice);
    epochs.push(state.ledger.epochOf(slice));
  }
  const lease = state.leases.open(lender, borrower, slices);
  state.counts["slice:idle-lent"] += count;
  state.post(borrower, { type: "LeaseGranted", lease, lender, slices, epochs });
}

function deny(state: PoolState, borrower: EngineId, reason: PoolRefusal, count: number): void {
  state.counts[`refusal:${reason}`]++;
  state.post(borrower, { type: "LeaseDenied", reason, count });
}
