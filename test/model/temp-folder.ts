/** Folders for the files that a test writes, gone when the test has ended. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export function tempFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "ema-model-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
