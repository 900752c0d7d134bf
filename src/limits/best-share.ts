/**
 * How much a saturated borrower should borrow, and how much of that it should stage, to serve the
 * most tokens a second.
 *
 * Called by ideal-limit.ts and practical-limit.ts with their own memory and costs. It does not know
 * lenders one by one: they are two amounts of memory, idle and running.
 *
 * Throughput is n / T. The sequences n fall linearly with what the ring takes and rise linearly
 * with R; T is a maximum of functions linear in (R, s). A ratio of a concave and a convex positive
 * function has no local maximum but the global one, so two nested golden sections find it. A long
 * prompt's step and measured tables bend this a little; a few points are looked at first, and tests
 * compare the result with a grid.
 *
 * Whole slices: the slices around the maximum of the smooth problem are looked at one by one.
 */

import type { Borrower } from "./borrower.ts";
import { stepTime, type LinkCosts, type PrefillLoad, type StepTime } from "./step-time.ts";

export type LimitMode = "staged" | "direct" | "mixed";

/** Memory and costs as the borrower finds them while nothing changes. */
export interface Surroundings {
  readonly borrower: Borrower;
  readonly mode: LimitMode;
  /** KV bytes its own memory holds, already in whole slices where slices are looked at. */
  readonly localBytes: number;
  /** The most it may borrow: the cap or what lenders have, whichever is less. */
  readonly remoteBytesMax: number;
  /** What of that lies on lenders that run no step; it is used first. */
  readonly idleBytes: number;
  /** Memory one resident sequence takes, lost parts of blocks included. */
  readonly sequenceBytes: number;
  /** Bytes of a block that must stay local for each sequence: the one it appends to. */
  readonly openBytes: number;
  /** Ring bytes a staged byte: 2 g / L, or 0. */
  readonly ringShare: number;
  /** KV bytes one slice holds; 0 when borrowed memory comes in any amount. */
  readonly unitBytes: number;
  readonly sequencesMax: number;
  /** No part of a sequence: where all are at one context, what is left over serves nobody. */
  readonly areSequencesWhole: boolean;
  readonly link: LinkCosts;
  readonly prefill: PrefillLoad | null;
}

/** One point of the search: what is borrowed, staged, and what comes of it. */
export interface SharePoint {
  readonly tokensPerSecond: number;
  readonly sequences: number;
  readonly remoteBytes: number;
  readonly stagedBytes: number;
  readonly ringBytes: number;
  readonly time: StepTime;
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;
/** 0.618^40 < 1e-8 of two looks: a fraction of a slice in a terabyte. */
const SECTIONS = 40;
const LOOKS = 8;

/** The best point; the one that borrows nothing when borrowing does not pay. */
export function bestShare(surroundings: Surroundings): SharePoint {
  const { remoteBytesMax, unitBytes } = surroundings;
  const nothing = evaluateShare(surroundings, 0, 0);
  if (remoteBytesMax <= 0) return nothing;
  const smooth = { ...surroundings, unitBytes: 0, areSequencesWhole: false };
  const found = maximise(remoteBytesMax, (remote) => bestStaged(smooth, remote));
  return better(nothing, unitBytes > 0 ? roundToSlices(surroundings, found) : found);
}

/** What one choice of (R, s) gives. */
export function evaluateShare(
  surroundings: Surroundings,
  remoteBytes: number,
  stagedBytes: number,
): SharePoint {
  const { borrower, unitBytes } = surroundings;
  const ringBytes = surroundings.ringShare * stagedBytes;
  let localBytes = Math.max(0, surroundings.localBytes - ringBytes);
  if (unitBytes > 0) localBytes = Math.floor(localBytes / unitBytes) * unitBytes;
  const openMax = surroundings.openBytes === 0 ? Infinity : localBytes / surroundings.openBytes;
  const fitting = Math.min(
    (localBytes + remoteBytes) / surroundings.sequenceBytes,
    openMax,
    surroundings.sequencesMax,
  );
  const sequences = surroundings.areSequencesWhole ? Math.floor(fitting + 1e-9) : fitting;
  // Lost parts of blocks are held but not read, and they are local: open blocks always are.
  const readBytes = sequences * borrower.contextTokens * borrower.kvBytesPerToken;
  const remoteRead = Math.min(remoteBytes, readBytes);
  const load = {
    sequences,
    localBytes: readBytes - remoteRead,
    remoteBytes: remoteRead,
    stagedBytes: Math.min(stagedBytes, remoteRead),
    pacedBytes: Math.max(0, remoteRead - surroundings.idleBytes),
  };
  const time = stepTime(borrower, load, surroundings.link, surroundings.prefill);
  const tokensPerSecond = sequences / time.seconds;
  return { tokensPerSecond, sequences, remoteBytes, stagedBytes, ringBytes, time };
}

function bestStaged(surroundings: Surroundings, remoteBytes: number): SharePoint {
  switch (surroundings.mode) {
    case "direct":
      return evaluateShare(surroundings, remoteBytes, 0);
    case "staged":
      return evaluateShare(surroundings, remoteBytes, remoteBytes);
    case "mixed":
      return maximise(remoteBytes, (staged) => evaluateShare(surroundings, remoteBytes, staged));
  }
}

/**
 * A look at a few points, and golden section about the best of them: tables bend the curve, and
 * the look keeps the search from a bump.
 */
function maximise(upper: number, evaluate: (value: number) => SharePoint): SharePoint {
  let best = evaluate(0);
  let bestIndex = 0;
  for (let index = 1; index <= LOOKS; index++) {
    const point = evaluate((upper * index) / LOOKS);
    if (point.tokensPerSecond > best.tokensPerSecond) bestIndex = index;
    best = better(best, point);
  }
  let low = (upper * Math.max(0, bestIndex - 1)) / LOOKS;
  let high = (upper * Math.min(LOOKS, bestIndex + 1)) / LOOKS;
  let left = high - GOLDEN * (high - low);
  let right = low + GOLDEN * (high - low);
  let atLeft = evaluate(left);
  let atRight = evaluate(right);
  for (let section = 0; section < SECTIONS; section++) {
    best = better(better(best, atLeft), atRight);
    if (atLeft.tokensPerSecond >= atRight.tokensPerSecond) {
      high = right;
      right = left;
      atRight = atLeft;
      left = high - GOLDEN * (high - low);
      atLeft = evaluate(left);
    } else {
      low = left;
      left = right;
      atLeft = atRight;
      right = low + GOLDEN * (high - low);
      atRight = evaluate(right);
    }
  }
  return best;
}

/**
 * Looks at the slices around the smooth maximum: as many as move the ring by one slice, or, where
 * sequences are whole, as many as five sequences more or less take. For each number of borrowed
 * slices the staged ones are varied about their own smooth best by as much as moves the ring.
 */
function roundToSlices(surroundings: Surroundings, smooth: SharePoint): SharePoint {
  const { mode, unitBytes, remoteBytesMax, ringShare, sequenceBytes } = surroundings;
  const slicesMax = Math.floor(remoteBytesMax / unitBytes);
  const remoteSlices = Math.floor(smooth.remoteBytes / unitBytes);
  const ringReach = ringShare === 0 ? 1 : Math.ceil(1 / ringShare);
  const wholeSequences = surroundings.areSequencesWhole ? 5 : 0;
  // With one way to read, a look at every amount is cheap; with two, at those near the best.
  const isOneWay = mode !== "mixed" && surroundings.areSequencesWhole;
  const nearReach = Math.ceil((wholeSequences * sequenceBytes) / unitBytes);
  const wholeReach = isOneWay ? slicesMax : nearReach;
  const reach = Math.max(ringReach, wholeReach);
  const last = Math.min(slicesMax, remoteSlices + Math.max(1, wholeReach));
  const smoothly = { ...surroundings, unitBytes: 0, areSequencesWhole: false };
  let best = evaluateShare(surroundings, 0, 0);
  for (let remote = Math.max(0, remoteSlices - reach); remote <= last; remote++) {
    const remoteBytes = remote * unitBytes;
    const { stagedBytes } = bestStaged(smoothly, remoteBytes);
    const staged = mode === "staged" ? remote : Math.floor(stagedBytes / unitBytes);
    const stagedLast = mode === "mixed" ? Math.min(remote, staged + 1) : staged;
    const stagedFirst = mode === "mixed" ? Math.max(0, staged - ringReach) : staged;
    for (let slices = stagedFirst; slices <= stagedLast; slices++) {
      best = better(best, evaluateShare(surroundings, remoteBytes, slices * unitBytes));
    }
    if (mode !== "mixed" || !surroundings.areSequencesWhole) continue;
    // A ring one slice smaller may hold one more sequence: the most that each size can stage.
    for (let slices = 0; slices <= remote; slices += ringReach) {
      best = better(best, evaluateShare(surroundings, remoteBytes, slices * unitBytes));
    }
  }
  return best;
}

/** The faster one; of equal ones the first, and callers name the one that moves less first. */
function better(first: SharePoint, second: SharePoint): SharePoint {
  return second.tokensPerSecond > first.tokensPerSecond ? second : first;
}
