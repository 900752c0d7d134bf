// Prices follow measured steps: a model that is wrong by a factor is right after some of them.

import { describe, expect, it } from "vitest";
import { StepCost } from "../../src/engine/step-cost.ts";
import type { CostModel } from "../../src/hardware/index.ts";
import { Batch } from "../../src/scheduler/index.ts";

const LAYERS = 3;
const model: CostModel = {
  hbmBytesPerSecond: 1e9,
  hostNs: 100,
  linearLayerNs: (tokens) => 10 * tokens,
  headNs: (sequences) => 5 * sequences,
  decodeAttentionLayerNs: (_sequences, tokens) => tokens,
  prefillAttentionLayerNs: (chunk, past) => chunk * (chunk + past),
  sources: [],
};

function batchOf(tokens: number): Batch {
  const batch = new Batch(4);
  batch.add(0, tokens, 40, true);
  return batch;
}

/** What a batch of so many tokens of one sequence costs with all KV local. */
function priceOf(cost: StepCost, tokens: number): number {
  const compute = cost.blank();
  cost.price(batchOf(tokens), compute);
  return cost.localNs(compute);
}

describe("the price of a step", () => {
  it("is the model's where nothing was measured", () => {
    const cost = new StepCost(model, LAYERS);
    expect(priceOf(cost, 1)).toBe(100 + LAYERS * (10 + 41) + 5);
    expect(priceOf(cost, 8)).toBe(100 + LAYERS * (80 + 8 * 48) + 5);
  });

  it("says what of a layer waits for HBM: weights and the KV of decodes, not what computes", () => {
    const cost = new StepCost(model, LAYERS);
    const hbmNsOf = (batch: Batch): number => {
      const compute = cost.blank();
      cost.price(batch, compute);
      return compute.hbmLayerNs!;
    };
    expect(hbmNsOf(batchOf(1))).toBe(10 + 41);
    expect(hbmNsOf(batchOf(8))).toBe(10);
    const both = batchOf(8);
    both.add(1, 1, 99, true);
    expect(hbmNsOf(both)).toBe(10 + 100);
  });

  it.each([
    ["decodes", false, 1, 8],
    ["prompts", true, 8, 1],
  ])("follows measured steps with %s alone", (_, hasPrompts, tokens, others) => {
    const cost = new StepCost(model, LAYERS);
    const [before, untouched] = [priceOf(cost, tokens), priceOf(cost, others)];
    for (let step = 0; step < 200; step++) {
      const compute = cost.blank();
      cost.price(batchOf(tokens), compute);
      cost.correct(hasPrompts, compute, 3 * before);
    }
    expect(priceOf(cost, tokens)).toBeCloseTo(3 * before, 1);
    expect(priceOf(cost, others)).toBe(untouched);
    const imagined = cost.localNs(cost.decodeStep(1, 41));
    expect(imagined).toBeCloseTo((hasPrompts ? 1 : 3) * (100 + LAYERS * (10 + 41) + 5), 1);
  });

  it("is moved little by a lone slow step", () => {
    const cost = new StepCost(model, LAYERS);
    const before = priceOf(cost, 1);
    const compute = cost.blank();
    cost.price(batchOf(1), compute);
    cost.correct(false, compute, 1e12);
    expect(priceOf(cost, 1)).toBeLessThan(1.5 * before);
  });
});
