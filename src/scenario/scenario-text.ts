/**
 * YAML text as plain values that remember their lines.
 *
 * Called by scenario-file.ts and server-file.ts. It does not know what a scenario is. Everything a
 * hostile or mistaken file can do to a YAML parser ends here in one line: tabs, duplicate keys,
 * bombs of aliases, several documents, not a map at all.
 */

import { readFileSync, statSync } from "node:fs";
import type { Document, LineCounter } from "yaml";
import { EmaError, type ErrorCode } from "../base/index.ts";
import { yamlLibrary } from "./yaml-library.ts";

/** Keys and indices from the root: `["engines", 0, "name"]`. */
export type KeyPath = readonly (string | number)[];

export interface ScenarioText {
  readonly value: Readonly<Record<string, unknown>>;
  /** @returns `file:line` of the value at `path`, or of its nearest parent that is written. */
  where(path: KeyPath): string;
}

/** Thousands of listed requests; the parser needs seconds for a hostile file of that size. */
const FILE_BYTES_MAX = 1 << 18;
/** How often anchors may be used, weighted by their size; beyond it the file is a bomb. */
const ALIASES_MAX = 1000;
/** A request in the list of a workload in an array of an engine is the seventh level. */
const DEPTH_MAX = 16;

/** @throws EmaError E_FILE when it cannot be read, `code` when it is not a YAML map. */
export function readScenarioText(file: string, code: ErrorCode): ScenarioText {
  return parseScenarioText(file, readText(file, code), code);
}

export function parseScenarioText(file: string, text: string, code: ErrorCode): ScenarioText {
  const lines = new (yamlLibrary().LineCounter)();
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const document = parse(file, text, lines, code);
  const [error] = document.errors;
  if (error !== undefined) {
    const place = `${file}:${lineAt(error.pos[0])}`;
    throw new EmaError(code, `${place}: not YAML: ${oneLine(error.message)}`);
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (cause) {
    throw new EmaError(code, `${file}: not YAML: ${oneLine((cause as Error).message)}`, { cause });
  }
  if (isDeeperThan(value, DEPTH_MAX)) throw tooDeep(file, code);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new EmaError(code, `${file}:1: expected a map of keys, got ${describeKind(value)}`);
  }
  return {
    value: value as Record<string, unknown>,
    where: (path) => `${file}:${lineAt(offsetOf(document, path))}`,
  };
}

/** The parser recurses, and a full stack may end the process: depth is counted before. */
function parse(file: string, text: string, lines: LineCounter, code: ErrorCode): Document {
  if (isNestedDeeply(text)) throw tooDeep(file, code);
  const options = { lineCounter: lines, prettyErrors: false, logLevel: "error" } as const;
  return yamlLibrary().parseDocument(text, options);
}

/** The lexer does not recurse. Blocks nest by columns, so that few columns are few levels. */
function isNestedDeeply(text: string): boolean {
  if (/^[ \t?:-]{200}/m.test(text)) return true;
  let level = 0;
  for (const lexeme of new (yamlLibrary().Lexer)().lex(text)) {
    if (lexeme === "[" || lexeme === "{") level++;
    if (lexeme === "]" || lexeme === "}") level--;
    if (level > 200) return true;
  }
  return false;
}

function tooDeep(file: string, code: ErrorCode): EmaError {
  return new EmaError(code, `${file}: expected at most ${DEPTH_MAX} levels of nesting`);
}

/** Also true of a value that contains itself, which anchors allow. */
function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

function readText(file: string, code: ErrorCode): string {
  try {
    const status = statSync(file);
    if (!status.isFile()) {
      throw new EmaError("E_FILE", `${file}: expected a file, found a directory or a device`);
    }
    if (status.size > FILE_BYTES_MAX) {
      const size = `${status.size} bytes`;
      throw new EmaError(code, `${file}: expected at most 256 KiB of YAML, got ${size}`);
    }
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof EmaError) throw cause;
    const reason = (cause as NodeJS.ErrnoException).code ?? "unknown reason";
    const said = reason === "ENOENT" ? "no such file" : `cannot be read (${reason})`;
    throw new EmaError("E_FILE", `${file}: ${said}`, { cause });
  }
}

function describeKind(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return Array.isArray(value) ? "a list" : JSON.stringify(value).slice(0, 60);
}

function oneLine(message: string): string {
  return message.replace(/\s+/g, " ").trim().slice(0, 200);
}

/** Follows `path` as far as it is written; keys of maps are better places than their values. */
function offsetOf(document: Document, path: KeyPath): number {
  const { isAlias, isMap, isScalar, isSeq } = yamlLibrary();
  let node: unknown = document.contents;
  let offset = 0;
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
      if (pair === undefined) break;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(key)];
      const range = (node as { range?: readonly number[] } | undefined)?.range;
      if (range === undefined) break;
      offset = range[0] ?? offset;
    } else {
      break;
    }
  }
  return offset;
}
