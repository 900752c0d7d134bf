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
 * Prefill is amortised. Per decode step n/out requests start; a share of min(1, n/out x chunks) of
 * the steps carries their prompts and lasts max(2 p (n + chunk) / F, W / B) instead of lin:
 *   mean step = T + share x (max(2 p (n + n/out x prompt / share) / F, W/B) - lin).
 * Attention of prompts over themselves and the room they give the link are left out.
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
  const linear = linearSeconds(borrower, load.sequences);
  const prompts = prefill === null ? 0 : promptSeconds(borrower, load.sequences, prefill);
  const base = linear + borrower.hostSeconds;
  const localSeconds = base + (load.localBytes + load.remoteBytes) / bandwidth + prompts;
  if (load.remoteBytes === 0) {
    return { seconds: localSeconds, localSeconds, waitSeconds: 0, linkSeconds: 0 };
  }
  const directBytes = load.remoteBytes - load.stagedBytes;
  const pacedDirectBytes = Math.max(0, load.pacedBytes - load.stagedBytes);
  const attention = (load.localBytes + load.stagedBytes) / bandwidth;
  const directSeconds = Math.max(
    directBytes / link.bytesPerSecond,
    quotient(pacedDirectBytes, link.pacedBytesPerSecond),
  );
  const stagedWrite = load.stagedBytes / bandwidth;
  const linkSeconds =
    load.remoteBytes / link.bytesPerSecond +
    load.stagedBytes * link.copySecondsPerByte +
    link.latencySeconds;
  const pacedSeconds = quotient(load.pacedBytes, link.pacedBytesPerSecond);
  const ownSeconds = base + stagedWrite + attention;
  const withReads = base + stagedWrite + Math.max(attention, directSeconds);
  const decodeSeconds = Math.max(withReads, linkSeconds, pacedSeconds);
  return {
    seconds: decodeSeconds + prompts,
    localSeconds,
    waitSeconds: decodeSeconds - ownSeconds,
    linkSeconds: Math.max(linkSeconds, pacedSeconds),
  };
}

/** What the GEMMs of a decode step wait for. */
export function stepBound(borrower: Borrower, sequences: number): "compute" | "hbm" {
  const weightsSeconds = borrower.weightBytes / borrower.hbmBytesPerSecond;
  return linearSeconds(borrower, sequences) > weightsSeconds ? "compute" : "hbm";
}

/** lin for `tokens` query tokens. */
function linearSeconds(borrower: Borrower, tokens: number): number {
  return Math.max(
    (2 * borrower.paramCount * tokens) / borrower.flopsPerSecond,
    borrower.weightBytes / borrower.hbmBytesPerSecond,
  );
}

/** What prompts add to the mean step (see the header). */
function promptSeconds(borrower: Borrower, sequences: number, prefill: PrefillLoad): number {
  const { meanPromptTokens, meanOutputTokens } = prefill.lengths;
  const startsPerStep = sequences / meanOutputTokens;
  const chunks = Math.ceil(meanPromptTokens / prefill.batchTokensMax);
  const share = Math.min(1, startsPerStep * chunks);
  if (share === 0) return 0;
  const chunkTokens = (startsPerStep * meanPromptTokens) / share;
  const withChunk = linearSeconds(borrower, sequences + chunkTokens);
  return share * (withChunk - linearSeconds(borrower, sequences));
}

/** 0 when there are no bytes, so that no bytes at no speed cost nothing. */
function quotient(bytes: number, bytesPerSecond: number): number {
  return bytes <= 0 ? 0 : bytes / bytesPerSecond;
}
