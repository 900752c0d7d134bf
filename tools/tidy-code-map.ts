/**
 * Writes the code map of docs/ARCHITECTURE.md: one line a source file, from the file's own header.
 *
 * Run as `npx tsx tools/tidy-code-map.ts` after a file was added, renamed or given another
 * header; a tidy test fails until that is done. It writes between two marks and touches nothing
 * else.
 *
 * The text of a line is the first sentence of the header, so the map cannot say something else than
 * the file does.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { layerOf } from "../test/tidy/layer-rules.ts";
import type { SourceFile } from "../test/tidy/source-text.ts";
import { listTree, readFiles } from "../test/tidy/tree.ts";

const BEGIN = "<!-- code map: written by tools/tidy-code-map.ts -->";
const END = "<!-- end of code map -->";

/** @returns the first sentence of a file's header comment, or an empty text where there is none. */
export function firstSentence(text: string): string {
  const header = /^(?:#!.*\n)?\s*\/\*\*([^]*?)\*\//.exec(text)?.[1] ?? "";
  const lines = header.split("\n").map((line) => line.replace(/^\s*\* ?/, "").trim());
  const start = lines.findIndex((line) => line !== "");
  if (start === -1) return "";
  const end = lines.indexOf("", start);
  const paragraph = lines.slice(start, end === -1 ? undefined : end).join(" ");
  return /^.*?[.?](?=\s|$)/.exec(paragraph)?.[0] ?? paragraph;
}

/** @returns the map as Markdown: a heading a layer with its index.ts, a line a file. */
export function codeMap(files: readonly SourceFile[]): string {
  const lines: string[] = [];
  let layer: string | null = null;
  const isIndex = (path: string): boolean => path === `src/${layerOf(path)}/index.ts`;
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { path, text } of sorted) {
    if (layerOf(path) !== layer) {
      layer = layerOf(path);
      lines.push("", `### \`src/${layer}\``, "");
      const index = files.find((file) => file.path === `src/${layer}/index.ts`);
      if (index !== undefined) lines.push(firstSentence(index.text), "");
    }
    if (!isIndex(path)) lines.push(`- \`${path}\`: ${firstSentence(text)}`);
  }
  return `${lines.join("\n").trim()}\n`;
}

/** @returns the document with its map replaced, or `null` when a mark is missing. */
export function withCodeMap(document: string, map: string): string | null {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin === -1 || end < begin) return null;
  return `${document.slice(0, begin)}${BEGIN}\n\n${map}\n${document.slice(end)}`;
}

const isProgram = import.meta.url === pathToFileURL(process.argv[1] ?? "").href;
if (isProgram) {
  const path = resolve(import.meta.dirname, "../docs/ARCHITECTURE.md");
  const sources = readFiles(listTree().filter((file) => /^src\/.*\.ts$/.test(file)));
  const document = withCodeMap(readFileSync(path, "utf8"), codeMap(sources));
  if (document === null) throw new Error(`${path}: expected the two marks of the code map`);
  writeFileSync(path, document);
}
