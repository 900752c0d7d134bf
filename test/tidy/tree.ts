/**
 * The files of the repository, as the tidy rules read them.
 *
 * Called by tree.test.ts. It asks git, so that ignored files and other people's data are never
 * judged, and walks the folders where there is no git (an unpacked archive).
 */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { SourceFile } from "./source-text.ts";

const root = resolve(import.meta.dirname, "../..");
const SKIPPED = new Set([".git", "node_modules", "dist", "coverage", "out"]);
const TEXT_ENDING = /(?:\.(?:ts|js|mjs|md|ya?ml|json|csv|svg|html)|\/run|LICENSE)$/;

/** Paths of all files, relative to the root, with forward slashes. */
export function listTree(useGit = true): string[] {
  const listed = (useGit ? listByGit() : null) ?? listByWalk("");
  return listed.filter((path) => existsSync(join(root, path))).sort();
}

/** Text files among `paths`; a lock file is a machine's and is left out. */
export function readFiles(paths: readonly string[]): SourceFile[] {
  return paths
    .filter((path) => TEXT_ENDING.test(path) && path !== "package-lock.json")
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

function listByGit(): string[] | null {
  try {
    const options = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const output = execFileSync("git", options, { cwd: root, stdio: ["ignore", "pipe", "ignore"] });
    const paths = output.toString("utf8").split("\0").filter(Boolean);
    return paths.length === 0 ? null : [...new Set(paths)];
  } catch {
    return null; // No git here: the caller walks.
  }
}

function listByWalk(folder: string): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    if (SKIPPED.has(entry.name)) continue;
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) found.push(...listByWalk(path));
    else found.push(path);
  }
  return found;
}
