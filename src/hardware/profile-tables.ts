/**
 * Reads the tables of a kernel profile (LLMServingSim's layout) from the text of their files.
 *
 * Called by profile-cost-model.ts's users, who read the files; this file reads none. It knows the
 * columns and nothing of what the kernels do.
 *
 *     dense.csv         layer,tokens,time_us
 *     per_sequence.csv  layer,sequences,time_us
 *     attention.csv     prefill_chunk,kv_prefill,n_decode,kv_decode,time_us
 *     skew_fit.csv      pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples
 *
 * Invariant: what is handed out is finite; times are not negative; sizes rise.
 */

import { EmaError } from "../base/index.ts";

/** One file: its name for messages, and what it says. */
export interface ProfileText {
  readonly file: string;
  readonly text: string;
}

/** Microseconds of one kernel over a rising size. */
export interface Curve {
  readonly sizes: Float64Array;
  readonly us: Float64Array;
}

/** Numbers of one row, in the order of the columns asked for. */
export type NumberRow = readonly number[];

/** @throws EmaError E_TRACE with file and line when a column or a number is missing. */
export function readCurves(source: ProfileText, sizeColumn: string): Map<string, Curve> {
  const columns = ["layer", sizeColumn, "time_us"];
  const points = new Map<string, [number, number][]>();
  for (const [line, cells] of rowsOf(source, columns)) {
    const layer = cells[0]!;
    const size = numberOf(source, line, sizeColumn, cells[1]!);
    const us = numberOf(source, line, "time_us", cells[2]!);
    const list = points.get(layer) ?? [];
    list.push([size, us]);
    points.set(layer, list);
  }
  const curves = new Map<string, Curve>();
  for (const [layer, list] of points) {
    list.sort((one, other) => one[0] - other[0]);
    const distinct = list.filter(([size], at) => at === 0 || size > list[at - 1]![0]);
    curves.set(layer, {
      sizes: Float64Array.from(distinct, ([size]) => size),
      us: Float64Array.from(distinct, ([, us]) => us),
    });
  }
  return curves;
}

/** Rows of which every column asked for is a number. @throws EmaError E_TRACE */
export function readNumberRows(source: ProfileText, columns: readonly string[]): NumberRow[] {
  const rows: NumberRow[] = [];
  for (const [line, cells] of rowsOf(source, columns)) {
    rows.push(cells.map((cell, at) => numberOf(source, line, columns[at]!, cell)));
  }
  return rows;
}

/** Rows as texts in the order of the columns asked for, with their line numbers. */
export function* rowsOf(
  source: ProfileText,
  columns: readonly string[],
): Generator<readonly [line: number, cells: readonly string[]], void, void> {
  const lines = source.text.split(/\r?\n/);
  const header = lines[0]!.replace(/^\uFEFF/, "").split(",").map((name) => name.trim());
  const places = columns.map((column) => header.indexOf(column));
  const missing = columns.filter((_, at) => places[at] === -1);
  if (missing.length > 0) {
    throw new EmaError("E_TRACE", `${source.file}:1: no column ${missing.join(", ")}`);
  }
  let count = 0;
  for (let index = 1; index < lines.length; index++) {
    if (lines[index]!.trim() === "") continue;
    const cells = lines[index]!.split(",");
    count++;
    yield [index + 1, places.map((place) => (cells[place] ?? "").trim())];
  }
  if (count === 0) throw new EmaError("E_TRACE", `${source.file}: no rows below the header`);
}

/** @throws EmaError E_TRACE unless the cell is a finite number that is not negative. */
function numberOf(source: ProfileText, line: number, column: string, cell: string): number {
  const value = cell === "" ? NaN : Number(cell);
  if (Number.isFinite(value) && value >= 0) return value;
  const found = JSON.stringify(cell);
  throw new EmaError("E_TRACE", `${source.file}:${line}: ${column} is ${found}, not a number >= 0`);
}
