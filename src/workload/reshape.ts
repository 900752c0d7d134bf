/**
 * Changes when requests arrive, never what they are.
 *
 * Called by scenarios, in this order: deal, rescale, rotate or delay, merge. Every function makes a
 * new table and keeps every request.
 */

import { assert } from "../base/index.ts";
import { tableFromColumns, type RequestTable } from "./request-table.ts";

/** Divides arrival gaps by `rateScale`: 0.5 makes them twice as long. Rounded to a nanosecond. */
export function rescaleGaps(table: RequestTable, rateScale: number): RequestTable {
  assert(rateScale > 0, `rescale: rateScale ${rateScale} is not above 0`);
  if (rateScale === 1) return table;
  return withArrivals(table, (arrivalNs) => Math.round(arrivalNs / rateScale));
}

/** Shifts by `offsetNs`; what leaves at `spanNs` comes in again at 0. */
export function rotate(table: RequestTable, offsetNs: number, spanNs: number): RequestTable {
  if (spanNs === 0 || offsetNs % spanNs === 0) return table;
  return withArrivals(table, (arrivalNs) => (arrivalNs + offsetNs) % spanNs);
}

/** Shifts by `offsetNs` without wrapping. */
export function delay(table: RequestTable, offsetNs: number): RequestTable {
  return offsetNs === 0 ? table : withArrivals(table, (arrivalNs) => arrivalNs + offsetNs);
}

/** All requests of all tables in order of arrival. */
export function mergeTables(tables: readonly RequestTable[]): RequestTable {
  if (tables.length === 1) return tables[0]!;
  return tableFromColumns(
    tables.flatMap((table) => Array.from(table.arrivalNs)),
    tables.flatMap((table) => Array.from(table.promptTokens)),
    tables.flatMap((table) => Array.from(table.outputTokens)),
  );
}

function withArrivals(table: RequestTable, move: (arrivalNs: number) => number): RequestTable {
  return tableFromColumns(table.arrivalNs.map(move), table.promptTokens, table.outputTokens);
}
