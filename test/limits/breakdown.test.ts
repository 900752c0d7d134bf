/** The way from a limit to simulated tokens: its stages begin and end where they should. */

import { describe, expect, it } from "vitest";
import { inputsOfScenario } from "../../src/cli/limits-scenario.ts";
import { practicalLimit } from "../../src/limits/index.ts";
import { readScenario } from "../../src/scenario/index.ts";
import { ADMISSION_SETTINGS } from "../../src/sim/index.ts";
import { breakdown } from "../../tools/headline-breakdown.ts";
import { stepLedger } from "../../tools/step-ledger.ts";

const PATH = "scenarios/idle-a100-40-conv.yaml";
const source = { set: ["engines.borrower.workload.seconds=200"], traces: [] };
const scenario = readScenario(PATH, source);
const cap = { kind: "share" as const, share: 1 };
const choice = { mode: null, cap, peers: null };
const inputs = inputsOfScenario(PATH, source, "borrower", choice).practical;
const limit = practicalLimit(inputs);

describe.each(["static", "ema"])("the breakdown of %s", (name) => {
  const system = scenario.systems.find((one) => one.name === name)!;
  const run = stepLedger(scenario, system, scenario.seed, ADMISSION_SETTINGS[0]!, 0);
  const asked = name === "static" ? limit.static : limit;
  const parts = breakdown(inputs, asked, run);

  it("begins with the limit and ends with what was simulated", () => {
    expect(parts[0]!.tokensPerSecond).toBe(asked.tokensPerSecond);
    expect(parts.at(-1)!.tokensPerSecond).toBeCloseTo(run.tokensPerSecond, 6);
  });

  it("adds up steps whose tokens are those that the recorder counts", () => {
    const { sums, tokensPerSecond } = run;
    expect(sums.tokens).toBe(Math.round((tokensPerSecond * sums.windowNs) / 1e9));
    expect(sums.usedBlocks).toBeLessThanOrEqual(sums.capacityBlocks);
    expect(sums.decodeNs).toBeLessThanOrEqual(sums.localNs);
    expect(sums.stepNs).toBeLessThanOrEqual(sums.windowNs * 1.01);
  });

  it("charges no quantity with a gain or a loss of a tenth", () => {
    for (const [index, { name: part, tokensPerSecond }] of parts.entries()) {
      if (index === 0) continue;
      const change = tokensPerSecond / parts[index - 1]!.tokensPerSecond - 1;
      expect(Math.abs(change), part).toBeLessThan(0.1);
    }
  });
});
