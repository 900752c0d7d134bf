/** The cost model of a kernel profile on small tables, where each answer can be worked out. */

import { describe, expect, it } from "vitest";
import { createProfileCostModel, type CostModel } from "../../src/hardware/index.ts";

const DENSE = ["qkv_proj", "o_proj", "down_proj", "layernorm", "final_layernorm"]
  .flatMap((layer) => [`${layer},1,10`, `${layer},64,20`, `${layer},128,40`])
  .join("\n");
const ATTENTION = [
  ...["0,0,1,100,10", "0,0,1,200,20", "0,0,2,100,30", "0,0,2,200,50", "0,0,4,100,40"],
  ...["0,0,4,200,60", "64,0,0,0,8", "64,0,2,100,60", "64,0,2,200,90", "64,100,0,0,9"],
  ...["64,100,2,100,70", "64,100,2,200,100", "128,0,0,0,20", "128,0,2,100,100"],
  ...["128,0,2,200,140"],
].join("\n");
const SKEW = [
  "0,n<=2,sr<=70%,kvB<=1k,kp=0,0.5,2",
  "0,n<=4,sr<=70%,kvB<=1k,kp=0,0.1,2",
  "0,n<=2,sr<=70%,kvB<=4k,kp=0,0.9,2",
].join("\n");

function model(skew: string | null = null, graphTokensMax = 0): CostModel {
  const of = (header: string, rows: string) => ({ file: "t.csv", text: `${header}\n${rows}\n` });
  return createProfileCostModel(
    {
      dense: of("layer,tokens,time_us", DENSE),
      attention: of("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us", ATTENTION),
      perSequence: of("layer,sequences,time_us", "lm_head,1,100\nlm_head,3,300\nsampler,1,5"),
      skew:
        skew === null
          ? null
          : of("pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples", skew),
    },
    { layers: 2, hbmBytesPerSecond: 1e12, hostNs: 0, promptHostNs: 7, graphTokensMax },
  );
}

function shape(decodes: readonly number[], chunks: readonly (readonly [number, number])[] = []) {
  return {
    decodeSequences: decodes.length,
    decodeTokens: decodes.reduce((sum, tokens) => sum + tokens, 0),
    decodeTokensMin: decodes.length > 0 ? Math.min(...decodes) : 0,
    decodeTokensMax: Math.max(0, ...decodes),
    chunkCount: chunks.length,
    chunkTokens: Int32Array.from(chunks, ([tokens]) => tokens),
    chunkPastTokens: Int32Array.from(chunks, ([, past]) => past),
  };
}

describe("a layer", () => {
  it("is read off at the next size measured, norms twice, what runs once a step shared out", () => {
    // Three products and two norms, and half of the final norm for each of two layers.
    expect(model().linearLayerNs(1)).toBe(5.5 * 10_000);
    expect(model().linearLayerNs(2)).toBe(5.5 * 20_000);
    expect(model().linearLayerNs(64)).toBe(5.5 * 20_000);
    expect(model().linearLayerNs(65)).toBe(5.5 * 40_000);
    expect(model().linearLayerNs(256)).toBe(5.5 * 80_000);
    expect(model().linearLayerNs(0)).toBe(0);
  });

  it("of a captured graph is that of the padded batch", () => {
    expect(model(null, 0).linearLayerNs(1)).toBe(model(null, 512).linearLayerNs(1));
    expect(model(null, 512).linearLayerNs(63)).toBe(5.5 * 20_000);
    expect(model(null, 512).linearLayerNs(122)).toBe(5.5 * 40_000);
  });

  it("has a head by sequences", () => {
    expect(model().headNs(2)).toBe(205_000);
    expect(model().headNs(0)).toBe(0);
  });
});

describe("attention of a step", () => {
  const of = (...args: Parameters<typeof shape>): number =>
    model().stepAttentionLayerNs!(shape(...args));

  it("is linear between points of each axis", () => {
    expect(of([100, 100])).toBe(30_000);
    expect(of([150, 150])).toBe(40_000);
    expect(of([150, 150, 150])).toBe(45_000);
    expect(of([100, 100], [[96, 0]])).toBe(80_000);
    expect(of([150, 150], [[64, 50]])).toBe(80_000);
  });

  it("goes on beyond the last point and holds below the first", () => {
    expect(of([300])).toBe(30_000);
    expect(of([10])).toBe(10_000);
    expect(of([])).toBe(0);
  });

  it("adds further prompts as what they take alone, less one launch", () => {
    const launch = model().prefillAttentionLayerNs(1, 0);
    const alone = model().prefillAttentionLayerNs(64, 0);
    expect(of([100, 100], [[64, 0], [128, 0]])).toBe(100_000 + Math.max(0, alone - launch));
  });
});

describe("unequal contexts", () => {
  const at = (...contexts: number[]): number => model(SKEW).stepAttentionLayerNs!(shape(contexts));

  it("move the time from the mean's towards the largest one's", () => {
    // Mean 150 costs 40 us, 200 costs 50, alpha is a half.
    expect(at(100, 200)).toBeCloseTo(45_000, 6);
    expect(at(150, 150)).toBe(40_000);
  });

  it("count between the sizes that were measured, not by steps", () => {
    // Three decodes lie halfway between two and four: alpha 0.3.
    const [meanNs, mostNs] = [45_000, 55_000];
    expect(at(100, 150, 200)).toBeCloseTo(meanNs + 0.3 * (mostNs - meanNs), 6);
    // One token more than 1024 changes next to nothing.
    expect(Math.abs(at(100, 1025) / at(100, 1024) - 1)).toBeLessThan(0.01);
  });
});

it("a step with prompts waits for the host, one without does not", () => {
  expect(model().hostNs).toBe(0);
  expect(model().promptHostNs).toBe(7);
});
