/**
 * The public vLLM run on an RTX PRO 6000 against its replay: the goals that the project holds
 * itself to, and what is listed as assumed.
 */

import { dirname } from "node:path";
import { expect, it } from "vitest";
import { validate, type StatisticName, type Validation } from "../../src/validation/index.ts";
import { sharedDataPath } from "../shared-data.ts";

const requestsPath = sharedDataPath(
  "llmservingsim/bench_RTXPRO6000_Llama-3.1-8B_requests.jsonl",
);
const metaPath = sharedDataPath("llmservingsim/bench_RTXPRO6000_Llama-3.1-8B_meta.json");
const isMissing = requestsPath === null || metaPath === null;

/** Percent, with tables of the pair itself; docs/EXPERIMENTS.md says what stands behind them. */
const GOALS: Readonly<Record<StatisticName, number>> = {
  ttftMean: 4,
  ttftP50: 8,
  ttftP90: 4,
  ttftP99: 4,
  tpotMean: 1,
  tpotP50: 3,
  tpotP90: 3,
  tpotP99: 3,
  latencyMean: 1,
  latencyP50: 3,
  latencyP90: 3,
  latencyP99: 3,
};

function run(isProfiled: boolean, gpu: string | null = null): Validation {
  return validate({
    requestsPath: requestsPath!,
    metaPath: metaPath!,
    profileFolder: isProfiled ? dirname(metaPath!) : null,
    profileName: isProfiled ? "RTXPRO6000_Llama-3.1-8B" : null,
    gpu,
    blockCount: null,
  });
}

function errorsOf(validation: Validation): [StatisticName, number][] {
  return Object.entries(validation.statistics).map(([name, { errorPercent }]) => {
    expect(errorPercent).not.toBeNull();
    return [name as StatisticName, errorPercent!];
  });
}

it.skipIf(isMissing)("a replay on the pair's own tables is within the goals", () => {
  const validation = run(true);
  expect(validation.requests).toBe(300);
  expect(validation.assumed).toMatchObject({ async_scheduling: true, gpu: "rtx-pro-6000" });
  for (const [name, percent] of errorsOf(validation)) {
    expect(Math.abs(percent), name).toBeLessThan(GOALS[name]);
  }
});

it.skipIf(isMissing)("a replay on the catalogue's model is within 10 %", () => {
  for (const [name, percent] of errorsOf(run(false, "rtx-pro-6000"))) {
    expect(Math.abs(percent), name).toBeLessThan(10);
  }
});

it.skipIf(isMissing)("the real side is the log's own, as its summary has it", () => {
  const { statistics } = run(true);
  expect(statistics.ttftMean.real).toBeCloseTo(7.0972, 3);
  expect(statistics.ttftP50.real).toBeCloseTo(9.4427, 3);
  expect(statistics.tpotP99.real).toBeCloseTo(0.0373, 4);
  expect(statistics.latencyP90.real).toBeCloseTo(35.4507, 3);
});

it.skipIf(isMissing)("the same files give the same numbers", () => {
  expect(run(true)).toEqual(run(true));
});
