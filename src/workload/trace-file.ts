/**
 * Reads a request trace: CSV with a header, as Azure 2023 publishes it or with other column names.
 *
 * Called by scenarios. It does not know engines, models or how a trace is shared out. What a file
 * must look like, and what happens when it does not:
 *
 *   - no file, a directory, binary data, no header, a column missing     error (file, line 1)
 *   - a row too short or too long, a time or count that is none          error (file, line)
 *   - a row with 0 prompt or 0 output tokens                             skipped, counted, said
 *   - empty lines                                                        ignored
 *
 * Real traces contain requests without output (cancelled, failed); any other oddity means that the
 * file is not what its owner thinks it is, and guessing would make wrong figures look right.
 *
 * Invariants: the first arrival is 0; times are exact differences, the same under any time zone and
 * any shift of the whole file; the order of rows in the file does not matter.
 */

import { createRequire } from "node:module";
import { basename } from "node:path";
import type * as CsvParse from "csv-parse/sync";
import { EmaError, NS_PER_SECOND } from "../base/index.ts";
import { ArrivalTime } from "./arrival-time.ts";
import { tableFromColumns, type RequestTable } from "./request-table.ts";
import { LINE_CHARACTERS_MAX, readLines } from "./text-lines.ts";
import { findColumns, type Column, type TraceColumns } from "./trace-columns.ts";

export interface TraceFile {
  /** The file's name without its folder. */
  readonly label: string;
  readonly table: RequestTable;
  /** Last arrival - first arrival. */
  readonly spanNs: number;
  /** Rows without prompt or output tokens; `samples` names the first few with their lines. */
  readonly skipped: { readonly count: number; readonly samples: readonly string[] };
}

const SKIPPED_SAMPLES_MAX = 3;
const TOKENS_MAX = 2 ** 31 - 1;

/** @throws EmaError E_FILE when the file cannot be read, E_TRACE when it says something else. */
export function readTrace(path: string): TraceFile {
  let rows: TraceRows | null = null;
  for (const { line, fields } of readRecords(path)) {
    if (rows === null) {
      const columns = findColumns(fields);
      if (typeof columns === "string") throw new EmaError("E_TRACE", `${path}:${line}: ${columns}`);
      rows = new TraceRows(path, columns);
    } else {
      rows.add(line, fields);
    }
  }
  if (rows === null) {
    throw new EmaError("E_TRACE", `${path}:1: empty file; expected a CSV header and requests`);
  }
  return rows.finish();
}

interface CsvRecord {
  /** 1-based; where the record starts. */
  readonly line: number;
  /** Trimmed. */
  readonly fields: readonly string[];
}

/** Splits plain lines itself and leaves records with quotes, which may span lines, to csv-parse. */
function* readRecords(path: string): Generator<CsvRecord, void, void> {
  let line = 0;
  let quoted = "";
  let quotedLine = 0;
  for (const text of readLines(path)) {
    line++;
    if (quotedLine === 0 && !text.includes('"')) {
      if (text.trim() === "") continue;
      const fields = text.split(",");
      for (let index = 0; index < fields.length; index++) fields[index] = fields[index]!.trim();
      yield { line, fields };
      continue;
    }
    if (quotedLine === 0) quotedLine = line;
    quoted = quoted === "" ? text : `${quoted}\n${text}`;
    if (quoted.length > LINE_CHARACTERS_MAX) break;
    if (countQuotes(quoted) % 2 === 1) continue;
    yield { line: quotedLine, fields: parseQuoted(path, quotedLine, quoted) };
    quoted = "";
    quotedLine = 0;
  }
  if (quotedLine !== 0) {
    throw new EmaError("E_TRACE", `${path}:${quotedLine}: a quote is opened and never closed`);
  }
}

function countQuotes(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) count++;
  return count;
}

function parseQuoted(path: string, line: number, text: string): string[] {
  // Loaded at the first record with quotes, which few traces have.
  const { parse } = createRequire(import.meta.url)("csv-parse/sync") as typeof CsvParse;
  try {
    return (parse(text, { trim: true, relax_column_count: true }) as string[][])[0] ?? [];
  } catch (cause) {
    throw new EmaError(
      "E_TRACE",
      `${path}:${line}: expected CSV (a field with a quote is quoted whole, "" inside for one)`,
      { cause },
    );
  }
}

/** Collects rows; times stay split in seconds and nanoseconds until the earliest is known. */
class TraceRows {
  readonly #path: string;
  readonly #columns: TraceColumns;
  readonly #time = new ArrivalTime();
  #notation: "date" | "number" | null = null;
  readonly #seconds: number[] = [];
  readonly #nanos: number[] = [];
  readonly #promptTokens: number[] = [];
  readonly #outputTokens: number[] = [];
  #skippedCount = 0;
  readonly #skippedSamples: string[] = [];

  constructor(path: string, columns: TraceColumns) {
    this.#path = path;
    this.#columns = columns;
  }

  add(line: number, fields: readonly string[]): void {
    const { count, arrival, arrivalUnit, prompt, output } = this.#columns;
    if (fields.length !== count) {
      this.#fail(line, `expected ${count} fields as in the header, got ${fields.length}`);
    }
    const time = this.#time;
    const isTime = time.parse(fields[arrival.index]!, arrivalUnit);
    if (!isTime || time.notation !== (this.#notation ?? time.notation)) {
      this.#failTime(line, fields[arrival.index]!);
    }
    this.#notation = time.notation;
    const promptTokens = this.#tokens(line, prompt, fields);
    const outputTokens = this.#tokens(line, output, fields);
    if (promptTokens === 0 || outputTokens === 0) {
      this.#skip(line, promptTokens === 0 ? "0 prompt tokens" : "0 output tokens");
      return;
    }
    this.#seconds.push(time.seconds);
    this.#nanos.push(time.nanos);
    this.#promptTokens.push(promptTokens);
    this.#outputTokens.push(outputTokens);
  }

  finish(): TraceFile {
    const arrivalNs = this.#relativeNs();
    const table = tableFromColumns(arrivalNs, this.#promptTokens, this.#outputTokens);
    return {
      label: basename(this.#path),
      table,
      spanNs: table.arrivalNs[table.count - 1]!,
      skipped: { count: this.#skippedCount, samples: this.#skippedSamples },
    };
  }

  #relativeNs(): Float64Array {
    const count = this.#seconds.length;
    if (count === 0) {
      const skipped = this.#skippedCount === 0 ? "" : ` (${this.#skippedCount} rows skipped)`;
      throw new EmaError("E_TRACE", `${this.#path}: no requests after the header${skipped}`);
    }
    let first = 0;
    for (let row = 1; row < count; row++) {
      const difference = this.#seconds[row]! - this.#seconds[first]!;
      if (difference < 0 || (difference === 0 && this.#nanos[row]! < this.#nanos[first]!)) {
        first = row;
      }
    }
    return Float64Array.from(this.#seconds, (seconds, row) => {
      const nanos = this.#nanos[row]! - this.#nanos[first]!;
      const relativeNs = (seconds - this.#seconds[first]!) * NS_PER_SECOND + nanos;
      if (Number.isSafeInteger(relativeNs)) return relativeNs;
      throw new EmaError("E_TRACE", `${this.#path}: arrivals span more than 104 days`);
    });
  }

  #tokens(line: number, column: Column, fields: readonly string[]): number {
    const text = fields[column.index]!;
    const tokens = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
    if (tokens <= TOKENS_MAX) return tokens;
    const what = `${column.name}: expected a whole number of tokens in plain digits`;
    return this.#fail(line, `${what}, got ${shown(text)}`);
  }

  #failTime(line: number, text: string): never {
    const { name } = this.#columns.arrival;
    const unit = { s: "seconds", ms: "milliseconds", us: "microseconds", ns: "nanoseconds" }[
      this.#columns.arrivalUnit
    ];
    const forms =
      this.#notation === "date"
        ? "a date and time like the rows before"
        : this.#notation === "number"
          ? `${unit} like the rows before`
          : `${unit} from any start, or a date and time like 2023-11-16 18:15:46.6805900`;
    this.#fail(line, `${name}: expected ${forms}, got ${shown(text)}`);
  }

  #fail(line: number, text: string): never {
    throw new EmaError("E_TRACE", `${this.#path}:${line}: ${text}`);
  }

  #skip(line: number, reason: string): void {
    this.#skippedCount++;
    if (this.#skippedSamples.length < SKIPPED_SAMPLES_MAX) {
      this.#skippedSamples.push(`line ${line}: ${reason}`);
    }
  }
}

/** Foreign text in an error: quoted, without control characters, short. */
function shown(text: string): string {
  if (text === "") return "nothing";
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
