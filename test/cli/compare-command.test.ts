/** `ema compare` as a command: options, seeds, what goes to stdout and stderr, exit codes. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import { registerCompare } from "../../src/cli/compare-command.ts";
import { compareSchema, type CompareJson } from "../../src/report/compare-schema.ts";
import type { Simulator } from "../../src/report/index.ts";
import { engineRecord, runRecord } from "../report/fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "ema-compare-"));
const scenarioFile = join(folder, "two.yaml");
const traceFile = join(folder, "trace.csv");
writeFileSync(
  scenarioFile,
  [
    "server: 2xa100-40g",
    "seed: 7",
    "systems: [static, ema]",
    "engines:",
    "  - name: chat",
    "    gpus: [0]",
    "    model: OPT-13B",
    "    tenant: a",
    "    workload: { arrivals: poisson, rate: 1, seconds: 10, lengths: alpaca }",
    "  - { name: idle, gpus: [1], model: OPT-13B, tenant: b }",
  ].join("\n"),
);
writeFileSync(
  traceFile,
  "TIMESTAMP,ContextTokens,GeneratedTokens\n" +
    "2023-11-16 18:17:03.9799600,100,10\n2023-11-16 18:17:05.0000000,100,10\n",
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let stdout = "";
let stderr = "";
beforeEach(() => {
  stdout = "";
  stderr = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((stdout += String(text)), true));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((stderr += String(text)), true));
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** Runs every system as two idle engines named like the scenario's. */
const still: Simulator = {
  admissionSettings: [{ name: "present need", growthShare: 0 }],
  simulate: (scenario, system, seed) => {
    const engines = scenario.engines.map(({ name, gpuIndex }) => engineRecord({ name, gpuIndex }));
    return runRecord({ system: system.name, seed, engines });
  },
};

async function run(words: readonly string[], simulator: Simulator = still): Promise<void> {
  const program = new Command("ema").exitOverride().configureOutput({ outputError: () => {} });
  registerCompare(program, simulator);
  await program.parseAsync(["node", "ema", "compare", ...words]);
}

async function runJson(...words: string[]): Promise<CompareJson> {
  await run([...words, "--json"]);
  return JSON.parse(stdout) as CompareJson;
}

describe("output", () => {
  it("with --json is one object that holds to the schema, and nothing else", async () => {
    const json = await runJson(scenarioFile);
    expect(compareSchema.safeParse(json).success).toBe(true);
    expect(Object.keys(json.systems)).toEqual(["static", "ema"]);
  });

  it("else is the table and the verdict, without colours where there is no terminal", async () => {
    await run([scenarioFile]);
    expect(stdout).toContain("two: 2 x A100");
    expect(stdout).toMatch(/No: ema gives no engine more than static/);
    expect(stdout).not.toContain("\u001b");
  });

  it("goes into a page with --report, which is said on stderr", async () => {
    const page = join(folder, "out.html");
    await run([scenarioFile, "--json", "--report", page]);
    expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>/);
    expect(stderr).toContain(`note: wrote ${page}`);
    expect(stdout.startsWith("{")).toBe(true);
  });

  it("shows no progress when it ends in under a second", async () => {
    await run([scenarioFile, "--json"]);
    expect(stderr).toBe("");
  });
});

describe("seeds", () => {
  it("are three from the scenario's first when requests are drawn", async () => {
    expect((await runJson(scenarioFile)).seeds).toEqual([7, 8, 9]);
  });

  it("follow --seed and --repeat", async () => {
    expect((await runJson(scenarioFile, "--seed", "40", "--repeat", "2")).seeds).toEqual([40, 41]);
  });

  it("is one when all requests are from traces", async () => {
    const words = ["--server", "2xa100-40g", "--model", "OPT-13B", "--trace", traceFile];
    const json = await runJson(...words);
    expect(json.seeds).toHaveLength(1);
    expect(Object.keys(json.systems["ema"]!.engines)).toEqual(["gpu0", "gpu1"]);
  });
});

describe("--systems", () => {
  it("chooses, in the order given; a base that the scenario does not list is known", async () => {
    const json = await runJson(scenarioFile, "--systems", "double,static");
    expect(Object.keys(json.systems)).toEqual(["double", "static"]);
  });

  it("refuses an unknown name with the nearest", async () => {
    await expect(run([scenarioFile, "--systems", "statik"])).rejects.toThrow(/statik.*static/);
    expect(process.exitCode).toBeUndefined();
  });
});

describe("bad input", () => {
  it.each([
    [[], /--server and --model missing/],
    [["--server", "2xa100-40g"], /--model missing/],
    [[scenarioFile, "--server", "2xa100-40g"], /--server does not go with a scenario/],
    [[scenarioFile, "--seed", "-1"], /--seed "-1": expected a whole number/],
    [[scenarioFile, "--seed", "1e3"], /expected a whole number/],
    [[scenarioFile, "--repeat", "0"], /--repeat "0": expected a whole number from 1/],
    [[scenarioFile, "--repeat", "3.5"], /expected a whole number/],
    [[join(folder, "none.yaml")], /none\.yaml/],
    [[scenarioFile, "--report", join(folder, "no", "out.html")], /cannot be written/],
  ])("%j is one line and no stack trace", async (words, message) => {
    await expect(run(words)).rejects.toThrow(message);
    await expect(run(words)).rejects.toThrow(EmaError);
    expect(stdout).toBe("");
  });
});

describe("an unwritable --report", () => {
  it("is found before anything runs", async () => {
    const simulate = vi.fn<Simulator["simulate"]>(still.simulate);
    for (const path of [join(folder, "no", "out.html"), folder]) {
      const words = [scenarioFile, "--report", path];
      await expect(run(words, { ...still, simulate })).rejects.toThrow(/cannot be written/);
    }
    expect(simulate).not.toHaveBeenCalled();
  });
});

describe("a system that cannot run", () => {
  it("ends with exit code 3 and one line on stderr", async () => {
    const failing: Simulator = {
      ...still,
      simulate: () => {
        throw new EmaError("E_SYSTEM", "ema: the ring does not fit");
      },
    };
    await run([scenarioFile, "--json"], failing);
    expect(process.exitCode).toBe(3);
    expect(stderr).toBe("ema: ema: the ring does not fit\n");
    expect(stdout).toBe("");
  });

  it("does not hide a bug", async () => {
    const broken: Simulator = {
      ...still,
      simulate: () => {
        throw new TypeError("bug");
      },
    };
    await expect(run([scenarioFile], broken)).rejects.toThrow(TypeError);
  });
});
