/**
 * The rules of docs/STYLE.md and of the layer table, held against the whole tree.
 *
 * One test a rule; its failure lists every finding as `path:line: what`. That each rule can fail is
 * shown beside it, in layer-rules.test.ts, size-rules.test.ts, rules.test.ts and doc-rules.test.ts.
 */

import { expect, it } from "vitest";

import { codeMap, withCodeMap } from "../../tools/tidy-code-map.ts";
import { checkDocPaths, checkErrorCodes, checkReferences } from "./doc-rules.ts";
import { checkCycles, checkLayers } from "./layer-rules.ts";
import { checkCalls, checkHeaders, checkNames, checkTestFiles, checkWords } from "./rules.ts";
import { checkSizes, type SizeException } from "./size-rules.ts";
import { listTree, readFiles } from "./tree.ts";

/** Breaches that are tolerated, each with its reason. The list may only shrink. */
const SIZE_EXCEPTIONS: readonly SizeException[] = [];

const paths = listTree();
const files = readFiles(paths);
const code = files.filter(({ path }) => /\.[mc]?[tj]s$/.test(path));
const source = code.filter(({ path }) => path.startsWith("src/"));
const documents = files.filter(({ path }) => path.endsWith(".md"));

function file(path: string) {
  return files.find((candidate) => candidate.path === path) ?? { path, text: "" };
}

it("finds the tree at all", () => {
  expect(source.length).toBeGreaterThan(10);
  expect(documents.map(({ path }) => path)).toContain("README.md");
});

it("imports go down the layer table, through an index.ts", () => {
  expect(checkLayers(source)).toEqual([]);
});

it("no file imports itself in a circle", () => {
  expect(checkCycles(code)).toEqual([]);
});

it("every source file says first what it is", () => {
  const judged = code.filter(({ path }) => /^(?:src|test|tools|bench)\//.test(path));
  expect(checkHeaders(judged)).toEqual([]);
});

it("the core takes no time, chance or I/O by itself", () => {
  expect(checkCalls(source)).toEqual([]);
});

it("files, functions and lines are small", () => {
  expect(checkSizes(code, SIZE_EXCEPTIONS)).toEqual([]);
});

it("no file is a drawer", () => {
  expect(checkNames(code)).toEqual([]);
});

it("paths named in documents and in headers exist", () => {
  expect(checkDocPaths([...documents, ...source], paths)).toEqual([]);
});

it("text refers to documents that its reader has", () => {
  expect(checkReferences(files.filter(({ path }) => !path.startsWith("test/tidy/")))).toEqual([]);
});

it("docs/ERRORS.md explains every error code and no other", () => {
  expect(checkErrorCodes(file("src/base/errors.ts"), file("docs/ERRORS.md"))).toEqual([]);
});

it("the code map of docs/ARCHITECTURE.md is what `npx tsx tools/tidy-code-map.ts` writes", () => {
  const { text } = file("docs/ARCHITECTURE.md");
  expect(text).toBe(withCodeMap(text, codeMap(source)));
});

it("the text speaks of the project alone", () => {
  expect(checkWords(files)).toEqual([]);
});

it("every file below test is a test or serves one", () => {
  expect(checkTestFiles(files)).toEqual([]);
});
