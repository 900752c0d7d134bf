/** The generator against its definition in BigInt, and what its draws look like. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";

const DRAWS = 20_000;

/** The first `count` outputs of sfc32 as its author defines it, in plain modular arithmetic. */
function sfc32(seed: number, stream: number, count: number): number[] {
  const word = (value: bigint): bigint => value & 0xffffffffn;
  let a = word(BigInt(seed));
  let b = word(BigInt(seed) >> 32n);
  let c = word(BigInt(stream));
  let counter = 1n;
  const outputs: number[] = [];
  for (let round = 0; round < 12 + count; round++) {
    const sum = word(a + b + counter);
    counter = word(counter + 1n);
    a = b ^ (b >> 9n);
    b = word(c + (c << 3n));
    c = word(((c << 21n) | (c >> 11n)) + sum);
    if (round >= 12) outputs.push(Number(sum));
  }
  return outputs;
}

function draw(count: number, next: () => number): number[] {
  return Array.from({ length: count }, next);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

/** Pearson's statistic over bins that are equally likely. */
function chiSquare(bins: readonly number[]): number {
  const expected = bins.reduce((sum, bin) => sum + bin, 0) / bins.length;
  return bins.reduce((sum, bin) => sum + (bin - expected) ** 2 / expected, 0);
}

describe("stream", () => {
  it("is sfc32, bit for bit", () => {
    const seed = fc.nat(Number.MAX_SAFE_INTEGER);
    fc.assert(
      fc.property(seed, fc.nat(0x7fffffff), (value, stream) => {
        const prng = new Prng(value, stream);
        expect(draw(20, () => prng.nextUint32())).toEqual(sfc32(value, stream, 20));
      }),
      { numRuns: 200 },
    );
  });

  it("is the same for the same seed, another for another seed or stream", () => {
    const first = (seed: number, stream?: number): string => {
      const prng = new Prng(seed, stream);
      return draw(4, () => prng.nextUint32()).join(" ");
    };
    expect(first(7)).toBe(first(7, 0));
    const beginnings = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      for (let stream = 0; stream < 40; stream++) beginnings.add(first(seed, stream));
    }
    beginnings.add(first(2 ** 32 + 7));
    expect(beginnings.size).toBe(1601);
  });

  it("neighbouring seeds and streams are not correlated", () => {
    for (const [a, b] of [[new Prng(1), new Prng(2)], [new Prng(1, 1), new Prng(1, 2)]] as const) {
      const products = draw(DRAWS, () => (a.nextUnit() - 0.5) * (b.nextUnit() - 0.5));
      // The product of two independent uniforms has deviation 1/12: five standard errors.
      expect(Math.abs(mean(products))).toBeLessThan((5 / 12) / Math.sqrt(DRAWS));
    }
  });
});

describe("draws", () => {
  it("nextUnit is uniform in [0, 1), and so are its low bits", () => {
    const prng = new Prng(42);
    const values = draw(DRAWS, () => prng.nextUnit());
    expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
    const bins = new Array<number>(64).fill(0);
    const lowBins = new Array<number>(64).fill(0);
    for (const value of values) {
      bins[Math.floor(value * 64)]!++;
      lowBins[Math.floor(value * 2 ** 53) % 64]!++;
    }
    // 63 degrees of freedom: above 126 one draw in 300,000.
    expect(chiSquare(bins)).toBeLessThan(126);
    expect(chiSquare(lowBins)).toBeLessThan(126);
    const next = values.slice(1);
    const serial = mean(next.map((value, index) => (value - 0.5) * (values[index]! - 0.5)));
    expect(Math.abs(serial)).toBeLessThan((5 / 12) / Math.sqrt(DRAWS));
  });

  it("nextBelow reaches every integer below the bound and no other", () => {
    const prng = new Prng(3);
    const bins = new Array<number>(7).fill(0);
    for (let index = 0; index < DRAWS; index++) {
      const value = prng.nextBelow(7);
      expect(Number.isInteger(value) && value >= 0 && value < 7).toBe(true);
      bins[value]!++;
    }
    // 6 degrees of freedom: above 38 one draw in a million.
    expect(chiSquare(bins)).toBeLessThan(38);
    expect(prng.nextBelow(1)).toBe(0);
  });

  it("nextExponential has the mean asked for, its own deviation and no negative value", () => {
    const prng = new Prng(5);
    const values = draw(DRAWS, () => prng.nextExponential(250));
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.abs(mean(values) / 250 - 1)).toBeLessThan(5 / Math.sqrt(DRAWS));
    expect(Math.abs(deviation(values) / 250 - 1)).toBeLessThan(10 / Math.sqrt(DRAWS));
    const beyond = values.filter((value) => value > 500).length / DRAWS;
    expect(Math.abs(beyond - Math.exp(-2))).toBeLessThan(0.012);
  });

  it("nextNormal is standard normal and takes two draws", () => {
    const prng = new Prng(6);
    const values = draw(DRAWS, () => prng.nextNormal());
    expect(Math.abs(mean(values))).toBeLessThan(5 / Math.sqrt(DRAWS));
    expect(Math.abs(deviation(values) - 1)).toBeLessThan(5 / Math.sqrt(2 * DRAWS));
    const within = values.filter((value) => Math.abs(value) < 1).length / DRAWS;
    expect(Math.abs(within - 0.6827)).toBeLessThan(0.017);
    const [normal, unit] = [new Prng(9), new Prng(9)];
    normal.nextNormal();
    unit.nextUnit();
    unit.nextUnit();
    expect(normal.nextUint32()).toBe(unit.nextUint32());
  });
});
