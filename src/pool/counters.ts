/**
 * Names of everything the pool counts: commands, events, refusals, slice transitions, recalls.
 *
 * Filled by the pool, read by the whole-system simulation, which asserts that every one of them
 * occurred: a transition that no run ever takes is not tested. Slice transitions count slices, all
 * others count occurrences.
 *
 * Invariant: a record holds every name from the start, so that a missing name is a zero, not a gap.
 */

import type { PoolEvent } from "./commands.ts";

const NAMES = [
  "command:OfferSlices",
  "command:WithdrawSlices",
  "command:RequestSlices",
  "command:ReturnSlices",
  "command:RecallSlices",
  "command:SetActivity",
  "command:SettleAccount",
  "command:ReportReads",
  "command:SetBorrowLimit",
  "command:RemoveEngine",
  "event:SlicesWithdrawn",
  "event:LeaseGranted",
  "event:LeaseDenied",
  "event:RecallRequested",
  "event:SlicesReturned",
  "event:LenderActivity",
  "event:LeaseLost",
  "refusal:role",
  "refusal:limit",
  "refusal:link",
  "refusal:account",
  "refusal:lender-share",
  "refusal:no-idle-memory",
  "slice:own-idle",
  "slice:idle-own",
  "slice:idle-lent",
  "slice:lent-recalled",
  "slice:lent-own",
  "slice:recalled-own",
  "slice:lent-gone",
  "slice:idle-gone",
  "slice:own-gone",
  "recall:refill",
  "recall:demand",
  "recall:upgrade",
] as const;

export type PoolCountName = (typeof NAMES)[number];
export type PoolCounts = Record<PoolCountName, number>;

/** The reasons that the pool itself refuses for; the others of `RefusalReason` never reach it. */
export type PoolRefusal =
  | "role"
  | "limit"
  | "link"
  | "account"
  | "lender-share"
  | "no-idle-memory";

/** Looked up instead of built: joining strings would cost more than the borrow it counts. */
export const EVENT_COUNT: { readonly [Type in PoolEvent["type"]]: `event:${Type}` } = {
  SlicesWithdrawn: "event:SlicesWithdrawn",
  LeaseGranted: "event:LeaseGranted",
  LeaseDenied: "event:LeaseDenied",
  RecallRequested: "event:RecallRequested",
  SlicesReturned: "event:SlicesReturned",
  LenderActivity: "event:LenderActivity",
  LeaseLost: "event:LeaseLost",
};

/** Every name at zero. */
export function zeroCounts(): PoolCounts {
  return Object.fromEntries(NAMES.map((name) => [name, 0])) as PoolCounts;
}
