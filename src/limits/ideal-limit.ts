/**
 * The ideal limit: what a saturated borrower could gain if nothing but bandwidths cost anything.
 *
 * Called by `ema limits`; a test holds it to a table that was worked out apart. Decode only, every
 * sequence at exactly the context given, fractional sequences, no ring, free copies, lenders that
 * never run; R and s are chosen for the most throughput.
 */

import { bestShare, type LimitMode, type SharePoint, type Surroundings } from "./best-share.ts";
import type { Borrower } from "./borrower.ts";
import { limitingResource, NO_BOOST, type Boost, type Limit } from "./limit.ts";
import type { LimitedBy, LocalPoint } from "./limit.ts";
import { stepBound } from "./step-time.ts";

export interface IdealInputs {
  readonly borrower: Borrower;
  readonly mode: LimitMode;
  /** The most it may borrow, in bytes; Infinity without a cap. */
  readonly capBytes: number;
  /** KV memory of all lenders together. */
  readonly lendableBytes: number;
  /** Their paths to the borrower together. */
  readonly pathBytesPerSecond: number;
}

export function idealLimit(inputs: IdealInputs): Limit {
  const { borrower } = inputs;
  const own = borrower.ownKvBytes;
  const local = (localBytes: number): LocalPoint =>
    localPoint(bestShare({ ...surroundings(inputs, NO_BOOST), localBytes, remoteBytesMax: 0 }));
  const fixed = local(own);
  const double = local(2 * own);
  const best = bestShare(surroundings(inputs, NO_BOOST));
  const { seconds, localSeconds, waitSeconds, linkSeconds } = best.time;
  return {
    static: fixed,
    double,
    tokensPerSecond: best.tokensPerSecond,
    stepSeconds: seconds,
    sequences: best.sequences,
    remoteBytes: best.remoteBytes,
    stagedBytes: best.stagedBytes,
    directBytes: best.remoteBytes - best.stagedBytes,
    ringBytes: 0,
    ratioToStatic: best.tokensPerSecond / fixed.tokensPerSecond,
    ratioToDouble: best.tokensPerSecond / double.tokensPerSecond,
    limitedBy: limitedBy(inputs, best.sequences),
    remoteSlowdown: best.remoteBytes > 0 ? seconds / localSeconds - 1 : null,
    hiddenShare: linkSeconds > 0 ? 1 - waitSeconds / linkSeconds : null,
  };
}

function limitedBy(inputs: IdealInputs, sequences: number): LimitedBy {
  // More of no memory is no memory: the question has to be answered without asking it.
  if (Math.min(inputs.capBytes, inputs.lendableBytes) <= 0) return "memory";
  return limitingResource((boost) => {
    const boosted = surroundings(inputs, boost);
    const fixed = bestShare({ ...boosted, remoteBytesMax: 0 });
    return bestShare(boosted).tokensPerSecond / fixed.tokensPerSecond;
  }, stepBound(inputs.borrower, sequences));
}

export function localPoint(point: SharePoint): LocalPoint {
  return {
    tokensPerSecond: point.tokensPerSecond,
    stepSeconds: point.time.seconds,
    sequences: point.sequences,
  };
}

function surroundings(inputs: IdealInputs, boost: Boost): Surroundings {
  const { borrower } = inputs;
  const remoteBytesMax = boost.memory * Math.min(inputs.capBytes, inputs.lendableBytes);
  const portBytesPerSecond = Math.min(borrower.portBytesPerSecond, inputs.pathBytesPerSecond);
  return {
    borrower: { ...borrower, flopsPerSecond: borrower.flopsPerSecond * boost.compute },
    mode: inputs.mode,
    localBytes: borrower.ownKvBytes,
    remoteBytesMax,
    idleBytes: remoteBytesMax,
    sequenceBytes: borrower.contextTokens * borrower.kvBytesPerToken,
    openBytes: 0,
    ringShare: 0,
    unitBytes: 0,
    sequencesMax: Infinity,
    areSequencesWhole: false,
    link: {
      bytesPerSecond: portBytesPerSecond * boost.link,
      pacedBytesPerSecond: Infinity,
      copySecondsPerByte: 0,
      latencySeconds: 0,
      groupLayers: 0,
    },
    prefill: null,
  };
}
