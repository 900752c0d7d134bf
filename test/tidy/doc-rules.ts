/**
 * Rules that hold the documents to the tree: paths that exist, error codes that are all explained.
 *
 * Called by the tidy tests. They read Markdown as text: a path is what stands in backticks or
 * behind a link and looks like one.
 */

import { lineAt, type SourceFile } from "./source-text.ts";

const FILE_ENDINGS = /\.(?:ts|js|md|ya?ml|json|csv|svg|html|sh)$/;

/** Made by the build or the install, so absent from a fresh clone. */
const BUILT = /^(?:dist|node_modules|coverage|out)\//;

/**
 * Rule 7: paths named in documents exist. A path has a slash and begins in a folder of the root, or
 * ends as a file does. Not judged: what lies outside (`../`), patterns (`*`, `<`) and built files.
 *
 * @param paths every file of the tree, relative to the root.
 */
export function checkDocPaths(docs: readonly SourceFile[], paths: readonly string[]): string[] {
  const known = new Set<string>();
  for (const path of paths) {
    const parts = path.split("/");
    for (let length = 1; length <= parts.length; length++) {
      known.add(parts.slice(0, length).join("/"));
    }
  }
  const findings: string[] = [];
  for (const doc of docs) {
    for (const { path, line } of pathsNamedIn(doc)) {
      const first = path.split("/")[0]!;
      const isPath = known.has(first) || FILE_ENDINGS.test(path);
      if (!isPath || BUILT.test(path) || known.has(path)) continue;
      findings.push(`${doc.path}:${line}: ${path} does not exist`);
    }
  }
  return findings;
}

function pathsNamedIn(doc: SourceFile): { path: string; line: number }[] {
  const found: { path: string; line: number }[] = [];
  const isMarkdown = doc.path.endsWith(".md");
  const forms = isMarkdown ? [/`([^`\n]+)`/g] : [/\b(docs\/[\w./-]+\.\w+)/g];
  for (const form of forms) {
    for (const match of doc.text.matchAll(form)) {
      const path = match[1]!.replace(/^\.\//, "").replace(/\/$/, "");
      const isPlain = /^[\w.@-]+(?:\/[\w.@-]+)+$/.test(path) && !path.startsWith("../");
      if (isPlain) found.push({ path, line: lineAt(doc.text, match.index) });
    }
  }
  if (!isMarkdown) return found;
  const folder = doc.path.split("/").slice(0, -1);
  for (const match of doc.text.matchAll(/(?:\]\(|(?:src|srcset|href)=")([^)"#\s]+)/g)) {
    if (/^(?:[a-z]+:|\.\.\/\.\.\/shared)/.test(match[1]!)) continue;
    const parts = [...folder];
    for (const part of match[1]!.split("/")) {
      if (part === "..") parts.pop();
      else if (part !== ".") parts.push(part);
    }
    found.push({ path: parts.join("/").replace(/\/$/, ""), line: lineAt(doc.text, match.index) });
  }
  return found;
}

/** Notes that designs were made from; who reads this repository has docs/ and not them. */
const NOTES_ELSEWHERE = /\b(?:DESIGN|CONTRACT|FIELD|STACK|STYLE_ANCHORS)\b(?:\.md)?/g;

/** Rule 7, second part: text refers to documents that its reader can open. */
export function checkReferences(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(NOTES_ELSEWHERE)].map((match) => {
      const line = lineAt(text, match.index);
      return `${path}:${line}: ${match[0]} is not in the repository; refer to a file of docs/`;
    }),
  );
}

/**
 * Rule 8: docs/ERRORS.md has one table row a code, `| CODE | when | what to do |`, and the last
 * cell is a sentence; and it has no row for a code that is gone.
 */
export function checkErrorCodes(source: SourceFile, doc: SourceFile): string[] {
  const union = /export type ErrorCode\s*=([^;]*);/.exec(source.text)?.[1] ?? "";
  const codes = [...union.matchAll(/"(E_\w+)"/g)].map((match) => match[1]!);
  const rows = new Map<string, string>();
  for (const match of doc.text.matchAll(/^\|\s*`?(E_\w+)`?\s*\|(.*)\|\s*$/gm)) {
    rows.set(match[1]!, match[2]!.split("|").at(-1)!.trim());
  }
  const findings: string[] = [];
  if (codes.length === 0) findings.push(`${source.path}: no ErrorCode union found`);
  for (const code of codes) {
    const advice = rows.get(code);
    if (advice === undefined) findings.push(`${doc.path}: ${code} has no row`);
    else if (!/^[A-Z`].{15,}\.$/.test(advice)) {
      findings.push(`${doc.path}: ${code} has no sentence that says what to do`);
    }
  }
  for (const code of rows.keys()) {
    if (!codes.includes(code)) findings.push(`${doc.path}: ${code} is not in the union`);
  }
  return findings;
}
