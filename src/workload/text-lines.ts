/**
 * The lines of a text file, a chunk at a time.
 *
 * Called by the trace reader. It does not know what a line says. Traces of a million rows are read
 * without holding the file: memory is one chunk and one line.
 *
 * Invariants: a file that is not text, not a regular file or not readable is one EmaError that
 * names it; a line has a limit, so that no file without line ends is ever held whole.
 */

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { EmaError } from "../base/index.ts";

const CHUNK_BYTES = 1 << 18;
/** Longer than any record of a trace that carries its prompts as text. */
export const LINE_CHARACTERS_MAX = 1 << 22;

/** Without line ends (LF or CRLF) and byte order mark. @throws EmaError E_FILE, E_TRACE */
export function* readLines(path: string): Generator<string, void, void> {
  const descriptor = open(path);
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const decoder = new StringDecoder("utf8");
    let isFirst = true;
    let rest = "";
    for (;;) {
      const size = read(path, descriptor, chunk);
      const bytes = chunk.subarray(0, size);
      if (bytes.includes(0)) throw notText(path, "binary data");
      let text = rest + (size === 0 ? decoder.end() : decoder.write(bytes));
      if (isFirst && size > 0) {
        isFirst = false;
        if (text.startsWith("\uFEFF")) text = text.slice(1);
      }
      let start = 0;
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
        yield text.charCodeAt(end - 1) === 13 && end > start
          ? text.slice(start, end - 1)
          : text.slice(start, end);
        start = end + 1;
      }
      rest = text.slice(start);
      if (size === 0) break;
      if (rest.length > LINE_CHARACTERS_MAX) throw notText(path, "a line of more than 4 MiB");
    }
    if (rest !== "") yield rest.endsWith("\r") ? rest.slice(0, -1) : rest;
  } finally {
    closeSync(descriptor);
  }
}

function open(path: string): number {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch (error) {
    throw unreadable(path, error);
  }
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new EmaError("E_FILE", `${path}: expected a file, found a directory or a device`);
}

function read(path: string, descriptor: number, chunk: Buffer): number {
  try {
    return readSync(descriptor, chunk, 0, chunk.length, null);
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, cause: unknown): EmaError {
  const reason = (cause as NodeJS.ErrnoException).code ?? "unknown reason";
  const text = reason === "ENOENT" ? "no such file" : `cannot be read (${reason})`;
  return new EmaError("E_FILE", `${path}: ${text}`, { cause });
}

function notText(path: string, found: string): EmaError {
  return new EmaError("E_TRACE", `${path}: expected a CSV text file, found ${found}`);
}
