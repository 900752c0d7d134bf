/**
 * How long one step takes whose KV lies partly on other GPUs: the equations of docs/METHOD.md.
 *
 * Called by the search for the best share (best-share.ts). It chooses nothing: what is remote and
 * what is staged is given.
 *
 *   local    T = lin + o + K/B                         lin = max(2 p n / F, W / B)
 *   staged   T = max(lin + o + (K + 2R)/B, R/N)        written to the ring and read once more
 *   direct   T = lin + o + max(K/B, R/N)               only attention overlaps the link
 *   mixed    T = max(lin + o + s/B + max((K + s)/B, (R - s)/N), R/N)
 *
 * Staged is mixed with s = R, direct is mixed with s = 0, local is R = 0. Three costs join where
 * they are asked for: copies occupy the link (c each), a train of copies pays the link's latency
 * once a step, and bytes on lenders that run (`pacedBytes`) come no faster than the lender's share
 * allows. Paced bytes are staged first, since staging has the whole step for them and direct reads
 * have only the attention.
 *
 * Prefill is amortised. Per decode step n/out requests start, and their prompts cost what they add
 * to the steps they share with decodes, one prompt at a time, in chunks c of what a step holds:
 *   mean step = T + n/out x mean over prompts of sum of chunks' (lin(n + c) - lin(n) + attention)
 * where lin(n) = max(2 p n / F, W / B). Short prompts are nearly free, long ones are not, so the
 * mean is over prompts, not of a mean prompt. Where there is more than one chunk a step they share
 * it, and cost no less than in steps that are all alike: lin(n + n/out x prompt) - lin(n).
 * Attention of prompts over themselves is counted where operators are measured; the room that
 * prompts give the link is left out.
 */

import type { Borrower } from "./borrower.ts";
import type { Lengths } from "./lengths.ts";

/** What one step reads, in bytes of KV. */
export interface StepLoad {
  readonly sequences: number;
  /** K: read from the borrower's own memory, staged bytes not counted. */
  readonly localBytes: number;
  /** R: all that crosses the link. */
  readonly remoteBytes: number;
  /** s, at most R. */
  readonly stagedBytes: number;
  /** The part of R that lies on lenders which run steps of their own. */
  readonly pacedBytes: number;
}

/** What the link can do and what its use costs. */
export interface LinkCosts {
  /** N */
  readonly bytesPerSecond: number;
  /** All running lenders together; Infinity when none of them is paced. */
  readonly pacedBytesPerSecond: number;
  /** c divided by the bytes of a contiguous run; 0 when copies are free. */
  readonly copySecondsPerByte: number;
  /** Paid once a step that reads anything remote. */
  readonly latencySeconds: number;
  /** g; 0: staged bytes need no ring. */
  readonly groupLayers: number;
}

/** Prompts that are computed beside the decode steps; `null` when only decode is looked at. */
export interface PrefillLoad {
  readonly lengths: Lengths;
  /** Query tokens a step may hold. */
  readonly batchTokensMax: number;
}

export interface StepTime {
  /** Mean time of a step, prompts included. */
  readonly seconds: number;
  /** Had all KV been local. */
  readonly localSeconds: number;
  /** What the step waits for the link beyond its own work. */
  readonly waitSeconds: number;
  /** How long the link is busy with this step's bytes. */
  readonly linkSeconds: number;
}

export function stepTime(
  borrower: Borrower,
  load: StepLoad,
  link: LinkCosts,
  prefill: PrefillLoad | null,
): StepTime {
  const bandwidth = borrower.hbmBytesPerSecond;
  const { sequences, remoteBytes, stagedBytes } = load;
  const linear = linearSeconds(borrower, sequences);
  const head = borrower.operators?.headSeconds(sequences) ?? 0;
  const prompts = prefill === null ? 0 : promptSeconds(borrower, sequences, prefill);
  const allLocal = attentionSeconds(borrower, sequences, load.localBytes + remoteBytes);
  const base = linear + borrower.hostSeconds + head;
  const localSeconds = base + allLocal + prompts;
  if (remoteBytes === 0) {
    return { seconds: localSeconds, localSeconds, waitSeconds: 0, linkSeconds: 0 };
  }
  const directBytes = remoteBytes - stagedBytes;
  const pacedDirectBytes = Math.max(0, load.pacedBytes - stagedBytes);
  const ownAttention = Math.max(0, allLocal - directBytes / bandwidth);
  const directSeconds = Math.max(
    directBytes / link.bytesPerSecond,
    quotient(pacedDirectBytes, link.pacedBytesPerSecond),
  );
  const stagedWrite = stagedBytes / bandwidth;
  const linkSeconds =
    remoteBytes / link.bytesPerSecond +
    stagedBytes * link.copySecondsPerByte +
    link.latencySeconds;
  const pacedSeconds = quotient(load.pacedBytes, link.pacedBytesPerSecond);
  const busySeconds = Math.max(linkSeconds, pacedSeconds);
  const ownSeconds = base + stagedWrite + ownAttention;
  const attention = Math.max(ownAttention, directSeconds);
  const decodeSeconds = Math.max(
    base + stagedWrite + attention,
    busySeconds,
    stagedBytes > 0
      ? ringSeconds(borrower, head, linear + stagedWrite, attention, busySeconds, link.groupLayers)
      : 0,
  );
  return {
    seconds: decodeSeconds + prompts,
    localSeconds,
    waitSeconds: decodeSeconds - ownSeconds,
    linkSeconds: busySeconds,
  };
}

/** What a ring of two groups makes of a step whose link never rests (see the header). */
function ringSeconds(
  borrower: Borrower,
  headSeconds: number,
  linear: number,
  attention: number,
  linkSeconds: number,
  groupLayers: number,
): number {
  const group = Math.min(1, groupLayers / borrower.layers);
  // A step of one group: the step before ends with the same layers' attention.
  if (group === 0 || group === 1) return 0;
  const beforeOneEnd = headSeconds + group * attention + (1 - group) * linkSeconds;
  const around = headSeconds + borrower.hostSeconds + group * (linear + 2 * attention);
  return Math.max(beforeOneEnd, around + Math.max(0, 1 - 2 * group) * linkSeconds);
}

/** What the GEMMs of a decode step wait for. */
export function stepBound(borrower: Borrower, sequences: number): "compute" | "hbm" {
  const weightsSeconds = borrower.weightBytes / borrower.hbmBytesPerSecond;
  return linearSeconds(borrower, sequences) > weightsSeconds ? "compute" : "hbm";
}

/** lin for `tokens` query tokens. */
function linearSeconds(borrower: Borrower, tokens: number): number {
  if (borrower.operators !== null) return borrower.operators.linearSeconds(tokens);
  return Math.max(
    (2 * borrower.paramCount * tokens) / borrower.flopsPerSecond,
    borrower.weightBytes / borrower.hbmBytesPerSecond,
  );
}

/** Attention of a decode step that reads so many bytes of KV from the GPU's own memory. */
function attentionSeconds(borrower: Borrower, sequences: number, bytes: number): number {
  if (borrower.operators === null) return bytes / borrower.hbmBytesPerSecond;
  return borrower.operators.attentionSeconds(sequences, bytes / borrower.kvBytesPerToken);
}

/** What prompts add to the mean step (see the header). */
function promptSeconds(borrower: Borrower, sequences: number, prefill: PrefillLoad): number {
  const { meanPromptTokens, meanOutputTokens, promptGroups } = prefill.lengths;
  const starts = sequences / meanOutputTokens;
  if (starts === 0) return 0;
  const decodes = linearSeconds(borrower, sequences);
  let alone = 0;
  let attention = 0;
  let chunks = 0;
  for (const prompt of promptGroups) {
    for (let past = 0; past < prompt; past += prefill.batchTokensMax) {
      const chunk = Math.min(prefill.batchTokensMax, prompt - past);
      chunks++;
      alone += linearSeconds(borrower, sequences + chunk) - decodes;
      attention += borrower.operators?.promptAttentionSeconds(chunk, past) ?? 0;
    }
  }
  const share = starts / promptGroups.length;
  const apart = share * (alone + attention);
  if (share * chunks <= 1) return apart;
  const together = linearSeconds(borrower, sequences + starts * meanPromptTokens) - decodes;
  return Math.max(apart, together + share * attention);
}

/** 0 when there are no bytes, so that no bytes at no speed cost nothing. */
function quotient(bytes: number, bytesPerSecond: number): number {
  return bytes <= 0 ? 0 : bytes / bytesPerSecond;
}
