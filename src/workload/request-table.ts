/**
 * Requests as columns: what trace readers and generators make and what an engine replays.
 *
 * Equal arrivals are ordered by what the requests are and not by where they stood: two files with
 * the same rows in another order give the same table. The order is that of a hash, because traces
 * with whole seconds have many equal arrivals and "shortest first" would flatter every system.
 *
 * Invariant: rows are sorted by arrival; the first arrival need not be zero; token counts are >= 1.
 */

import { assert } from "../base/index.ts";

export interface RequestTable {
  readonly count: number;
  /** (count) integer nanoseconds since the run's start, ascending. */
  readonly arrivalNs: Float64Array;
  /** (count) */
  readonly promptTokens: Int32Array;
  /** (count) tokens the request will generate; schedulers must not look at it. */
  readonly outputTokens: Int32Array;
}

/** What an idle engine replays. */
export const EMPTY_TABLE: RequestTable = {
  count: 0,
  arrivalNs: new Float64Array(0),
  promptTokens: new Int32Array(0),
  outputTokens: new Int32Array(0),
};

/** Sorts rows given in any order; the columns are copied. Times are integers of nanoseconds. */
export function tableFromColumns(
  arrivalNs: ArrayLike<number>,
  promptTokens: ArrayLike<number>,
  outputTokens: ArrayLike<number>,
): RequestTable {
  const count = arrivalNs.length;
  assert(promptTokens.length === count, `table: ${promptTokens.length} prompts of ${count} rows`);
  assert(outputTokens.length === count, `table: ${outputTokens.length} outputs of ${count} rows`);
  const compare = (one: number, other: number): number =>
    arrivalNs[one]! - arrivalNs[other]! ||
    tieHash(promptTokens[one]!, outputTokens[one]!) -
      tieHash(promptTokens[other]!, outputTokens[other]!) ||
    promptTokens[one]! - promptTokens[other]!;
  let isSorted = true;
  for (let row = 1; row < count && isSorted; row++) isSorted = compare(row - 1, row) <= 0;
  const table = {
    count,
    arrivalNs: Float64Array.from(arrivalNs),
    promptTokens: Int32Array.from(promptTokens),
    outputTokens: Int32Array.from(outputTokens),
  };
  if (isSorted) return table;
  const order = Uint32Array.from({ length: count }, (_, row) => row).sort(compare);
  order.forEach((source, target) => {
    table.arrivalNs[target] = arrivalNs[source]!;
    table.promptTokens[target] = promptTokens[source]!;
    table.outputTokens[target] = outputTokens[source]!;
  });
  return table;
}

/** Mixes the bits of both counts; for one prompt length it is one-to-one in the output length. */
function tieHash(promptTokens: number, outputTokens: number): number {
  let hash = Math.imul(promptTokens, 0x9e3779b1) ^ outputTokens;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
