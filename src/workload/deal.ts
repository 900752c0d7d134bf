/**
 * Deals the requests of one trace to several engines by their shares.
 *
 * Called by scenarios. Each request, in order of arrival, goes to the receiver with the least
 * (dealt + 1) / share; ties go to the earlier receiver. What the shares leave of 1 is a last
 * receiver whose requests nobody gets. This is how D'Hondt deals seats: at any prefix of the trace
 * everybody has at least its share, rounded down, so that bursts reach everybody.
 */

import { assert } from "../base/index.ts";
import type { RequestTable } from "./request-table.ts";

/** Shares are written in decimal and summed in binary: below this a difference is none. */
const EPSILON = 1e-9;
/** Quotients that are equal as fractions differ by a few units of 2^-53. */
const TIE = 1e-12;

/** @returns one table a share, with arrivals as in `table`; shares are > 0 and sum to at most 1. */
export function dealShares(table: RequestTable, shares: readonly number[]): RequestTable[] {
  const sum = shares.reduce((total, share) => total + share, 0);
  assert(sum <= 1 + EPSILON, `deal: shares sum to ${sum}`);
  for (const share of shares) assert(share > 0, `deal: share ${share} is not above 0`);
  const receivers = 1 - sum > EPSILON ? [...shares, 1 - sum] : shares;
  const rows: number[][] = receivers.map(() => []);
  // (dealt + 1) / share of each receiver: the virtual time at which its next request is due.
  const dueAt = receivers.map((share) => 1 / share);
  for (let row = 0; row < table.count; row++) {
    let chosen = 0;
    for (let index = 1; index < dueAt.length; index++) {
      if (dueAt[index]! < dueAt[chosen]! * (1 - TIE)) chosen = index;
    }
    rows[chosen]!.push(row);
    dueAt[chosen] = (rows[chosen]!.length + 1) / receivers[chosen]!;
  }
  return shares.map((_, index) => pick(table, rows[index]!));
}

function pick(table: RequestTable, rows: readonly number[]): RequestTable {
  return {
    count: rows.length,
    arrivalNs: Float64Array.from(rows, (row) => table.arrivalNs[row]!),
    promptTokens: Int32Array.from(rows, (row) => table.promptTokens[row]!),
    outputTokens: Int32Array.from(rows, (row) => table.outputTokens[row]!),
  };
}
