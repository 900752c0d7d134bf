/**
 * Where tests find measured tables and public traces that are too large, or not ours, to commit.
 *
 * Called by tests alone, as `it.skipIf(path === null)`. The data lies beside the checkout, in
 * `../shared/data`; docs/TESTING.md says what belongs there and where each part is to be had.
 *
 * Invariant: under CI a missing file is an error, never a silent skip.
 */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const dataFolder = resolve(import.meta.dirname, "../../shared/data");

/**
 * @param relative a path below the data folder: `azure2023/AzureLLMInferenceTrace_conv.csv`.
 * @returns the absolute path, or `null` where the data is absent and `CI` is not set.
 * @throws Error when `CI` is set and the data is absent.
 */
export function sharedDataPath(relative: string): string | null {
  return findSharedData(dataFolder, relative, process.env["CI"]);
}

/** The rule behind `sharedDataPath`; `CI=""`, `0` and `false` count as unset. */
export function findSharedData(
  folder: string,
  relative: string,
  ci: string | undefined,
): string | null {
  const path = join(folder, relative);
  if (existsSync(path)) return path;
  if (ci === undefined || ci === "" || ci === "0" || ci === "false") return null;
  throw new Error(
    `test data missing: ${path}. CI is set, so data tests must not be skipped: put the folder ` +
      `shared/data beside the checkout (docs/TESTING.md names the sources), or unset CI.`,
  );
}
