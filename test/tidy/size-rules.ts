/**
 * Limits on size: a file is one subject, a function fits on a screen, a line fits beside another.
 *
 * Called by the tidy tests. Functions are found by counting braces in masked code; that finds
 * what a reader would call a function (declarations, methods, accessors, arrows with a body) and
 * nothing else.
 *
 * Exceptions are listed with a reason. An entry that is no longer needed is itself a finding, so
 * that the list can only shrink.
 */

import { lineAt, maskCode, type SourceFile } from "./source-text.ts";

export const FILE_LINES_MAX = 300;
export const FUNCTION_LINES_MAX = 70;
export const LINE_COLUMNS_MAX = 100;

/** One tolerated breach: `path` for a file, `path#name` for a function. */
export interface SizeException {
  readonly subject: string;
  readonly reason: string;
}

export interface FunctionSpan {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
}

/** Rule 5: sizes of files, functions (not in tests, whose suites are functions) and lines. */
export function checkSizes(
  files: readonly SourceFile[],
  exceptions: readonly SizeException[] = [],
): string[] {
  const findings: string[] = [];
  const unused = new Map(exceptions.map((entry) => [entry.subject, entry]));
  const add = (subject: string, finding: string): void => {
    const isTolerated = exceptions.some((entry) => entry.subject === subject);
    if (isTolerated) unused.delete(subject);
    else findings.push(finding);
  };
  for (const file of files) {
    const lines = file.text.split("\n");
    const count = lines.at(-1) === "" ? lines.length - 1 : lines.length;
    if (count > FILE_LINES_MAX) {
      add(file.path, `${file.path}: ${count} lines, at most ${FILE_LINES_MAX}`);
    }
    lines.forEach((line, index) => {
      if ([...line].length <= LINE_COLUMNS_MAX) return;
      findings.push(`${file.path}:${index + 1}: longer than ${LINE_COLUMNS_MAX} columns`);
    });
    if (file.path.startsWith("test/")) continue;
    for (const span of functionsOf(file)) {
      if (span.lines <= FUNCTION_LINES_MAX) continue;
      const what = `${span.name} has ${span.lines} lines, at most ${FUNCTION_LINES_MAX}`;
      add(`${file.path}#${span.name}`, `${file.path}:${span.line}: ${what}`);
    }
  }
  for (const { subject } of unused.values()) {
    findings.push(`${subject}: listed as an exception and not one; remove the entry`);
  }
  return findings;
}

/** Every function with a body in braces; an arrow is named by what it is assigned to, or `=>`. */
export function functionsOf(file: SourceFile): FunctionSpan[] {
  const code = maskCode(file.text);
  const spans: FunctionSpan[] = [];
  const open: ({ name: string; start: number } | null)[] = [];
  for (let index = 0; index < code.length; index++) {
    if (code[index] === "{") open.push(functionHead(code, index));
    if (code[index] !== "}") continue;
    const head = open.pop();
    if (head === null || head === undefined) continue;
    const line = lineAt(code, head.start);
    spans.push({ name: head.name, line, lines: lineAt(code, index) - line + 1 });
  }
  return spans;
}

const NOT_FUNCTIONS = new Set(["if", "for", "while", "switch", "catch", "with", "await"]);

/** @returns name and start of the function whose body opens at `brace`, or `null`. */
function functionHead(code: string, brace: number): { name: string; start: number } | null {
  const before = code.slice(0, brace).trimEnd();
  if (before.endsWith("=>")) return arrowHead(before.slice(0, -2).trimEnd());
  const close = before.endsWith(")") ? before.length - 1 : closeBeforeReturnType(before);
  if (close === null) return null;
  const paren = matchBackwards(before, close);
  if (paren === null) return null;
  const name = /([#\w$]+)\s*(?:<[^()]*>)?\s*$/.exec(before.slice(0, paren));
  if (name === null) return { name: "function", start: paren };
  return NOT_FUNCTIONS.has(name[1]!) ? null : { name: name[1]!, start: name.index };
}

function arrowHead(before: string): { name: string; start: number } {
  const close = before.endsWith(")") ? before.length - 1 : closeBeforeReturnType(before);
  const paren = close === null ? null : matchBackwards(before, close);
  const start = paren ?? before.length - 1;
  const assigned = /([#\w$]+)\s*(?::[^=;]*)?=\s*(?:<[^()]*>)?\s*$/.exec(before.slice(0, start));
  return { name: assigned?.[1] ?? "=>", start: assigned?.index ?? start };
}

/** For `(...): Type`, the offset of the closing parenthesis; types may hold balanced brackets. */
function closeBeforeReturnType(before: string): number | null {
  for (let index = before.length - 1; index > 0; index--) {
    const char = before[index]!;
    if (char === ":") {
      const head = before.slice(0, index).trimEnd();
      const type = before.slice(index + 1).trim();
      // A brace and then a word is not a type but the end of a block and a new statement.
      const isType = type !== "" && !/\}\s*[\w#@]/.test(type);
      return head.endsWith(")") && isType ? head.length - 1 : null;
    }
    if (char === ";" || char === "=" || "{[(".includes(char)) return null;
    if (!"}])".includes(char)) continue;
    const opening = matchBackwards(before, index);
    if (opening === null) return null;
    index = opening;
  }
  return null;
}

/** @returns the offset of the bracket that the one at `close` closes, or `null`. */
function matchBackwards(code: string, close: number): number | null {
  let depth = 0;
  for (let index = close; index >= 0; index--) {
    if (")]}".includes(code[index]!)) depth++;
    if ("([{".includes(code[index]!)) depth--;
    if (depth === 0) return index;
  }
  return null;
}
