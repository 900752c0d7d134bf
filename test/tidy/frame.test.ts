/** Tests of what the tests themselves rest on: the data folder's rule and the closing summary. */

import { expect, it } from "vitest";

import { summaryLine } from "../../tools/test-summary.ts";
import { findSharedData, sharedDataPath } from "../shared-data.ts";

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
