/** Layer groups as engines choose them, and the ring that a loan brings with it. */

import { expect, it } from "vitest";
import { groupLayersFor, LoanForecast, payloadBytes } from "../../src/engine/loan-forecast.ts";
import { StepCost } from "../../src/engine/step-cost.ts";
import type { AccessMode } from "../../src/prefetch/index.ts";
import type { EngineOptions } from "../../src/engine/engine-options.ts";
import { createCostModel } from "../../src/hardware/index.ts";
import { createKvLayout } from "../../src/kvcache/index.ts";
import { quickScenario } from "../../src/scenario/index.ts";

/** The options that count, of a borrower that may hold so many times its own memory of others. */
function chosen(server: string, model: string, times: number, more: object = {}): number {
  const scenario = quickScenario({ server, model, traces: [], set: [] });
  const gpu = scenario.topology.gpus[0]!;
  const shape = scenario.engines[0]!.model;
  const layout = createKvLayout(shape.kvBytesPerToken, shape.layers, 16, 64 * 1024 * 1024);
  const ownSlices = model === "OPT-13B" ? 123 : 66;
  const options = {
    isElastic: true,
    layout,
    cost: createCostModel(gpu, shape),
    ownSlices,
    borrowSlicesMax: times * ownSlices,
    link: { portBytesPerSecond: gpu.portBytesPerSecond, copyCostNs: 2300, latencyNs: 7500 },
    accessMode: "mixed",
    maxSequences: 256,
    contextTokensMax: shape.contextTokensMax,
    tpotTargetNs: 1e8,
    ...more,
  };
  return groupLayersFor(options as unknown as EngineOptions);
}

it("a capped borrower keeps its ring small: the link has time for single layers", () => {
  expect(chosen("4xa100-40g", "OPT-13B", 1)).toBe(1);
  expect(chosen("4xh100", "Qwen3-32B", 1)).toBe(1);
});

it("one that may borrow much saves copies", () => {
  expect(chosen("4xa100-40g", "OPT-13B", 3)).toBe(2);
  expect(chosen("4xh100", "Qwen3-32B", 3)).toBeGreaterThan(1);
  const dear = { link: { portBytesPerSecond: 376e9, copyCostNs: 9000, latencyNs: 7500 } };
  expect(chosen("4xh100", "Qwen3-32B", 3, dear)).toBeGreaterThan(3);
});

it("who borrows nothing has no groups to choose", () => {
  expect(chosen("4xh100", "Qwen3-32B", 0)).toBe(1);
  expect(chosen("4xh100", "Qwen3-32B", 3, { isElastic: false })).toBe(1);
});

/** Slices of the ring that a step of 32 sequences needs with so many of others. */
function ringSlices(mode: AccessMode, borrowedSlices: number): number {
  const { engines, topology } = quickScenario({
    server: "4xa100-40g",
    model: "OPT-13B",
    traces: [],
    set: [],
  });
  const shape = engines[0]!.model;
  const layout = createKvLayout(shape.kvBytesPerToken, shape.layers, 16, 64 * 1024 * 1024);
  const gpu = topology.gpus[0]!;
  const link = { portBytesPerSecond: gpu.portBytesPerSecond, copyCostNs: 2300, latencyNs: 7500 };
  const forecast = new LoanForecast({ mode, link, layout, groupLayers: 1 });
  const step = new StepCost(createCostModel(gpu, shape), layout.layers).decodeStep(32, 16_384);
  const bytes = forecast.ringPayloadBytes(step, borrowedSlices * payloadBytes(layout));
  return bytes / payloadBytes(layout);
}

it("the first loan brings a slice of the ring with it; direct reads need none", () => {
  expect([0, 1, 2, 100].map((slices) => ringSlices("mixed", slices))).toEqual([0, 1, 1, 3]);
  expect([0, 1].map((slices) => ringSlices("staged", slices))).toEqual([0, 1]);
  expect([0, 1, 100].map((slices) => ringSlices("direct", slices))).toEqual([0, 0, 0]);
});
