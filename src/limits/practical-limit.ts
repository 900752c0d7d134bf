/**
 * The limit with what the ideal one leaves out: ring, copies, slices, blocks, lenders that run,
 * and, where a workload is known, prompts.
 *
 * Called by `ema limits`. The equations are those of step-time.ts, slice-layout.ts and lenders.ts;
 * this file puts them together. It is still a limit: lengths are at their mean, admission is
 * perfect, moving bytes between lenders is free, and lenders keep no headroom.
 *
 * Lenders come and go slowly against steps, so throughput is the mean over their states weighted by
 * probability. The share of the STEPS that fall in a state is its probability over its step time,
 * which weighs step time, slowdown and hidden share.
 */

import { bestShare, type LimitMode, type SharePoint, type Surroundings } from "./best-share.ts";
import type { Borrower } from "./borrower.ts";
import { localPoint } from "./ideal-limit.ts";
import { lenderStates, type Lender, type LenderState } from "./lenders.ts";
import { limitingResource, NO_BOOST, type Boost, type Limit, type LimitedBy } from "./limit.ts";
import { heldBytes, layersPerGroupMax, sliceLayout, type SliceLayout } from "./slice-layout.ts";
import { withCompute } from "./operators.ts";
import { stepBound, type PrefillLoad } from "./step-time.ts";

export interface PracticalInputs {
  readonly borrower: Borrower;
  readonly mode: LimitMode;
  /** The most it may borrow, in bytes; Infinity without a cap. */
  readonly capBytes: number;
  readonly lenders: readonly Lender[];
  /** Share of a running lender's bandwidth; 0: not read; `null`: no pacing. */
  readonly lenderShare: number | null;
  readonly sliceBytes: number;
  readonly blockTokens: number;
  /** c */
  readonly copySeconds: number;
  readonly latencySeconds: number;
  /** Infinity without a bound. */
  readonly sequencesMax: number;
  /**
   * Every sequence is whole and at the same context, its blocks rounded up: a batch as one really
   * meets it when all requests are alike. Otherwise batches and contexts are means.
   */
  readonly areSequencesWhole: boolean;
  /** `null`: decode only. */
  readonly prefill: PrefillLoad | null;
}

export function practicalLimit(inputs: PracticalInputs): Limit {
  const { borrower } = inputs;
  const own = borrower.ownKvBytes;
  const { layout, points } = bestLayout(inputs);
  const nobody = lenderStates([], null)[0]!;
  const local = (bytes: number): SharePoint => {
    const localBytes = heldBytes(layout, bytes, inputs.sliceBytes);
    return bestShare({ ...surroundings(inputs, layout, nobody, NO_BOOST), localBytes });
  };
  const fixed = localPoint(local(own));
  const double = localPoint(local(2 * own));
  const tokensPerSecond = meanThroughput(points);
  const overTime = (of: (point: SharePoint) => number): number =>
    points.reduce((sum, { probability, point }) => sum + probability * of(point), 0);
  const sequences = overTime((point) => point.sequences);
  const stagedBytes = overTime((point) => point.stagedBytes);
  const remoteBytes = overTime((point) => point.remoteBytes);
  return {
    static: fixed,
    double,
    tokensPerSecond,
    sequences,
    remoteBytes,
    stagedBytes,
    directBytes: remoteBytes - stagedBytes,
    ringBytes: overTime((point) => point.ringBytes),
    ratioToStatic: tokensPerSecond / fixed.tokensPerSecond,
    ratioToDouble: tokensPerSecond / double.tokensPerSecond,
    limitedBy: limitedBy(inputs, layout, sequences),
    ...meanOverSteps(points),
  };
}

function limitedBy(
  inputs: PracticalInputs,
  layout: SliceLayout,
  sequences: number,
): LimitedBy {
  // More of nothing is nothing: these questions have to be answered without asking them.
  const states = lenderStates(inputs.lenders, inputs.lenderShare);
  if (inputs.capBytes > 0 && states.every((state) => state.idleBytes + state.runningBytes <= 0)) {
    const isRefused = inputs.lenderShare === 0 && inputs.lenders.some(lendsWhileRunning);
    return isRefused ? "lender-share" : "memory";
  }
  if (inputs.capBytes <= 0) return "memory";
  // Asked of the smooth problem: a small change must not vanish in, or be made by, whole slices.
  return limitingResource((boost) => {
    let ratio = 0;
    for (const state of states) {
      const around = {
        ...surroundings(inputs, layout, state, boost),
        unitBytes: 0,
        areSequencesWhole: false,
      };
      const fixed = bestShare({ ...around, remoteBytesMax: 0 });
      ratio += (state.probability * bestShare(around).tokensPerSecond) / fixed.tokensPerSecond;
    }
    return ratio;
  }, stepBound(inputs.borrower, sequences));
}

function lendsWhileRunning(lender: Lender): boolean {
  return lender.runShare > 0 && lender.runningLendableBytes > 0;
}

interface WeightedPoint {
  readonly probability: number;
  readonly point: SharePoint;
}

/** The layer groups are the engine's to choose: those count that serve the most. */
function bestLayout(inputs: PracticalInputs): {
  readonly layout: SliceLayout;
  readonly points: readonly WeightedPoint[];
} {
  const { borrower, sliceBytes, blockTokens, mode } = inputs;
  const most = mode === "direct" ? 1 : layersPerGroupMax(borrower, sliceBytes, blockTokens);
  let layout = sliceLayout(borrower, sliceBytes, blockTokens, 1);
  let points = pointsByState(inputs, layout);
  for (let layers = 2; layers <= most; layers++) {
    const other = sliceLayout(borrower, sliceBytes, blockTokens, layers);
    const found = pointsByState(inputs, other);
    if (meanThroughput(found) <= meanThroughput(points)) continue;
    layout = other;
    points = found;
  }
  return { layout, points };
}

function pointsByState(inputs: PracticalInputs, layout: SliceLayout): readonly WeightedPoint[] {
  return lenderStates(inputs.lenders, inputs.lenderShare).map((state) => ({
    probability: state.probability,
    point: bestShare(surroundings(inputs, layout, state, NO_BOOST)),
  }));
}

function meanThroughput(points: readonly WeightedPoint[]): number {
  let sum = 0;
  for (const { probability, point } of points) sum += probability * point.tokensPerSecond;
  return sum;
}

function meanOverSteps(
  points: readonly WeightedPoint[],
): Pick<Limit, "stepSeconds" | "remoteSlowdown" | "hiddenShare"> {
  let steps = 0;
  let localSeconds = 0;
  let waitSeconds = 0;
  let linkSeconds = 0;
  for (const { probability, point } of points) {
    const share = probability / point.time.seconds;
    steps += share;
    localSeconds += share * point.time.localSeconds;
    waitSeconds += share * point.time.waitSeconds;
    linkSeconds += share * point.time.linkSeconds;
  }
  // The states' times sum to one second of the run, since their probabilities sum to one.
  return {
    stepSeconds: 1 / steps,
    remoteSlowdown: linkSeconds > 0 ? 1 / localSeconds - 1 : null,
    hiddenShare: linkSeconds > 0 ? 1 - waitSeconds / linkSeconds : null,
  };
}

function surroundings(
  inputs: PracticalInputs,
  layout: SliceLayout,
  state: LenderState,
  boost: Boost,
): Surroundings {
  const { borrower, sliceBytes } = inputs;
  // Not in whole slices: bestShare() rounds what it borrows.
  const holds = layout.payloadBytes / sliceBytes;
  const lendable = state.idleBytes + state.runningBytes;
  const paced = state.pacedBytesPerSecond * boost.lenderShare;
  return {
    borrower: withMoreCompute(borrower, boost.compute),
    mode: inputs.mode,
    localBytes: heldBytes(layout, borrower.ownKvBytes, sliceBytes),
    remoteBytesMax: holds * boost.memory * Math.min(inputs.capBytes, lendable),
    idleBytes: holds * boost.memory * state.idleBytes,
    sequenceBytes: sequenceBlocks(inputs) * layout.blockBytes,
    openBytes: layout.blockBytes,
    ringShare: inputs.mode === "direct" ? 0 : layout.ringShare,
    unitBytes: layout.payloadBytes,
    sequencesMax: inputs.sequencesMax * boost.sequencesMax,
    areSequencesWhole: inputs.areSequencesWhole,
    link: {
      bytesPerSecond: Math.min(borrower.portBytesPerSecond, state.pathBytesPerSecond) * boost.link,
      pacedBytesPerSecond: paced,
      copySecondsPerByte: (inputs.copySeconds * layout.copiesPerSlice) / layout.payloadBytes,
      latencySeconds: inputs.latencySeconds,
      groupLayers: layout.layersPerGroup,
    },
    prefill: inputs.prefill,
  };
}

/** Half a block is lost on average; of equal contexts each the rest of its last one. */
function sequenceBlocks({ borrower, blockTokens, areSequencesWhole }: PracticalInputs): number {
  const blocks = borrower.contextTokens / blockTokens;
  return areSequencesWhole ? Math.ceil(blocks) : blocks + 0.5;
}

function withMoreCompute(borrower: Borrower, times: number): Borrower {
  const { operators } = borrower;
  return {
    ...borrower,
    flopsPerSecond: borrower.flopsPerSecond * times,
    operators: operators === null || times === 1 ? operators : withCompute(operators, times),
  };
}
