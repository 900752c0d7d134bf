/**
 * Rules on what a file says: its header, the calls it may make, its name, the words it uses.
 *
 * Called by the tidy tests, one function a rule, each from files to findings (`path:line: what`).
 * Imports are judged in layer-rules.ts, sizes in size-rules.ts, documents in doc-rules.ts.
 */

import { CORE_LAYERS, importsOf, layerOf, resolveImport } from "./layer-rules.ts";
import { lineAt, maskCode, type SourceFile } from "./source-text.ts";

/** Rule 3: a header comment of two lines stands first; an index.ts and tests may do with one. */
export function checkHeaders(files: readonly SourceFile[]): string[] {
  const findings: string[] = [];
  for (const { path, text } of files) {
    const header = /^(?:#!.*\n)?\s*(\/\*\*[^]*?\*\/|(?:\/\/.*\n)+)/.exec(text)?.[1] ?? "";
    const said = header.split("\n").filter((line) => /[A-Za-z]/.test(line)).length;
    const least = path.endsWith("/index.ts") || path.startsWith("test/") ? 1 : 2;
    if (said < least) findings.push(`${path}:1: header comment of ${said} lines, least ${least}`);
  }
  return findings;
}

const CORE_BANS: readonly RegExp[] = [
  /\bDate\.now\b/g,
  /\bnew\s+Date\b/g,
  /\bperformance\.now\b/g,
  /\bMath\.random\b/g,
  /\bset(?:Timeout|Interval|Immediate)\b/g,
  /\bqueueMicrotask\b/g,
  /\bprocess\./g,
  /\bconsole\./g,
  /\basync\b/g,
  /\bawait\b/g,
  /\bPromise\b/g,
];

/** What only the composition roots may touch: the wall clock, chance, the environment. */
const ROOT_ONLY: readonly RegExp[] = [/\bDate\.now\b/g, /\bMath\.random\b/g, /\bprocess\.env\b/g];

/** Rule 4: the core is given time and chance and does no I/O; below cli nobody takes them. */
export function checkCalls(files: readonly SourceFile[]): string[] {
  const findings: string[] = [];
  for (const { path, text } of files) {
    const layer = layerOf(path);
    if (layer === null || layer === "cli") continue;
    const code = maskCode(text);
    for (const ban of CORE_LAYERS.includes(layer) ? CORE_BANS : ROOT_ONLY) {
      for (const match of code.matchAll(ban)) {
        findings.push(`${path}:${lineAt(text, match.index)}: ${match[0]} is banned in ${layer}`);
      }
    }
  }
  return findings;
}

const DRAWER_NAMES = new Set(["utils", "util", "common", "helpers", "helper", "manager"]);
for (const name of ["misc", "types"]) DRAWER_NAMES.add(name);

/** Rule 6: no file or folder is named as a drawer for whatever fits nowhere else. */
export function checkNames(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => path.split(/[/.-]/).some((word) => DRAWER_NAMES.has(word.toLowerCase())))
    .map(({ path }) => `${path}: named as a drawer; name the concept`);
}

// Assembled from parts, so that this file does not contain what it bans.
const MACHINE_PATH = new RegExp("(?<![\\w.\\-/])/(?:work|root|tmp|home/\\w+|Users/\\w+)/", "g");
const FOREIGN_WORDS = new RegExp(
  ["sub-?ag" + "ent", "coding ag" + "ent", "AI ag" + "ent", "Clau" + "de", "Anthro" + "pic"]
    .concat(["Chat" + "GPT", "language model assist" + "ant", "work" + "place", "my bri" + "ef"])
    .map((word) => `\\b${word}\\b`)
    .join("|"),
  "gi",
);

/** Rule 9: no path of one machine, and no word on who typed the text. */
export function checkWords(files: readonly SourceFile[]): string[] {
  const findings: string[] = [];
  for (const { path, text } of files) {
    for (const ban of [MACHINE_PATH, FOREIGN_WORDS]) {
      for (const match of text.matchAll(ban)) {
        findings.push(`${path}:${lineAt(text, match.index)}: "${match[0]}" does not belong here`);
      }
    }
  }
  return findings;
}

/**
 * Rule 10: a file below test is run (`*.test.ts`) or reached by imports from one that is, so that a
 * test with a misspelt name is not silently left out. Data for tests lies in a folder `fixtures`.
 */
export function checkTestFiles(files: readonly SourceFile[]): string[] {
  const tests = files.filter(({ path }) => path.startsWith("test/"));
  const byPath = new Map(tests.map((file) => [file.path, file]));
  const isReached = new Set<string>();
  const visit = (path: string): void => {
    const file = byPath.get(path);
    if (file === undefined || isReached.has(path)) return;
    isReached.add(path);
    for (const { specifier } of importsOf(file)) {
      if (specifier.startsWith(".")) visit(resolveImport(path, specifier));
    }
  };
  for (const { path } of tests) if (path.endsWith(".test.ts")) visit(path);
  return tests
    .filter(({ path }) => !isReached.has(path) && !path.includes("/fixtures/"))
    .map(({ path }) => `${path}: neither a *.test.ts nor imported by one`);
}
