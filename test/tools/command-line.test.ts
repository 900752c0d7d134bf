// What tools say to words that they cannot use: one line and the usage, never a stack trace.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { admissionSettings, wholeNumber } from "../../tools/command-line.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

function run(tool: string, ...words: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", `${ROOT}${tool}`, ...words],
    { cwd: ROOT, encoding: "utf8" },
  );
  return { status, stdout, stderr: stderr.trimEnd().split("\n") };
}

describe("a tool", () => {
  it("shows its usage when asked to", () => {
    const { status, stdout } = run("tools/goals.ts", "--seeds", "2", "--help");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^npx tsx tools\/goals.ts \[--seeds N\].*\nscenarios: paper-a100-40, /);
  });

  it.each([
    ["an unknown option", ["--seed", "2"], "Unknown option '--seed'"],
    ["no number", ["--seeds", "two"], '--seeds: expected a whole number from 1, got "two"'],
    ["a scenario that is not there", ["nosuch"], "scenarios/nosuch.yaml: no such file"],
  ])("ends with 2 and one line for %s", (_, words, line) => {
    const { status, stderr } = run("tools/interference.ts", ...words);
    expect(status).toBe(2);
    expect(stderr[0]).toBe(line);
    expect(stderr[1]).toMatch(/^usage: npx tsx tools\/interference.ts/);
    expect(stderr).toHaveLength(2);
  });
});

it("numbers are whole and from one", () => {
  expect(wholeNumber("N", "12")).toBe(12);
  for (const text of ["0", "-1", "1.5", "", "x"]) {
    expect(() => wholeNumber("N", text)).toThrow(/N: expected a whole number from 1/);
  }
});

it("admission settings are all of them, or the one named", () => {
  expect(admissionSettings(undefined).length).toBeGreaterThan(1);
  expect(admissionSettings("growth-5").map(({ name }) => name)).toEqual(["growth-5"]);
  expect(() => admissionSettings("growth")).toThrow(/expected one of growth-10, .* got growth/);
});
