/**
 * Holds values to schemas and turns the first thing that is wrong into one line.
 *
 * Called by everything that resolves a part of a scenario. It knows paths and lines, not what the
 * keys mean. A line reads `file:line: engines.chat.workload.rate: expected ..., got ...`.
 *
 * An unknown key is reported before a missing one: a misspelt key is both, and the first says more.
 */

import { z } from "zod";
import { EmaError, suggestNames, type ErrorCode } from "../base/index.ts";
import type { KeyPath } from "./scenario-text.ts";

export class Checker {
  readonly #root: unknown;
  readonly #where: (path: KeyPath) => string;
  readonly #code: ErrorCode;

  /** @param where gives the place of a path: file and line, or an option. */
  constructor(root: unknown, where: (path: KeyPath) => string, code: ErrorCode = "E_SCENARIO") {
    this.#root = root;
    this.#where = where;
    this.#code = code;
  }

  /** @returns what the schema makes of the value at `path`. @throws EmaError */
  read<Schema extends z.ZodType>(schema: Schema, path: KeyPath): z.output<Schema> {
    const result = schema.safeParse(this.valueAt(path));
    if (result.success) return result.data;
    const issues = result.error.issues;
    const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!;
    const at = [...path, ...issue.path.map((key) => (typeof key === "symbol" ? "" : key))];
    if (issue.code === "unrecognized_keys") {
      const [key] = issue.keys;
      const known = keysOf(schema, at.slice(path.length));
      return this.fail([...at, key!], `unknown key${suggestNames(key!, known)}`);
    }
    return this.fail(at, `expected ${expectation(issue)}, got ${this.#shown(at)}`);
  }

  /** Reports `text` as what is wrong with the value at `path`. */
  fail(path: KeyPath, text: string, code: ErrorCode = this.#code): never {
    throw new EmaError(code, `${this.#label(path)}: ${text}`);
  }

  /** Runs a reader of another layer and says which value its error is about. */
  about<T>(path: KeyPath, run: () => T): T {
    try {
      return run();
    } catch (cause) {
      if (!(cause instanceof EmaError)) throw cause;
      throw new EmaError(cause.code, `${this.#label(path)}: ${cause.message}`, { cause });
    }
  }

  valueAt(path: KeyPath): unknown {
    let value: unknown = this.#root;
    for (const key of path) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) {
        return undefined;
      }
      value = (value as Record<string | number, unknown>)[key];
    }
    return value;
  }

  /** List items are called by their names where they have one, as `--set` addresses them. */
  #label(path: KeyPath): string {
    const keys = path.map((key, index) => {
      if (typeof key !== "number") return key;
      const name = (this.valueAt(path.slice(0, index + 1)) as { name?: unknown } | null)?.name;
      return typeof name === "string" ? name : String(key);
    });
    // The root of a file has no key of its own.
    return [this.#where(path), ...(keys.length === 0 ? [] : [keys.join(".")])].join(": ");
  }

  #shown(path: KeyPath): string {
    const value = this.valueAt(path);
    if (value === undefined || value === null) return "nothing";
    if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
    if (typeof value === "object") return "a map";
    if (typeof value !== "string") return String(value);
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  }
}

/** A scalar that is read by a function; `expected` says in words what it takes. */
export function field<T>(
  expected: string,
  read: (value: unknown) => T | undefined,
): z.ZodType<T, unknown> {
  return z.unknown().transform((value, context) => {
    const result = read(value);
    if (result !== undefined) return result;
    context.addIssue({ code: "custom", message: expected });
    return z.NEVER;
  });
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === "custom") return issue.message;
  if (issue.code === "too_small" && issue.origin === "array") return "a list with items";
  if (issue.code !== "invalid_type") return issue.message;
  const words: Readonly<Record<string, string>> = { object: "a map", array: "a list" };
  return words[issue.expected] ?? `a ${issue.expected}`;
}

/** Keys of the object schema that `path` leads to inside `schema`. */
function keysOf(schema: z.ZodType, path: KeyPath): string[] {
  let inner: unknown = schema;
  for (const key of [...path, null]) {
    while (inner instanceof z.ZodOptional) inner = inner.unwrap();
    if (key === null) break;
    if (inner instanceof z.ZodArray) inner = inner.element;
    else if (inner instanceof z.ZodObject) inner = inner.shape[key];
  }
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}
