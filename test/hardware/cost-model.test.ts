/** Properties of step times on every GPU, and what whole decode steps come to. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createCostModel,
  findGpu,
  findModel,
  GPU_NAMES,
  type CostModel,
  type ModelShape,
} from "../../src/hardware/index.ts";
import { decodeStep } from "../../tools/calibrate-report.ts";

/** Grouped and multi-head, odd heads and head sizes, more heads than any table has, tiny. */
const MODEL_NAMES = ["Qwen3-32B", "OPT-13B", "Qwen2.5-7B", "Llama-3.1-405B", "Qwen3-0.6B"];
const ODD: ModelShape = {
  ...findModel("Qwen3-0.6B"),
  name: "odd",
  hidden: 576,
  heads: 9,
  kvHeads: 3,
  headDim: 64,
  ffn: 1536,
};
const models = [...MODEL_NAMES.map(findModel), ODD];
const costs: readonly CostModel[] = GPU_NAMES.flatMap((gpu) =>
  models.map((model) => createCostModel(findGpu(gpu), model)),
);

type Measure = (cost: CostModel, first: number, second: number) => number;

const MEASURES: readonly (readonly [name: string, measure: Measure])[] = [
  ["linearLayerNs", (cost, tokens) => cost.linearLayerNs(tokens)],
  ["headNs", (cost, sequences) => cost.headNs(sequences)],
  ["decodeAttentionLayerNs", (cost, first, second) => cost.decodeAttentionLayerNs(first, second)],
  ["prefillAttentionLayerNs", (cost, first, second) => cost.prefillAttentionLayerNs(first, second)],
];

/** Spread over decades, whole or not. */
const count = fc
  .tuple(fc.double({ min: 0, max: 22, noNaN: true }), fc.boolean())
  .map(([power, isWhole]) => (isWhole ? Math.round(2 ** power) : 2 ** power));
const anyCost = fc.constantFrom(...costs);

/** Interpolation rounds in the last place: a part in 2^40 is not a dip. */
const ROUNDING = 1 - 2 ** -40;

describe.each(MEASURES)("%s", (name, measure) => {
  it("is finite, positive, and rises with each argument", () => {
    fc.assert(
      fc.property(anyCost, count, count, count, (cost, first, second, more) => {
        const ns = measure(cost, first, second);
        expect(Number.isFinite(ns) && ns > 0).toBe(true);
        expect(measure(cost, first + more, second)).toBeGreaterThanOrEqual(ns * ROUNDING);
        expect(measure(cost, first, second + more)).toBeGreaterThanOrEqual(ns * ROUNDING);
      }),
      { numRuns: 3000 },
    );
  });

  it("rises from each whole number to the next", () => {
    for (const cost of costs) {
      const dips: number[] = [];
      let before = 0;
      for (let tokens = 1; tokens <= 4200; tokens++) {
        const ns = measure(cost, tokens, 8 * 4200);
        if (!(ns >= before * ROUNDING)) dips.push(tokens);
        before = ns;
      }
      expect(dips).toEqual([]);
    }
  });

  it("is zero for nothing", () => {
    for (const cost of costs) {
      expect(measure(cost, 0, 0)).toBe(0);
      expect(measure(cost, 0, 100)).toBe(0);
    }
    if (name === "decodeAttentionLayerNs") {
      for (const cost of costs) expect(measure(cost, 4, 0)).toBe(0);
    }
  });
});

describe("a decode step with KV memory full", () => {
  // The closed form reads weights and KV at B and adds 3 ms. Kernels have costs of their own, and
  // GEMMs of small batches read at less than B, so a step takes longer, by up to a seventh.
  it.each([
    ["a100-40g", "OPT-13B", 512],
    ["a100-40g", "OPT-13B", 1024],
    ["a100-80g", "Qwen3-32B", 1024],
    ["h100", "Qwen3-32B", 1024],
    ["h100", "CodeLlama-34B", 1024],
    ["h100", "Qwen2.5-14B", 2048],
    ["h100", "Llama-3.1-8B", 2048],
    ["h200", "Qwen3-32B", 2048],
  ])("on %s with %s at %i is within 15 % of the closed form", (gpu, model, context) => {
    const step = decodeStep(gpu, model, context);
    expect(step.stepMs / step.closedFormMs).toBeGreaterThan(1);
    expect(step.stepMs / step.closedFormMs).toBeLessThan(1.15);
    expect(step.achievedBytesPerSecond).toBeLessThan(findGpu(gpu).hbmPeakBytesPerSecond);
  });
});

describe("physical bounds", () => {
  it("hold: no layer computes faster than the data sheet, nor reads its weights faster", () => {
    const peakFlops: Record<string, number> = {
      "a100-40g": 312e12,
      "a100-80g": 312e12,
      h100: 989e12,
      h200: 989e12,
      l40s: 362e12,
      // The data sheet says 165; its measured products pass that by 1 to 2 %.
      "rtx-4090": 1.03 * 165e12,
      "rtx-pro-6000": 504e12,
    };
    for (const gpuName of GPU_NAMES) {
      const gpu = findGpu(gpuName);
      for (const model of models.filter((candidate) => candidate.hidden >= 4096)) {
        const cost = createCostModel(gpu, model);
        const query = model.heads * model.headDim;
        const key = model.kvHeads * model.headDim;
        const ffn = (model.isFfnGated ? 3 : 2) * model.ffn;
        const weights = model.hidden * (2 * query + 2 * key + ffn);
        const byteNs = (2 * weights * 1e9) / gpu.hbmPeakBytesPerSecond;
        const flopNs = (2 * 4096 * weights * 1e9) / peakFlops[gpuName]!;
        expect(cost.linearLayerNs(1)).toBeGreaterThan(byteNs);
        expect(cost.linearLayerNs(4096)).toBeGreaterThan(flopNs);
        expect(cost.linearLayerNs(4096)).toBeLessThan(1.6 * flopNs);
        const kvNs = (1e6 * 4 * key * 1e9) / gpu.hbmPeakBytesPerSecond;
        expect(cost.decodeAttentionLayerNs(256, 1e6)).toBeGreaterThan(kvNs);
        expect(cost.decodeAttentionLayerNs(256, 1e6)).toBeLessThan(1.6 * kvNs);
      }
    }
  });

  it("hold for slower memory: A100-40 is slower than A100-80, by no more than their HBM", () => {
    const model = findModel("OPT-13B");
    const slow = createCostModel(findGpu("a100-40g"), model);
    const fast = createCostModel(findGpu("a100-80g"), model);
    const ratio = slow.linearLayerNs(16) / fast.linearLayerNs(16);
    expect(ratio).toBeGreaterThan(1.2);
    expect(ratio).toBeLessThanOrEqual(2039 / 1555);
    const attention = slow.decodeAttentionLayerNs(20, 1e4) / fast.decodeAttentionLayerNs(20, 1e4);
    expect(attention).toBeGreaterThan(1.1);
    expect(attention).toBeLessThanOrEqual(2039 / 1555 + 1e-9);
    expect(slow.prefillAttentionLayerNs(2048, 0)).toBe(fast.prefillAttentionLayerNs(2048, 0));
  });

  it("make the last chunk of a prompt cost about what the whole does without it", () => {
    for (const gpuName of GPU_NAMES) {
      const cost = createCostModel(findGpu(gpuName), findModel("Qwen3-32B"));
      const chunked = cost.prefillAttentionLayerNs(2048, 6144);
      const whole = (tokens: number): number => cost.prefillAttentionLayerNs(tokens, 0);
      const ratio = chunked / (whole(8192) - whole(6144));
      expect(ratio).toBeGreaterThan(0.75);
      expect(ratio).toBeLessThan(1.3);
    }
  });
});

describe("sources", () => {
  const kinds = (gpu: string, model: string): Record<string, string> =>
    Object.fromEntries(
      createCostModel(findGpu(gpu), findModel(model)).sources.map((source) => [
        source.part,
        source.kind,
      ]),
    );

  it("say what was measured and what was not, a sentence each", () => {
    const rest = { head: "roofline", host: "assumed" };
    const measured = { linear: "measured", "decode-attention": "measured" };
    expect(kinds("h100", "Qwen3-32B")).toEqual({
      ...measured,
      "prefill-attention": "measured",
      ...rest,
    });
    expect(kinds("a100-80g", "OPT-13B")).toMatchObject({ "decode-attention": "scaled" });
    expect(kinds("a100-40g", "Qwen3-32B")).toMatchObject({
      linear: "scaled",
      "decode-attention": "scaled",
      "prefill-attention": "scaled",
    });
    expect(kinds("l40s", "Llama-3.1-8B")).toMatchObject({
      linear: "roofline",
      "decode-attention": "roofline",
      "prefill-attention": "roofline",
    });
    for (const cost of costs) {
      expect(cost.sources).toHaveLength(5);
      for (const source of cost.sources) expect(source.note).toMatch(/^[A-Z0-9].*\.$/);
      expect(cost.hostNs).toBe(3e6);
    }
  });
});
