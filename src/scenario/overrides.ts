/**
 * `--set engines.chat.workload.rate=3`: changes values of a scenario before it is checked.
 *
 * Called by scenario-file.ts and quick-scenario.ts. It does not know the schema: a key that no
 * scenario has is found by the same check as one in the file, and then blamed on its option.
 *
 * Items of a list are addressed by name (engines, systems) or by index. Values are YAML, so that
 * `--set systems=[static,ema]` works.
 */

import { EmaError, suggestNames } from "../base/index.ts";
import type { KeyPath } from "./scenario-text.ts";
import { yamlLibrary } from "./yaml-library.ts";

export interface Overridden {
  readonly value: Readonly<Record<string, unknown>>;
  /** @returns `--set a.b=c` when that option wrote the value at `path` or around it, or `null`. */
  originOf(path: KeyPath): string | null;
}

type Container = Record<string, unknown> | unknown[];

/** Changes a copy. @throws EmaError E_ARGUMENT for a path that leads nowhere. */
export function applyOverrides(
  value: Readonly<Record<string, unknown>>,
  sets: readonly string[],
): Overridden {
  const root = copyOf(value) as Record<string, unknown>;
  const applied = sets.map((text) => ({ text, path: createdBy(root, text) }));
  return {
    value: root,
    originOf: (path) => {
      const found = applied.findLast((set) => set.path.every((key, index) => key === path[index]));
      return found === undefined ? null : `--set ${found.text}`;
    },
  };
}

function applyOne(root: Record<string, unknown>, text: string): KeyPath {
  const equals = text.indexOf("=");
  if (equals < 1) fail(text, "expected path=value, like engines.chat.workload.rate=3");
  const value = parseValue(text, text.slice(equals + 1));
  const path: (string | number)[] = [];
  let container: Container = root;
  let rest = text.slice(0, equals).trim();
  for (;;) {
    const step = nextKey(text, container, rest, path);
    path.push(step.key);
    if (step.rest === "") {
      (container as Record<string | number, unknown>)[step.key] = value;
      return path;
    }
    container = descend(text, container, step.key, path);
    rest = step.rest;
  }
}

/** Applies one option. @returns the path of the outermost value that it created or replaced. */
function createdBy(root: Record<string, unknown>, text: string): KeyPath {
  const before = copyOf(root);
  const path = applyOne(root, text);
  let value: unknown = before;
  for (let depth = 0; depth < path.length; depth++) {
    const key = path[depth]!;
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    if (!isThere) return path.slice(0, depth + 1);
    value = (value as Record<string | number, unknown>)[key];
  }
  return path;
}

/** Anchors make two engines share one object; each gets its own, so that one can be changed. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)]));
}

function parseValue(text: string, valueText: string): unknown {
  // `@1` is a trace; YAML keeps "@" for itself and wants it quoted, a shell would want it twice.
  if (/^@\d+$/.test(valueText)) return valueText;
  try {
    return yamlLibrary().parse(valueText, { maxAliasCount: 0, prettyErrors: false }) as unknown;
  } catch {
    return fail(text, `expected a YAML value after "=", got ${JSON.stringify(valueText)}`);
  }
}

/** Names may contain dots (`qwen2.5`), so a list is asked for the longest name that fits. */
function nextKey(
  text: string,
  container: Container,
  rest: string,
  path: KeyPath,
): { key: string | number; rest: string } {
  const dot = rest.indexOf(".");
  const head = dot === -1 ? rest : rest.slice(0, dot);
  const tail = dot === -1 ? "" : rest.slice(dot + 1);
  const isUsable = head !== "" && head !== "__proto__" && !(dot !== -1 && tail === "");
  if (!isUsable) fail(text, "expected keys separated by single dots");
  if (!Array.isArray(container)) return { key: head, rest: tail };
  const names = container.map(nameOf);
  let chosen = -1;
  names.forEach((name, index) => {
    const fits = name !== null && (rest === name || rest.startsWith(`${name}.`));
    if (fits && (chosen === -1 || name.length > names[chosen]!.length)) chosen = index;
  });
  if (chosen !== -1) return { key: chosen, rest: rest.slice(names[chosen]!.length + 1) };
  if (/^\d+$/.test(head) && Number(head) < container.length) {
    return { key: Number(head), rest: tail };
  }
  const known = names.filter((name) => name !== null);
  const list = path.join(".");
  return fail(text, `${list} has no item ${JSON.stringify(head)}${suggestNames(head, known)}`);
}

function nameOf(item: unknown): string | null {
  if (typeof item === "string") return item;
  const name = (item as { name?: unknown } | null)?.name;
  return typeof name === "string" && name !== "" ? name : null;
}

/** Makes missing maps on the way; the short form of a system, its name, becomes a map. */
function descend(
  text: string,
  container: Container,
  key: string | number,
  path: KeyPath,
): Container {
  const target = container as Record<string | number, unknown>;
  let child = Object.hasOwn(target, key) ? target[key] : undefined;
  if (typeof child === "string" && path[0] === "systems" && path.length === 2) {
    child = { name: child, base: child };
    target[key] = child;
  }
  if (child === undefined || child === null) {
    child = {};
    target[key] = child;
  }
  if (typeof child !== "object") {
    fail(text, `${path.join(".")} is ${JSON.stringify(child)}; it has no keys of its own`);
  }
  return child as Container;
}

function fail(text: string, message: string): never {
  throw new EmaError("E_ARGUMENT", `--set ${text}: ${message}`);
}
