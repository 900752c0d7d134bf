/** Small configs, by hand and by draw, for tests that run whole models. */

import fc from "fast-check";
import type { ModelConfig, RopeScaling } from "../../src/model/index.ts";

export function smallConfig(changes: Partial<ModelConfig> = {}): ModelConfig {
  return {
    layers: 2,
    hidden: 16,
    heads: 4,
    kvHeads: 2,
    headDim: 4,
    ffn: 24,
    vocab: 40,
    contextTokensMax: 64,
    normEps: 1e-5,
    ropeTheta: 10_000,
    ropePairs: "neighbours",
    ropeScaling: { kind: "none" },
    isTied: false,
    ...changes,
  };
}

const positive = fc.double({ min: 1, max: 8, noNaN: true });

function scalingFor(headDim: number): fc.Arbitrary<RopeScaling> {
  return fc.oneof(
    fc.constant<RopeScaling>({ kind: "none" }),
    positive.map((factor): RopeScaling => ({ kind: "linear", factor })),
    positive.map(
      (factor): RopeScaling => ({
        kind: "llama3",
        factor,
        lowFrequencyFactor: 1,
        highFrequencyFactor: 4,
        originalContextTokens: 32,
      }),
    ),
    fc.record({
      factor: positive,
      isRampWhole: fc.boolean(),
      // From all pairs slow to all of them fast.
      originalContextTokens: fc.constantFrom(32, 1024, 1 << 20),
    }).map(
      ({ factor, isRampWhole, originalContextTokens }): RopeScaling => ({
        kind: "yarn",
        factor,
        isRampWhole,
        originalContextTokens,
        turnsFast: 32,
        turnsSlow: 1,
        magnitude: 1 + 0.1 * Math.log(factor),
      }),
    ),
    fc
      .array(positive, { minLength: headDim / 2, maxLength: headDim / 2 })
      .map((divisors): RopeScaling => ({
        kind: "divisors",
        divisors: Float64Array.from(divisors),
      })),
  );
}

/** Every ratio of heads, odd widths, tied and untied, both pairs, all scalings. */
export const anyConfig: fc.Arbitrary<ModelConfig> = fc
  .record({
    layers: fc.integer({ min: 1, max: 3 }),
    hidden: fc.integer({ min: 1, max: 40 }),
    kvHeads: fc.integer({ min: 1, max: 4 }),
    headsOfKv: fc.integer({ min: 1, max: 4 }),
    headDim: fc.integer({ min: 1, max: 10 }).map((half) => 2 * half),
    ffn: fc.integer({ min: 1, max: 50 }),
    vocab: fc.integer({ min: 2, max: 60 }),
    normEps: fc.constantFrom(1e-5, 1e-6),
    ropeTheta: fc.constantFrom(100, 10_000, 500_000),
    ropePairs: fc.constantFrom("neighbours" as const, "halves" as const),
    isTied: fc.boolean(),
  })
  .chain(({ headsOfKv, ...rest }) =>
    scalingFor(rest.headDim).map((ropeScaling) => ({
      ...rest,
      ropeScaling,
      heads: rest.kvHeads * headsOfKv,
      contextTokensMax: 64,
    })),
  );
