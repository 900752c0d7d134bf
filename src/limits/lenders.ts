/**
 * Who lends, how often lenders are busy themselves, and what that leaves for the borrower.
 *
 * Called by practical-limit.ts. A lender either runs steps of its own (a share of the time, from
 * lender-load.ts or given) or does not. While it runs it may be read at `lenderShare` of its
 * achieved HBM bandwidth only; while it does not it is read at full speed. Lenders are taken as
 * independent, so the number that run is a sum of independent coins (binomial when they are alike).
 * Their memories, links and bandwidths enter by their means, and moving bytes from lenders that
 * start to run to idle ones is free: it is a limit, not a forecast.
 */

import { assert } from "../base/index.ts";

export interface Lender {
  /** KV bytes it can lend while it runs no step. */
  readonly idleLendableBytes: number;
  /** And while it runs: its own residents take their part. */
  readonly runningLendableBytes: number;
  /** Share of the time in which it runs steps, in [0, 1]. */
  readonly runShare: number;
  /** Achieved HBM bandwidth, of which a running lender gives a share. */
  readonly hbmBytesPerSecond: number;
  /** Its path to the borrower, one way. */
  readonly pathBytesPerSecond: number;
}

/** Lenders as the borrower finds them while `runningCount` of them run. */
export interface LenderState {
  readonly probability: number;
  readonly runningCount: number;
  readonly idleBytes: number;
  readonly runningBytes: number;
  /** Paths to the idle ones together; the borrower's port bounds it further. */
  readonly idlePathBytesPerSecond: number;
  /** Paths to all that are read together, however slowly running ones are. */
  readonly pathBytesPerSecond: number;
  /** What the running ones give together; Infinity without pacing. */
  readonly pacedBytesPerSecond: number;
}

/**
 * @param lenderShare share of a running lender's bandwidth; 0: not read at all; `null`: no pacing.
 * @returns states of probability above zero that sum to one; with no lenders a single empty state.
 */
export function lenderStates(
  lenders: readonly Lender[],
  lenderShare: number | null,
): readonly LenderState[] {
  const count = lenders.length;
  const mean = (of: (lender: Lender) => number): number =>
    count === 0 ? 0 : lenders.reduce((sum, lender) => sum + of(lender), 0) / count;
  const idleBytes = mean((lender) => lender.idleLendableBytes);
  const runningBytes = mean((lender) => lender.runningLendableBytes);
  const path = mean((lender) => lender.pathBytesPerSecond);
  const bandwidth = mean((lender) => lender.hbmBytesPerSecond);
  const states: LenderState[] = [];
  runningCountProbabilities(lenders).forEach((probability, runningCount) => {
    if (probability <= 0) return;
    const idleCount = count - runningCount;
    states.push({
      probability,
      runningCount,
      idleBytes: idleCount * idleBytes,
      runningBytes: lenderShare === 0 ? 0 : runningCount * runningBytes,
      idlePathBytesPerSecond: (lenderShare === null ? count : idleCount) * path,
      pathBytesPerSecond: (lenderShare === 0 ? idleCount : count) * path,
      pacedBytesPerSecond:
        lenderShare === null ? Infinity : runningCount * Math.min(path, lenderShare * bandwidth),
    });
  });
  return states;
}

/** @returns at index j the probability that exactly j lenders run. */
export function runningCountProbabilities(lenders: readonly Lender[]): readonly number[] {
  let probabilities = [1];
  for (const { runShare } of lenders) {
    assert(runShare >= 0 && runShare <= 1, `lenders: run share ${runShare} outside [0, 1]`);
    const next = Array.from({ length: probabilities.length + 1 }, () => 0);
    probabilities.forEach((probability, running) => {
      next[running]! += probability * (1 - runShare);
      next[running + 1]! += probability * runShare;
    });
    probabilities = next;
  }
  return probabilities;
}
