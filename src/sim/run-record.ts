/**
 * What one simulated run of one system leaves behind: raw columns, no statistics.
 *
 * Written by the cluster, read by statistics.ts (compare's JSON) and by the report. It does not
 * know percentiles, ratios or how any of it is shown.
 */

import type { RecallKind, RefusalReason } from "../pool/index.ts";

/** Why a request never finished. */
export type FailureReason = "beyond-context" | "larger-than-memory" | "timeout" | "engine-lost";

/** One engine's requests as columns, in the order of their arrival. */
export interface RequestLog {
  readonly count: number;
  readonly arrivalNs: Float64Array;
  readonly promptTokens: Int32Array;
  readonly outputTokens: Int32Array;
  /** NaN where there was none. */
  readonly firstTokenNs: Float64Array;
  /** NaN unless the request finished. */
  readonly lastTokenNs: Float64Array;
  /** `null` unless the request failed. */
  readonly failure: readonly (FailureReason | null)[];
}

/** Gaps between tokens with their multiplicity; gaps of one step are equal and counted together. */
export interface GapLog {
  readonly count: number;
  readonly gapNs: Float64Array;
  readonly weight: Float64Array;
}

/** A gauge of bytes: its time-weighted mean over the window and its largest value ever. */
export interface ByteGauge {
  readonly meanBytes: number;
  readonly maxBytes: number;
}

/** [start, end) of the statistics: end of warm-up to last arrival. */
export interface Window {
  readonly startNs: number;
  readonly endNs: number;
}

export interface EngineRecord {
  readonly name: string;
  readonly gpuIndex: number;
  readonly requests: RequestLog;
  readonly gaps: GapLog;
  readonly window: Window;
  /** Output tokens inside the engine's own window, and inside the whole scenario's. */
  readonly outputTokensInWindow: number;
  readonly outputTokensInTotalWindow: number;
  readonly preemptions: number;
  readonly recomputedTokens: number;
  readonly prefixHitTokens: number;
  readonly ghostHitTokens: number;
  readonly rotations: number;
  readonly parked: number;
  /** Whole slices of its own KV memory, in tokens; and the same in bytes. */
  readonly kvTokensCapacity: number;
  readonly kvBytesCapacity: number;
  /** The cap on borrowing in bytes; `null` when there is none. */
  readonly borrowLimitBytes: number | null;
  readonly borrowed: ByteGauge;
  readonly lent: ByteGauge;
  readonly steps: number;
  /** Sum of step times, of the same steps had all KV been local, and had nothing been lent. */
  readonly stepNs: number;
  readonly stepLocalNs: number;
  readonly stepUnlentNs: number;
  /** Share of the window in which a step ran. */
  readonly runningShare: number;
  /** Time layer groups waited for remote bytes; time the links were busy with remote reads. */
  readonly stallNs: number;
  readonly remoteReadNs: number;
  readonly remoteReadBytes: number;
  readonly prefetchHit: number;
  readonly prefetchLate: number;
  readonly prefetchMiss: number;
  readonly prefetchWastedBytes: number;
  readonly refusals: Readonly<Record<RefusalReason, number>>;
  /** Each rung of the recall ladder: how many slices it gave back as a borrower. */
  readonly ladder: Readonly<Record<string, number>>;
}

export interface RecallRecord {
  readonly kind: RecallKind;
  readonly slices: number;
  readonly waitNs: number;
}

export interface LinkRecord {
  readonly source: number;
  readonly target: number;
  readonly bytes: number;
  readonly busyNs: number;
}

/** Memory of one GPU at one time; own + lent + free is all of it, borrowed lies elsewhere. */
export interface MemorySample {
  readonly timeNs: number;
  readonly ownBytes: number;
  readonly lentBytes: number;
  readonly freeBytes: number;
  readonly borrowedBytes: number;
  /** Output tokens since the sample before. */
  readonly tokens: number;
}

export interface RunRecord {
  readonly system: string;
  readonly seed: number;
  /** Name of the admission setting it ran with. */
  readonly admission: string;
  /**
   * Settings with a growth share in between would have decided the same at every turn, so their
   * runs are this one; none where that is not known.
   */
  readonly sameGrowthShares?: { readonly above: number; readonly upTo: number };
  readonly totalWindow: Window;
  readonly endNs: number;
  readonly engines: readonly EngineRecord[];
  readonly recalls: readonly RecallRecord[];
  readonly links: readonly LinkRecord[];
  /** Hash of the ordered event stream, hexadecimal. */
  readonly digest: string;
  /** (engines) then samples in time; at most some 500 an engine. */
  readonly samples: readonly (readonly MemorySample[])[];
}
