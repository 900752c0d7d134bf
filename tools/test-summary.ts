/**
 * Prints one plain closing line, `N passed, N failed`, from Vitest's JSON report.
 *
 * Called by .ci/run after the tests, for readers that do not know Vitest's own summary. It does
 * not decide whether the run passed: the exit code is Vitest's. A test file that could not be
 * loaded has no tests to count and counts as one failure, so that the line never looks green when
 * it is not.
 */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** The part of the report that is read here. */
export interface TestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/** @returns `12 passed, 0 failed`, with `, 3 skipped` behind it where tests were skipped. */
export function summaryLine(report: TestReport): string {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const file of report.testResults) {
    let failedInFile = 0;
    for (const { status } of file.assertionResults) {
      if (status === "passed") passed++;
      else if (status === "failed") failedInFile++;
      else skipped++;
    }
    failed += file.status === "failed" ? Math.max(1, failedInFile) : failedInFile;
  }
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

const isProgram = import.meta.url === pathToFileURL(process.argv[1] ?? "").href;
if (isProgram) {
  const path = process.argv[2];
  if (path === undefined) throw new Error("usage: test-summary.ts REPORT.json");
  console.log(summaryLine(JSON.parse(readFileSync(path, "utf8")) as TestReport));
}
