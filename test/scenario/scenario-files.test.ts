/** Tests of the committed scenarios: they are what their comments and the documents say. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readScenario, type EngineSettings, type Scenario } from "../../src/scenario/index.ts";
import { sharedDataPath } from "../shared-data.ts";
import { TRACE, write } from "./scenario-fixture.ts";

const scenarios = join(import.meta.dirname, "../../scenarios");
const trace = write("t.csv", TRACE);
const open = (name: string, traces: readonly string[] = []): Scenario =>
  readScenario(join(scenarios, `${name}.yaml`), { set: [], traces });

it("are all read", () => {
  const names = readdirSync(scenarios).map((file) => file.replace(/\.yaml$/, ""));
  expect(names.toSorted()).toEqual([
    "azure-hour",
    "h100-32b",
    "h100-32b-conv",
    "h100-8b",
    "idle-a100-40-conv",
    "idle-h100-32b",
    "idle-h100-32b-conv",
    "long-context",
    "paper-a100-40",
    "paper-a100-40-conv",
    "paper-a100-80",
    "quickstart",
    "recall",
  ]);
  for (const name of names) {
    const scenario = open(name, name === "azure-hour" ? [trace] : []);
    expect(scenario.name).toBe(name);
    expect(scenario.engines.length).toBe(scenario.topology.gpus.length);
    expect(scenario.systems[0]!.base).toBe("static");
    const tenants = new Set(scenario.engines.map(({ tenant }) => tenant));
    expect(tenants.size).toBe(scenario.engines.length);
  }
});

/** Bursts in which requests arrive, as [first, last] seconds; a gap of 60 s parts them. */
function bursts(engine: EngineSettings, seed: number): number[][] {
  const result: number[][] = [];
  for (const arrivalNs of engine.requests(seed).arrivalNs) {
    const at = arrivalNs / 1e9;
    const last = result.at(-1);
    if (last === undefined || at - last[1]! > 60) result.push([at, at]);
    else last[1] = at;
  }
  return result;
}

const bursty = ["paper-a100-40", "paper-a100-40-conv", "h100-32b", "h100-32b-conv"];

describe.each(bursty)("%s", (name) => {
  const [borrower, ...lenders] = open(name).engines;

  it("gives each lender at least 500 requests in bursts of 60 s every 300 s", () => {
    for (const lender of lenders) {
      for (let seed = 1; seed <= 5; seed++) {
        expect(lender.requests(seed).count).toBeGreaterThanOrEqual(500);
        const list = bursts(lender, seed);
        expect(list.length).toBeGreaterThanOrEqual(11);
        for (const [first, last] of list) expect(last! - first!).toBeLessThan(60);
      }
    }
  });

  it("does not align the lenders' bursts", () => {
    const starts = lenders.map((lender) => bursts(lender, 1)[0]![0]!).toSorted((a, b) => a - b);
    for (let index = 1; index < starts.length; index++) {
      expect(starts[index]! - starts[index - 1]!).toBeGreaterThan(30);
    }
  });

  it("keeps arrivals of the borrower until the lenders' last burst", () => {
    const last = (engine: EngineSettings): number => engine.requests(1).arrivalNs.at(-1)! / 1e9;
    for (const lender of lenders) expect(last(lender)).toBeLessThan(last(borrower!) + 1);
  });
});

const idle = ["idle-a100-40-conv", "idle-h100-32b", "idle-h100-32b-conv"];

it.each(idle)("%s has one engine with requests, and a system without a cap", (name) => {
  const { engines, systems } = open(name);
  const counts = engines.map((engine) => engine.requests(1).count);
  expect(counts[0]).toBeGreaterThan(5000);
  expect(counts.slice(1)).toEqual([0, 0, 0]);
  expect(systems.at(-1)!.pool.borrowLimit.kind).toBe("none");
});

it("recall has at least 20 bursts of one lender", () => {
  const [, lender] = open("recall").engines;
  for (let seed = 1; seed <= 5; seed++) {
    expect(bursts(lender!, seed).length).toBeGreaterThanOrEqual(20);
  }
});

it("long-context has one prompt with more KV than its GPU has", () => {
  const scenario = open("long-context");
  expect(scenario.pool.borrowLimit).toEqual({ kind: "none" });
  const { promptTokens } = scenario.engines[0]!.requests(1);
  expect(promptTokens.filter((tokens) => tokens > 17_073).length).toBe(1);
});

const azure = sharedDataPath("azure2023/AzureLLMInferenceTrace_conv.csv");

it.skipIf(azure === null)("azure-hour gives every request to one engine", () => {
  const { engines } = open("azure-hour", [azure!]);
  const counts = engines.map((engine) => engine.requests(1).count);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(19_366);
  expect(counts.slice(0, 3)).toEqual([9684, 4842, 2420]);
  const tokens = engines.flatMap((engine) => [...engine.requests(1).promptTokens]);
  expect(tokens.reduce((sum, count) => sum + count, 0)).toBe(22_361_870);
});
