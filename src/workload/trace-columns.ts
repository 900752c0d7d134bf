/**
 * Which columns of a CSV header hold arrival, prompt and output, and in which unit time is.
 *
 * Called by the trace reader with the first line. Names are compared without case, spaces, hyphens
 * and underscores, so `ContextTokens`, `context_tokens` and `Context Tokens` are one name. Where a
 * header has several names for one role, the first in the list below wins; other columns are
 * ignored.
 *
 * The unit of time is in the name: `_s`, `_ms`, `_us`, `_ns` or spelt out; without one a number is
 * seconds, and a date and time needs none.
 */

import { distance } from "fastest-levenshtein";
import type { TimeUnit } from "./arrival-time.ts";

/** Each with any of the unit suffixes below, or with none. */
const ARRIVAL_NAMES = ["arrival", "arrival_time", "arrived_at", "timestamp", "queued_ts"];
const UNIT_SUFFIXES: Readonly<Record<string, TimeUnit>> = {
  "": "s",
  _s: "s",
  _sec: "s",
  _seconds: "s",
  _ms: "ms",
  _milliseconds: "ms",
  _us: "us",
  _microseconds: "us",
  _ns: "ns",
  _nanoseconds: "ns",
};
const PROMPT_NAMES = [
  "prompt_tokens",
  "input_tokens",
  "input_toks",
  "input_length",
  "input_len",
  "prompt_length",
  "prompt_len",
  "ContextTokens",
  "request_tokens",
  "num_prefill_tokens",
];
const OUTPUT_NAMES = [
  "output_tokens",
  "output_toks",
  "output_length",
  "output_len",
  "completion_tokens",
  "GeneratedTokens",
  "response_tokens",
  "num_decode_tokens",
];

export interface Column {
  readonly index: number;
  /** As the file writes it. */
  readonly name: string;
}

export interface TraceColumns {
  readonly count: number;
  readonly arrival: Column;
  readonly arrivalUnit: TimeUnit;
  readonly prompt: Column;
  readonly output: Column;
}

/** @returns the columns, or one sentence that says which is missing and what was expected. */
export function findColumns(header: readonly string[]): TraceColumns | string {
  const twice = header.find(
    (name, index) => name !== "" && header.findIndex((other) => fold(other) === fold(name)) < index,
  );
  if (twice !== undefined) return `two columns are named ${JSON.stringify(twice)}; expected one`;
  const arrivals = ARRIVAL_NAMES.flatMap((name) =>
    Object.entries(UNIT_SUFFIXES).map(([suffix, unit]) => ({ name: name + suffix, unit })),
  );
  const arrivalNames = arrivals.map(({ name }) => name);
  const arrival = findColumn(header, arrivalNames);
  if (arrival === null) {
    const shown = [...ARRIVAL_NAMES, "arrival_s", "arrival_ms", "arrival_us", "arrival_ns"];
    return missing("arrival", header, arrivalNames, shown);
  }
  const prompt = findColumn(header, PROMPT_NAMES);
  if (prompt === null) return missing("prompt tokens", header, PROMPT_NAMES, PROMPT_NAMES);
  const output = findColumn(header, OUTPUT_NAMES);
  if (output === null) return missing("output tokens", header, OUTPUT_NAMES, OUTPUT_NAMES);
  const { unit } = arrivals.find(({ name }) => fold(name) === fold(arrival.name))!;
  return { count: header.length, arrival, arrivalUnit: unit, prompt, output };
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, "");
}

function findColumn(header: readonly string[], names: readonly string[]): Column | null {
  const folded = header.map(fold);
  for (const name of names) {
    const index = folded.indexOf(fold(name));
    if (index !== -1) return { index, name: header[index]! };
  }
  return null;
}

/** Names the pair of a column here and a name we know that are nearest to each other. */
function missing(
  role: string,
  header: readonly string[],
  known: readonly string[],
  shown: readonly string[],
): string {
  let nearest = { column: "", name: "", edits: Infinity };
  for (const column of header.filter((text) => text !== "")) {
    for (const name of known) {
      const edits = distance(fold(column), fold(name));
      if (edits < nearest.edits) nearest = { column, name, edits };
    }
  }
  const columns = header.slice(0, 12).map((name) => JSON.stringify(name.slice(0, 40)));
  const more = header.length > 12 ? `, and ${header.length - 12} more` : "";
  const isNear = nearest.edits <= fold(nearest.name).length / 2;
  const hint = isNear
    ? `; nearest: ${JSON.stringify(nearest.column.slice(0, 40))} here is like ${nearest.name}`
    : "";
  return (
    `no column for ${role}; expected one of ${shown.join(", ")}; ` +
    `found ${columns.join(", ")}${more}${hint}`
  );
}
