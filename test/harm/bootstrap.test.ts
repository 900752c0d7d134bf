/** Intervals against what is known of the data: planted differences, and none. */

import { describe, expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";
import { bootstrap, BOOTSTRAP, quantileOf, type Statistic } from "../../tools/harm/bootstrap.ts";

const rowsOf = (count: number): Int32Array => Int32Array.from({ length: count }, (_, row) => row);

/** Waiting times of a queue, so that neighbours are alike: Lindley's recursion. */
function waits(count: number, load: number, prng: Prng): Float64Array {
  const column = new Float64Array(count);
  let wait = 0;
  for (let row = 0; row < count; row++) {
    wait = Math.max(0, wait + prng.nextExponential(load) - prng.nextExponential(1));
    column[row] = wait + 1;
  }
  return column;
}

function ratioOfMeans(seen: Float64Array, reference: Float64Array): Statistic {
  return (rows) => {
    let [above, below] = [0, 0];
    for (const row of rows) {
      above += seen[row]!;
      below += reference[row]!;
    }
    return above / below;
  };
}

describe("the paired bootstrap", () => {
  it("gives an interval without width for a ratio that every request shares", () => {
    const reference = waits(1000, 0.8, new Prng(1));
    const seen = reference.map((wait) => 1.05 * wait);
    const interval = bootstrap(rowsOf(1000), ratioOfMeans(seen, reference));
    expect(interval.low).toBeCloseTo(1.05, 9);
    expect(interval.high).toBeCloseTo(1.05, 9);
  });

  it("is the same for the same columns, and another for another seed", () => {
    const [seen, reference] = [waits(500, 0.8, new Prng(2)), waits(500, 0.8, new Prng(3))];
    const at = (seed: number): unknown =>
      bootstrap(rowsOf(500), ratioOfMeans(seen, reference), { ...BOOTSTRAP, seed });
    expect(at(1)).toEqual(at(1));
    expect(at(1)).not.toEqual(at(2));
  });

  it("finds a planted 5 % in noise ten times as large", () => {
    let found = 0;
    for (let seed = 0; seed < 20; seed++) {
      const prng = new Prng(seed, 1);
      const reference = waits(1000, 0.7, prng);
      const seen = reference.map((x) => x * 1.05 * (1 + 0.5 * (prng.nextUnit() - 0.5)));
      if (bootstrap(rowsOf(1000), ratioOfMeans(seen, reference)).low > 1) found++;
    }
    expect(found).toBeGreaterThanOrEqual(18);
  });

  it("covers the true ratio of two queues alike, which single requests do not", () => {
    const missedWith = (blockRequests: number): number => {
      let missed = 0;
      for (let seed = 0; seed < 60; seed++) {
        const seen = waits(1500, 0.6, new Prng(seed, 2));
        const reference = waits(1500, 0.6, new Prng(seed, 3));
        const options = { ...BOOTSTRAP, resamples: 400, blockRequests };
        const { low, high } = bootstrap(rowsOf(1500), ratioOfMeans(seen, reference), options);
        if (low > 1 || high < 1) missed++;
      }
      return missed;
    };
    expect(missedWith(BOOTSTRAP.blockRequests)).toBeLessThanOrEqual(6);
    expect(missedWith(1)).toBeGreaterThanOrEqual(15);
  });
});

it("reads quantiles as the report does, also beside infinities", () => {
  expect(quantileOf(Float64Array.of(1, 2, 3, 4), 0.5)).toBe(2.5);
  expect(quantileOf(Float64Array.of(1, 2, Infinity, Infinity), 0.9)).toBe(Infinity);
  expect(quantileOf(Float64Array.of(5), 0.99)).toBe(5);
});
