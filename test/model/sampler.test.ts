/** Draws: published answers of the generator, the law of what is drawn, and its independence. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseToken, likeliest, logprobsOf } from "../../src/model/index.ts";
import { drawUnit, philox } from "../../src/model/counter-draw.ts";

/** Equal ones must occur. */
const NUMBERS = fc.oneof(fc.float({ min: -8, max: 8, noNaN: true }), fc.constantFrom(0, 1, 2));
const logitsOf = fc
  .array(NUMBERS, { minLength: 1, maxLength: 30 })
  .map((all) => Float32Array.from(all));

describe("philox", () => {
  // The answers that the authors publish for philox4x32-10 (Random123, kat_vectors).
  const ones = 0xffffffff;
  const pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
  it.each([
    [[0, 0, 0, 0], [0, 0], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]],
    [[ones, ones, ones, ones], [ones, ones], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]],
    [pi, [0xa4093822, 0x299f31d0], [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]],
  ])("counter %j key %j", (counter, key, answer) => {
    const words = Uint32Array.from(counter);
    philox(words, key[0]!, key[1]!);
    expect([...words]).toEqual(answer);
  });

  it("neighbouring seeds and positions have nothing to do with each other", () => {
    const draws = Array.from({ length: 100 }, (_, seed) =>
      Array.from({ length: 100 }, (__, position) => drawUnit(seed - 50, position)),
    ).flat();
    expect(new Set(draws).size).toBe(draws.length);
    const far = [0, 1, 2 ** 32, 2 ** 52].flatMap((seed) => [drawUnit(seed, 7), drawUnit(7, seed)]);
    expect(new Set(far).size).toBe(far.length);
    const mean = draws.reduce((a, b) => a + b, 0) / draws.length;
    // 10,000 uniform draws: five deviations of their mean are 0.0145.
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.0145);
    const after = draws.slice(1).map((draw, at) => (draw - 0.5) * (draws[at]! - 0.5));
    const correlation = (12 * after.reduce((a, b) => a + b, 0)) / after.length;
    expect(Math.abs(correlation)).toBeLessThan(0.05);
  });
});

describe("likeliest", () => {
  it("is the lowest id among equals, and blind to what is not a number", () => {
    expect(likeliest(Float32Array.of(1, 3, 3, 2))).toBe(1);
    expect(likeliest(Float32Array.of(NaN, -Infinity, -5, NaN))).toBe(2);
    expect(likeliest(Float32Array.of(NaN, NaN))).toBe(0);
    expect(likeliest(Float32Array.of(0, Infinity, NaN))).toBe(1);
  });
});

describe("chooseToken", () => {
  const seeds = fc.maxSafeInteger();

  it("temperature 0, and a nucleus that holds nothing else, are the likeliest", () => {
    fc.assert(
      fc.property(logitsOf, seeds, fc.nat(1000), (logits, seed, position) => {
        const best = likeliest(logits);
        expect(chooseToken(logits, { temperature: 0, topP: 1, seed }, position)).toBe(best);
        expect(chooseToken(logits, { temperature: 1, topP: 1e-9, seed }, position)).toBe(best);
      }),
    );
  });

  it("stays within the nucleus as it is defined", () => {
    const cases = fc.record({
      temperature: fc.double({ min: 0.1, max: 3, noNaN: true }),
      topP: fc.double({ min: 0.05, max: 1, noNaN: true }),
      seed: seeds,
    });
    fc.assert(
      fc.property(logitsOf, cases, fc.nat(1e6), (logits, settings, position) => {
        const id = chooseToken(logits, settings, position);
        const shares = Array.from(logits, (logit) => Math.exp(logit / settings.temperature));
        const total = shares.reduce((a, b) => a + b, 0);
        const isLikelier = (logit: number, at: number): boolean =>
          logit > logits[id]! || (logit === logits[id] && at < id);
        const likelier = shares.filter((_, at) => isLikelier(logits[at]!, at));
        const before = likelier.reduce((a, b) => a + b, 0);
        // Whoever is in the nucleus, what is likelier does not reach topP alone.
        expect(before / total).toBeLessThan(settings.topP + 1e-9);
        expect(chooseToken(logits.slice(), settings, position)).toBe(id);
      }),
      { numRuns: 1000 },
    );
  });

  it("draws each token as often as its probability says", () => {
    const logits = Float32Array.from([1, 0.5, 0.2, 0.3], Math.log);
    const counts = [0, 0, 0, 0];
    const draws = 20_000;
    for (let position = 0; position < draws; position++) {
      counts[chooseToken(logits, { temperature: 1, topP: 1, seed: 7 }, position)]!++;
    }
    const shares = counts.map((count) => count / draws);
    // Five deviations of a share of a half in 20,000 draws are 0.018.
    for (const [id, share] of [0.5, 0.25, 0.1, 0.15].entries()) {
      expect(Math.abs(shares[id]! - share)).toBeLessThan(0.018);
    }
    const cold = Array.from({ length: draws }, (_, position) =>
      chooseToken(logits, { temperature: 1, topP: 0.7, seed: 7 }, position),
    );
    expect(new Set(cold)).toEqual(new Set([0, 1]));
  });

  it("a nucleus of equals is the lowest ids, as many as reach topP", () => {
    const equal = new Float32Array(10).fill(2);
    const drawn = Array.from({ length: 2000 }, (_, position) =>
      chooseToken(equal, { temperature: 1, topP: 0.85, seed: 3 }, position),
    );
    expect(new Set(drawn)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8]));
    // A half and ten twentieths: 0.62 takes three of the small ones in.
    const skewed = Float32Array.from([10, ...new Array<number>(10).fill(1)], Math.log);
    const few = Array.from({ length: 2000 }, (_, position) =>
      chooseToken(skewed, { temperature: 1, topP: 0.62, seed: 3 }, position),
    );
    expect(new Set(few)).toEqual(new Set([0, 1, 2, 3]));
  });

  it("is defined for logits that are not numbers", () => {
    const settings = { temperature: 1, topP: 0.9, seed: 1 };
    expect(chooseToken(Float32Array.of(NaN, NaN), settings, 0)).toBe(0);
    expect(chooseToken(Float32Array.of(-Infinity, 2, NaN), settings, 0)).toBe(1);
    expect(chooseToken(Float32Array.of(-Infinity, -Infinity), settings, 0)).toBe(0);
  });
});

describe("logprobsOf", () => {
  it("is the logarithm of softmax, with the likeliest in order", () => {
    fc.assert(
      fc.property(logitsOf, fc.nat(1000), fc.nat(20), (logits, pick, count) => {
        const id = pick % logits.length;
        const found = logprobsOf(logits, id, count);
        const total = Array.from(logits, Math.exp).reduce((a, b) => a + b, 0);
        expect(found.logprob).toBeCloseTo(Math.log(Math.exp(logits[id]!) / total), 9);
        const order = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]! || a - b);
        expect(found.top.map((each) => each.id)).toEqual(order.slice(0, count));
      }),
    );
  });

  it("has no infinite numbers", () => {
    const found = logprobsOf(Float32Array.of(0, -Infinity, NaN), 1, 3);
    expect(found).toEqual({
      id: 1,
      logprob: -9999,
      top: [
        { id: 0, logprob: 0 },
        { id: 1, logprob: -9999 },
        { id: 2, logprob: -9999 },
      ],
    });
  });
});
