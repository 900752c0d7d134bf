/**
 * Reads the request log of a real run: one JSON object a line, times in seconds.
 *
 * Called by validate.ts. `queued_ts` is when the engine took the request in; it and the token times
 * are of one monotonic clock, while `arrival_time`, which is not read, is the client's wall clock.
 *
 * Invariant: rows are sorted by arrival; queued <= first token <= last token.
 */

import { EmaError } from "../base/index.ts";
import { JsonFields, parseJson } from "./json-fields.ts";
import { readTextFile } from "./text-file.ts";

/** Columns in the order of arrival; nanoseconds since the first arrival. */
export interface RealLog {
  readonly count: number;
  readonly queuedNs: Float64Array;
  readonly firstTokenNs: Float64Array;
  readonly lastTokenNs: Float64Array;
  readonly promptTokens: Int32Array;
  readonly outputTokens: Int32Array;
}

interface Row {
  readonly queued: number;
  readonly first: number;
  readonly last: number;
  readonly prompt: number;
  readonly output: number;
}

/** @throws EmaError E_FILE, E_TRACE with file and line. */
export function readRequestLog(path: string): RealLog {
  const rows: Row[] = [];
  readTextFile(path)
    .split(/\r?\n/)
    .forEach((line, index) => {
      if (line.trim() === "") return;
      const where = `${path}:${index + 1}`;
      rows.push(readRow(new JsonFields(where, parseJson(where, line))));
    });
  if (rows.length === 0) throw new EmaError("E_TRACE", `${path}: no requests in it`);
  rows.sort((one, other) => one.queued - other.queued);
  const startSeconds = rows[0]!.queued;
  const column = (pick: (row: Row) => number): Float64Array =>
    Float64Array.from(rows, (row) => Math.round((pick(row) - startSeconds) * 1e9));
  return {
    count: rows.length,
    queuedNs: column((row) => row.queued),
    firstTokenNs: column((row) => row.first),
    lastTokenNs: column((row) => row.last),
    promptTokens: Int32Array.from(rows, (row) => row.prompt),
    outputTokens: Int32Array.from(rows, (row) => row.output),
  };
}

function readRow(fields: JsonFields): Row {
  const row = {
    queued: fields.number("queued_ts", 0),
    first: fields.number("first_token_ts", 0),
    last: fields.number("last_token_ts", 0),
    prompt: fields.whole("input_toks", 1),
    output: fields.whole("output_toks", 1),
  };
  if (row.first >= row.queued && row.last >= row.first) return row;
  const order = "queued_ts <= first_token_ts <= last_token_ts";
  throw new EmaError("E_TRACE", `${fields.where}: expected ${order}`);
}
