/**
 * Which lenders a request is served from, and why it gets no more. Pure functions.
 *
 * Called by the pool for every request. Slices are placed one at a time: lenders that do not run
 * before those that do (a running one is read at lenderShare only, and pays for it), then the
 * fastest path, then the lender that has lent least, then the lowest id. So loans are striped over
 * equally good lenders, none pays for all, and their levels even out like water.
 *
 * Cost: slices x engines comparisons; a server has at most 16 engines.
 */

import type { PoolRefusal } from "./counters.ts";

/** (engines) columns as one borrower sees its possible lenders. */
export interface LenderColumns {
  readonly idleSlices: Int32Array;
  readonly lentSlices: Int32Array;
  /** At which this borrower reads each lender; 0 where there is no path. */
  readonly pathBytesPerSecond: Float64Array;
  /** 1 where the lender runs steps. */
  readonly isRunning: Uint8Array;
  /** 1 where the account of this borrower with the lender is in back-off. */
  readonly isBlocked: Uint8Array;
}

/**
 * Chooses up to `count` slices.
 * @param grants (engines) overwritten with the slices taken from each lender.
 * @returns their sum.
 */
export function placeSlices(
  count: number,
  lenders: LenderColumns,
  allowRunning: boolean,
  grants: Int32Array,
): number {
  grants.fill(0);
  for (let placed = 0; placed < count; placed++) {
    let best = -1;
    for (let lender = 0; lender < grants.length; lender++) {
      if (lenders.idleSlices[lender]! <= grants[lender]!) continue;
      if (!isEligible(lender, lenders, allowRunning)) continue;
      if (best < 0 || isBetter(lender, best, lenders, grants)) best = lender;
    }
    if (best < 0) return placed;
    grants[best]!++;
  }
  return count;
}

/**
 * Why a request got no more than `grants`, which placeSlices made of the same arguments.
 * A reason that stands for several lenders is given only when it holds for all of them.
 */
export function shortageReason(
  lenders: LenderColumns,
  grants: Int32Array,
): Exclude<PoolRefusal, "role" | "limit"> {
  let reason: "no-idle-memory" | "link" | "account" = "no-idle-memory";
  for (let lender = 0; lender < grants.length; lender++) {
    if (lenders.idleSlices[lender]! <= grants[lender]!) continue;
    if (lenders.pathBytesPerSecond[lender] === 0) {
      if (reason === "no-idle-memory") reason = "link";
    } else if (lenders.isBlocked[lender] === 1) {
      reason = "account";
    } else {
      // It has idle slices, a path and a sound account: only its running kept it from being taken.
      return "lender-share";
    }
  }
  return reason;
}

function isEligible(lender: number, lenders: LenderColumns, allowRunning: boolean): boolean {
  return (
    lenders.pathBytesPerSecond[lender]! > 0 &&
    lenders.isBlocked[lender] === 0 &&
    (allowRunning || lenders.isRunning[lender] === 0)
  );
}

/** Whether `lender` is the better next one; `best` has the lower id and wins ties. */
function isBetter(
  lender: number,
  best: number,
  lenders: LenderColumns,
  grants: Int32Array,
): boolean {
  const running = lenders.isRunning[lender]! - lenders.isRunning[best]!;
  if (running !== 0) return running < 0;
  const speed = lenders.pathBytesPerSecond[lender]! - lenders.pathBytesPerSecond[best]!;
  if (speed !== 0) return speed > 0;
  const level = lenders.lentSlices[lender]! + grants[lender]!;
  return level < lenders.lentSlices[best]! + grants[best]!;
}
