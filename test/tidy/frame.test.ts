/** Tests of the frame: what a clone installs, where test data lies, how a run closes. */

import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";

import { expect, it } from "vitest";

import { summaryLine } from "../../tools/test-summary.ts";
import { findSharedData, sharedDataPath } from "../shared-data.ts";
import { checkLockFile, type LockFile } from "./package-rules.ts";
import { listTree } from "./tree.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(resolve(root, path), "utf8");

it("the lock file is complete and names no registry", () => {
  expect(checkLockFile(JSON.parse(read("package-lock.json")) as LockFile)).toEqual([]);
});

it("a lock file that lacks a package, or names a registry, is found", () => {
  const a = { dependencies: { b: "1" }, optionalDependencies: { c: "1" } };
  const project = { dependencies: { a: "1" } };
  const nested = { "": project, "node_modules/a": a, "node_modules/a/node_modules/b": {} };
  expect(checkLockFile({ packages: nested })).toEqual([
    "package-lock.json: node_modules/a wants c, which is not locked",
  ]);
  expect(checkLockFile({ packages: { ...nested, "node_modules/c": {} } })).toEqual([]);
  expect(checkLockFile({ packages: { "": { devDependencies: { d: "1" } } } })).toHaveLength(1);
  expect(checkLockFile({ packages: { "node_modules/a": { resolved: "x" } } })).toHaveLength(1);
});

it("README's two commands are single lines that package.json can run", () => {
  const { scripts, license } = JSON.parse(read("package.json")) as {
    scripts: Record<string, string>;
    license: string;
  };
  const lines = read("README.md").split("\n");
  expect(lines).toContain("npm ci && npm start");
  expect(lines).toContain("npm ci && npm test");
  for (const name of ["prepare", "start", "test"]) expect(scripts).toHaveProperty(name);
  expect(license).toBe("Apache-2.0");
  expect(read("LICENSE")).toContain("Apache License\n                           Version 2.0");
});

it(".ci/run is executable", () => {
  expect(statSync(resolve(root, ".ci/run")).mode & 0o111).not.toBe(0);
});

it("the tree is the same with git and without it", () => {
  const walked = new Set(listTree(false));
  expect(listTree().filter((path) => !walked.has(path))).toEqual([]);
  expect([...walked].filter((path) => /^(?:node_modules|dist|\.git)\//.test(path))).toEqual([]);
});

it("shared data that exists has a path, whatever CI says", () => {
  expect(findSharedData(import.meta.dirname, "tree.ts", "true")).toContain("tree.ts");
  expect(findSharedData(import.meta.dirname, "tree.ts", undefined)).toContain("tree.ts");
});

it("shared data that is missing is null for a developer", () => {
  for (const ci of [undefined, "", "0", "false"]) {
    expect(findSharedData(import.meta.dirname, "gone.csv", ci)).toBeNull();
  }
});

it("shared data that is missing is an error under CI, and says where to look", () => {
  const find = () => findSharedData("/data", "gone.csv", "true");
  expect(find).toThrow(/test data missing: .*gone\.csv.*docs\/TESTING\.md/);
});

it("shared data lies beside the checkout", () => {
  const path = sharedDataPath(".");
  if (path !== null) expect(path.replaceAll("\\", "/")).toMatch(/\/shared\/data\/?$/);
});

it("the summary counts tests, and a file that did not load as one failure", () => {
  const results = (...statuses: string[]) => statuses.map((status) => ({ status }));
  const passed = { status: "passed", assertionResults: results("passed", "passed", "pending") };
  const failed = { status: "failed", assertionResults: results("failed", "passed") };
  const broken = { status: "failed", assertionResults: [] };
  expect(summaryLine({ testResults: [passed] })).toBe("2 passed, 0 failed, 1 skipped");
  expect(summaryLine({ testResults: [failed] })).toBe("1 passed, 1 failed");
  expect(summaryLine({ testResults: [broken, failed] })).toBe("1 passed, 2 failed");
});
