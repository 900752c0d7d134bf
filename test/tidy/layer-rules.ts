/**
 * The layer table as rules over imports.
 *
 * Called by the tidy tests. A layer is a folder of src with one public index.ts. Imports go down
 * the table, or sideways where listed; type-only imports count too, because a type drags its
 * meaning along. docs/ARCHITECTURE.md describes the same table in words.
 */

import { lineAt, maskCode, type SourceFile } from "./source-text.ts";

/** The level of every folder of src; a folder that is not here is a finding. */
export const LAYER_LEVELS: Readonly<Record<string, number>> = {
  base: 0,
  hardware: 1,
  device: 1,
  workload: 1,
  pool: 2,
  prefetch: 2,
  model: 2,
  limits: 2,
  kvcache: 3,
  broker: 3,
  scenario: 3,
  scheduler: 4,
  engine: 5,
  sim: 6,
  report: 6,
  validation: 6,
  serving: 6,
  server: 7,
  cli: 8,
};

/** Pairs of one level that may import one way. */
const SIDEWAYS: readonly string[] = ["report -> sim", "serving -> sim", "validation -> sim"];

/** Layers that may import less than what lies below them. */
const NARROWED: Readonly<Record<string, readonly string[]>> = {
  // The closed form is a check on the simulator: it shares the inputs with it and no code.
  limits: ["base", "hardware"],
};

/** Layers that are given time and chance, and do no I/O. */
export const CORE_LAYERS: readonly string[] = [
  "pool",
  "prefetch",
  "kvcache",
  "scheduler",
  "engine",
];

export interface ImportStatement {
  readonly specifier: string;
  readonly line: number;
  /** True for `import type` and `export type`: erased, so it cannot close a cycle at run time. */
  readonly isTypeOnly: boolean;
}

const IMPORT_FORMS: readonly RegExp[] = [
  /\b(?:import|export)\s+(?<type>type\s+(?!from\b))?[\w*{}\s,$]+?\s+?from\s*["']/g,
  /\bimport\s*(?<type>)["']/g,
  /\bimport\s*(?<type>)\(\s*["']/g,
];

/** Every import and re-export of a file, in the order of their forms. */
export function importsOf(file: SourceFile): ImportStatement[] {
  const code = maskCode(file.text);
  const found: ImportStatement[] = [];
  for (const form of IMPORT_FORMS) {
    for (const match of code.matchAll(form)) {
      const start = match.index + match[0].length;
      const end = file.text.indexOf(file.text[start - 1]!, start);
      found.push({
        specifier: file.text.slice(start, end),
        line: lineAt(file.text, match.index),
        isTypeOnly: Boolean(match.groups?.["type"]),
      });
    }
  }
  return found;
}

/** The layer of a path below src, or `null`. */
export function layerOf(path: string): string | null {
  return /^src\/([^/]+)\/./.exec(path)?.[1] ?? null;
}

/** Rule 1: imports go down, or sideways where listed, and only through an index.ts. */
export function checkLayers(files: readonly SourceFile[]): string[] {
  const findings: string[] = [];
  for (const file of files) {
    if (!file.path.startsWith("src/")) continue;
    const layer = layerOf(file.path);
    if (layer === null || LAYER_LEVELS[layer] === undefined) {
      findings.push(`${file.path}: not in a folder of the layer table`);
      continue;
    }
    for (const statement of importsOf(file)) {
      const problem = importProblem(file.path, layer, statement.specifier);
      if (problem !== null) findings.push(`${file.path}:${statement.line}: ${problem}`);
    }
  }
  return findings;
}

function importProblem(path: string, layer: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) {
    return CORE_LAYERS.includes(layer) ? `${layer} is core and imports ${specifier}` : null;
  }
  if (!specifier.endsWith(".ts")) return `${specifier} does not end in .ts`;
  const target = resolveImport(path, specifier);
  const targetLayer = layerOf(target);
  if (targetLayer === null) return `${specifier} leaves src`;
  if (targetLayer === layer) return null;
  if (!mayImport(layer, targetLayer)) return `${layer} may not import ${targetLayer}`;
  if (target !== `src/${targetLayer}/index.ts`) return `${specifier} bypasses its index.ts`;
  return null;
}

function mayImport(source: string, target: string): boolean {
  const narrowed = NARROWED[source];
  if (narrowed !== undefined) return narrowed.includes(target);
  const down = (LAYER_LEVELS[target] ?? Infinity) < LAYER_LEVELS[source]!;
  return down || SIDEWAYS.includes(`${source} -> ${target}`);
}

/** @returns the path that a relative specifier names, relative to the repository. */
export function resolveImport(path: string, specifier: string): string {
  const parts = path.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** Rule 2: no file reaches itself through imports that exist at run time. */
export function checkCycles(files: readonly SourceFile[]): string[] {
  const graph = new Map<string, readonly string[]>();
  for (const file of files) {
    const targets = importsOf(file)
      .filter(({ specifier, isTypeOnly }) => !isTypeOnly && specifier.startsWith("."))
      .map(({ specifier }) => resolveImport(file.path, specifier));
    graph.set(file.path, targets);
  }
  const findings: string[] = [];
  const isDone = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    const seenAt = trail.indexOf(path);
    if (seenAt !== -1) findings.push(`cycle: ${[...trail.slice(seenAt), path].join(" -> ")}`);
    if (seenAt !== -1 || isDone.has(path)) return;
    trail.push(path);
    for (const target of graph.get(path) ?? []) visit(target);
    trail.pop();
    isDone.add(path);
  };
  for (const path of graph.keys()) visit(path);
  return findings;
}
