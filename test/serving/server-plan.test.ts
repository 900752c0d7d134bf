// Sizes of emulated servers are those that the documents promise.

import { describe, expect, it } from "vitest";
import { weightLayout } from "../../src/model/index.ts";
import { ServerPlan } from "../../src/serving/server-plan.ts";
import type { ServedServerOptions } from "../../src/serving/index.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";

const MIB = 1 << 20;
const config = { ...tinyConfig(5), hidden: 64, heads: 8, kvHeads: 4, headDim: 8, ffn: 172 };
const checkpoint = {
  name: "tiny",
  config,
  weights: tinyWeights(1),
  tokenizer: null as never,
  chatTemplate: null,
};

function planOf(deviceBytes: readonly number[], more: Partial<ServedServerOptions> = {}) {
  return new ServerPlan({ deviceBytes, checkpoint, ...more });
}

describe("the plan of a server of emulated devices", () => {
  it("takes a 256th of a device as slice, and 0.9 of it less the weights as KV", () => {
    const plan = planOf([64 * MIB, 64 * MIB]);
    expect(plan.layout.sliceBytes).toBe(256 * 1024);
    const weights = Math.ceil(weightLayout(config).totalBytes / 65_536) * 65_536;
    const slices = Math.floor((0.9 * 64 * MIB - weights) / (256 * 1024));
    expect(plan.ownSlices).toStrictEqual([slices, slices]);
    expect(plan.layout.blocksPerSlice).toBe(Math.floor((256 * 1024) / plan.layout.blockBytes));
  });

  it("rounds slices up to pages, and to one block at least", () => {
    expect(planOf([20 * MIB]).layout.sliceBytes).toBe(2 * 65_536);
    const wide = { ...config, kvHeads: 8, headDim: 128 };
    const plan = planOf([64 * MIB], { checkpoint: { ...checkpoint, config: wide } });
    expect(plan.layout.blocksPerSlice).toBe(1);
    expect(plan.layout.sliceBytes % 65_536).toBe(0);
    expect(plan.layout.sliceBytes).toBeGreaterThanOrEqual(plan.layout.blockBytes);
  });

  it("has one engine a device of one tenant, and may borrow as much as it owns", () => {
    const plan = planOf([64 * MIB, 64 * MIB, 64 * MIB]);
    expect(plan.engines.map(({ device }) => device)).toStrictEqual([0, 1, 2]);
    expect(plan.hasTenants).toBe(false);
    expect(plan.borrowLimitSlices(1)).toBe(plan.ownSlices[1]);
    expect(planOf([64 * MIB], { isElastic: false }).borrowLimitSlices(0)).toBe(0);
  });

  it("makes batches smaller rather than give the KV's memory away", () => {
    const plan = planOf([4 * MIB]);
    expect(plan.limits.maxBatchTokens).toBeLessThan(2048);
    expect(planOf([64 * MIB]).limits.maxBatchTokens).toBe(2048);
  });

  it("says in bytes why a model does not fit", () => {
    expect(() => planOf([MIB / 2])).toThrow(/no room for KV beside .* of weights/);
  });
});
