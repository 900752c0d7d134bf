/** Tests of dealing against the rule in exact fractions, and of what must hold at any prefix. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { dealShares, tableFromColumns, type RequestTable } from "../../src/workload/index.ts";

/** Request n has prompt n + 1, so that a dealt table says which requests it got. */
function numbered(count: number): RequestTable {
  const numbers = Array.from({ length: count }, (_, row) => row + 1);
  return tableFromColumns(numbers.map((number) => number * 10), numbers, numbers);
}

const dealt = (count: number, shares: readonly number[]): number[][] =>
  dealShares(numbered(count), shares).map((table) => [...table.promptTokens]);

it("follows the rule: least (dealt + 1) / share, ties by order", () => {
  expect(dealt(8, [1 / 2, 1 / 4, 1 / 4])).toEqual([
    [1, 2, 5, 6],
    [3, 7],
    [4, 8],
  ]);
});

it("gives what is left of 1 to nobody, who comes last in ties", () => {
  expect(dealt(8, [1 / 4, 1 / 4])).toEqual([
    [2, 6],
    [3, 7],
  ]);
  expect(dealt(4, [1 / 2])).toEqual([[1, 3]]);
});

it("gives one engine with share 1 everything", () => {
  expect(dealt(3, [1])).toEqual([[1, 2, 3]]);
});

it("takes decimal shares that are 1 only on paper", () => {
  const tables = dealt(1000, [0.7, 0.1, 0.1, 0.1]);
  expect(tables.map((table) => table.length)).toEqual([700, 100, 100, 100]);
  // The rest, 1 - 0.7, is a hair more than 0.3 in binary: a tie must stay one.
  expect(dealt(10, [0.7])[0]).toEqual([1, 2, 4, 5, 7, 8, 9]);
});

it("keeps arrivals and outputs with their prompts", () => {
  const [table] = dealShares(numbered(4), [1 / 2]);
  expect([...table!.arrivalNs]).toEqual([10, 30]);
  expect([...table!.outputTokens]).toEqual([1, 3]);
});

it("refuses shares above 1", () => {
  expect(() => dealShares(numbered(3), [0.6, 0.5])).toThrow("deal: shares sum to 1.1");
  expect(() => dealShares(numbered(3), [0])).toThrow("not above 0");
});

/** The rule with BigInt fractions: share = weight / total. */
function dealExactly(count: number, weights: readonly number[], total: number): number[][] {
  const rest = total - weights.reduce((sum, weight) => sum + weight, 0);
  const all = rest > 0 ? [...weights, rest] : weights;
  const lists: number[][] = all.map(() => []);
  for (let number = 1; number <= count; number++) {
    let chosen = 0;
    for (let index = 1; index < all.length; index++) {
      const due = BigInt(lists[index]!.length + 1) * BigInt(all[chosen]!);
      if (due < BigInt(lists[chosen]!.length + 1) * BigInt(all[index]!)) chosen = index;
    }
    lists[chosen]!.push(number);
  }
  return lists.slice(0, weights.length);
}

const sharing = fc
  .tuple(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }), fc.nat(30))
  .map(([weights, rest]) => ({
    weights,
    total: weights.reduce((sum, weight) => sum + weight, rest),
  }));

it("is the rule in exact fractions, for any shares", () => {
  const property = fc.property(sharing, fc.nat(400), ({ weights, total }, count) => {
    const shares = weights.map((weight) => weight / total);
    expect(dealt(count, shares)).toEqual(dealExactly(count, weights, total));
  });
  fc.assert(property, { numRuns: 150 });
});

it("deals each request at most once, and all of them where shares sum to 1", () => {
  const property = fc.property(sharing, fc.nat(300), ({ weights, total }, count) => {
    const tables = dealt(count, weights.map((weight) => weight / total));
    const all = tables.flat();
    expect(new Set(all).size).toBe(all.length);
    const isWhole = total === weights.reduce((sum, weight) => sum + weight, 0);
    if (isWhole) expect(all.length).toBe(count);
    for (const table of tables) expect(table).toEqual(table.toSorted((a, b) => a - b));
  });
  fc.assert(property, { numRuns: 100 });
});

it("leaves nobody below its share rounded down, at any prefix", () => {
  const property = fc.property(sharing, fc.nat(200), ({ weights, total }, count) => {
    weights.forEach((weight, index) => {
      const got = dealt(count, weights.map((other) => other / total))[index]!;
      expect(got.length).toBeGreaterThanOrEqual(Math.floor((count * weight) / total));
    });
  });
  fc.assert(property, { numRuns: 100 });
});
