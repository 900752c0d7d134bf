/**
 * Requests as columns: what trace readers and generators make and what an engine replays.
 *
 * Invariant: rows are sorted by arrival; the first arrival need not be zero; token counts are >= 1.
 */

export interface RequestTable {
  readonly count: number;
  /** (count) integer nanoseconds since the run's start, ascending. */
  readonly arrivalNs: Float64Array;
  /** (count) */
  readonly promptTokens: Int32Array;
  /** (count) tokens the request will generate; schedulers must not look at it. */
  readonly outputTokens: Int32Array;
}
