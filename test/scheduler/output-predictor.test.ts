/** Expected further tokens against a recount over all outputs, and against what really came. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";
import { OutputPredictor } from "../../src/scheduler/index.ts";

const TOKENS_MAX = 400;
const BUCKET_TOKENS = 16;
const BUCKETS = 27;

/** Outputs by bucket: the prior's eight geometric ones, and those seen, halved now and then. */
class Model {
  readonly weights: number[];
  seen = 0;

  constructor() {
    // A bucket is survived with probability 1 - 16/256; the last takes all that is left.
    const beyond = (bucket: number): number => 8 * (1 - BUCKET_TOKENS / 256) ** bucket;
    this.weights = Array.from({ length: BUCKETS }, (_, bucket) =>
      beyond(bucket) - (bucket === BUCKETS - 1 ? 0 : beyond(bucket + 1)),
    );
  }

  observe(tokens: number): void {
    this.weights[Math.min(BUCKETS - 1, Math.floor(tokens / BUCKET_TOKENS))]!++;
    this.seen++;
    if (this.seen % 4096 > 0) return;
    for (let at = 0; at < BUCKETS; at++) this.weights[at]! /= 2;
  }

  /** Mean of the outputs at least as long, by the middles of their buckets. */
  remaining(generated: number): number {
    const own = Math.min(BUCKETS - 1, Math.floor(generated / BUCKET_TOKENS));
    let [weight, tokens] = [0, 0];
    this.weights.forEach((of, bucket) => {
      if (bucket < own) return;
      weight += of;
      tokens += of * (bucket - own) * BUCKET_TOKENS;
    });
    return Math.max(1, tokens / weight);
  }
}

/** Compares at every bucket; `share` is how far one that is refreshed rarely may be off. */
function compare(model: Model, real: OutputPredictor, share: number): void {
  real.check();
  for (let generated = 0; generated <= TOKENS_MAX + 100; generated += 13) {
    const expected = model.remaining(generated);
    const off = Math.abs(real.remainingTokens(generated) - expected);
    expect(off).toBeLessThanOrEqual(1e-6 + share * expected);
  }
}

it("expects what a recount expects, output by output", () => {
  const tokens = fc.oneof(fc.nat(TOKENS_MAX), fc.constantFrom(0, 15, 16, 5000));
  fc.assert(
    fc.property(fc.array(tokens, { maxLength: 60, size: "max" }), (outputs) => {
      const model = new Model();
      const real = new OutputPredictor(TOKENS_MAX);
      compare(model, real, 0);
      for (const output of outputs) {
        model.observe(output);
        real.observe(output);
      }
      compare(model, real, 0);
    }),
    { numRuns: 60 },
  );
});

it("stays within a few percent when it is refreshed rarely, over halvings", () => {
  const [model, real, prng] = [new Model(), new OutputPredictor(TOKENS_MAX), new Prng(1)];
  for (let count = 1; count <= 9000; count++) {
    // A drift: outputs become longer.
    const output = Math.floor(prng.nextExponential(40 + count / 100));
    model.observe(output);
    real.observe(output);
    if (count % 1000 === 0) compare(model, real, 0.15);
  }
});

describe("what it is for", () => {
  it("starts from outputs of 256 tokens where the context allows longer ones", () => {
    const fresh = new OutputPredictor(16384);
    expect(fresh.remainingTokens(0)).toBeGreaterThan(230);
    expect(fresh.remainingTokens(0)).toBeLessThan(260);
  });

  it("a sequence that has outlived all others is expected to end soon, not never", () => {
    const real = new OutputPredictor(TOKENS_MAX);
    for (let count = 0; count < 500; count++) real.observe(50);
    expect(real.remainingTokens(0)).toBeLessThan(60);
    expect(real.remainingTokens(TOKENS_MAX)).toBeLessThanOrEqual(BUCKET_TOKENS);
    expect(real.remainingTokens(10 * TOKENS_MAX)).toBe(1);
  });

  it("of two kinds of requests, those that go on are expected to be of the long kind", () => {
    const real = new OutputPredictor(1024);
    for (let count = 0; count < 1000; count++) real.observe(count % 10 === 0 ? 1000 : 20);
    expect(real.remainingTokens(0)).toBeLessThan(150);
    expect(real.remainingTokens(100)).toBeGreaterThan(800);
  });

  it("forgets: after a drift the new outputs count", () => {
    const real = new OutputPredictor(1024);
    for (let count = 0; count < 4096; count++) real.observe(800);
    for (let count = 0; count < 40_960; count++) real.observe(48);
    expect(real.remainingTokens(0)).toBeLessThan(70);
  });
});
