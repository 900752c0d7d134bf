/** Tests of the generators: rates and means over many draws, bursts, clipping, separate streams. */

import { describe, expect, it } from "vitest";
import {
  expectedRequests,
  findLengthPreset,
  generate,
  LOG_NORMAL_SIGMA,
  streamsOf,
  type ArrivalPattern,
  type LengthSpec,
} from "../../src/workload/index.ts";

function lengths(
  promptTokens: number,
  outputTokens: number,
  changes: Partial<LengthSpec> = {},
): LengthSpec {
  return {
    promptTokens,
    outputTokens,
    promptSigma: LOG_NORMAL_SIGMA.prompt,
    outputSigma: LOG_NORMAL_SIGMA.output,
    isFixed: false,
    promptTokensMax: 1e6,
    contextTokensMax: 2e6,
    ...changes,
  };
}

const poisson = (requestsPerSecond: number, seconds: number): ArrivalPattern => ({
  type: "poisson",
  requestsPerSecond,
  seconds,
});
const mean = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;
function correlation(one: readonly number[], other: readonly number[]): number {
  const centred = (values: readonly number[]): number[] => {
    const centre = mean(values);
    return values.map((value) => value - centre);
  };
  const [left, right] = [centred(one), centred(other)];
  const product = (a: readonly number[], b: readonly number[]): number =>
    mean(a.map((value, index) => value * b[index]!));
  return product(left, right) / Math.sqrt(product(left, left) * product(right, right));
}
const draw = (pattern: ArrivalPattern, spec: LengthSpec, seed = 1, engine = 0) =>
  generate(pattern, spec, streamsOf(seed, engine, 0));

describe("arrivals", () => {
  it("poisson: count, gaps and their variance over many seeds", () => {
    const tables = Array.from({ length: 40 }, (_, seed) => {
      return draw(poisson(5, 200), lengths(10, 10), seed + 1, seed % 5).table;
    });
    // 40 runs of mean 1000 and deviation 31.6: the mean is within 5 deviations of 5.
    expect(Math.abs(mean(tables.map(({ count }) => count)) - 1000)).toBeLessThan(25);
    const gaps = tables.flatMap(({ arrivalNs }) =>
      Array.from(arrivalNs.subarray(1), (at, row) => (at - arrivalNs[row]!) / 1e9),
    );
    expect(mean(gaps)).toBeCloseTo(0.2, 2);
    expect(mean(gaps.map((gap) => gap * gap))).toBeCloseTo(2 * 0.2 ** 2, 2);
    for (const { arrivalNs } of tables) {
      expect(arrivalNs.every((at) => Number.isInteger(at) && at >= 0 && at < 200e9)).toBe(true);
      expect(arrivalNs).toEqual(arrivalNs.toSorted());
    }
  });

  it("on-off: only in the on parts, starting in one, at the rate of the on part", () => {
    const pattern: ArrivalPattern = {
      type: "on-off",
      requestsPerSecond: 4,
      onSeconds: 60,
      offSeconds: 240,
      seconds: 930,
    };
    expect(expectedRequests(pattern)).toBe(4 * (3 * 60 + 30));
    const parts = [0, 0, 0, 0];
    for (let seed = 1; seed <= 50; seed++) {
      for (const at of draw(pattern, lengths(10, 10), seed).table.arrivalNs) {
        expect(at % 300e9).toBeLessThan(60e9);
        expect(at).toBeLessThan(930e9);
        parts[Math.floor(at / 300e9)]!++;
      }
    }
    for (const part of parts.slice(0, 3)) expect(part / 50).toBeGreaterThan(230);
    for (const part of parts.slice(0, 3)) expect(part / 50).toBeLessThan(250);
    expect(Math.abs(parts[3]! / 50 - 120)).toBeLessThan(8);
  });

  it("on-off without an off part is poisson", () => {
    const parts = { onSeconds: 7, offSeconds: 0, seconds: 100 };
    const { table } = draw({ type: "on-off", requestsPerSecond: 3, ...parts }, lengths(10, 10));
    expect(table).toEqual(draw(poisson(3, 100), lengths(10, 10)).table);
  });

  it("backlog: all at 0, in the order drawn", () => {
    const { table } = draw({ type: "backlog", requests: 5 }, lengths(100, 100));
    expect([...table.arrivalNs]).toEqual([0, 0, 0, 0, 0]);
    const later = draw(poisson(1000, 1), lengths(100, 100)).table;
    expect([...table.promptTokens]).toEqual([...later.promptTokens.subarray(0, 5)]);
  });

  it("may be none at all", () => {
    expect(draw(poisson(1e-9, 1), lengths(10, 10)).table.count).toBe(0);
  });
});

describe("lengths", () => {
  it("have the means as given before clipping, and the log-normal's median", () => {
    const { table, clippedPrompts } = draw(
      { type: "backlog", requests: 200_000 },
      lengths(1155, 211),
    );
    expect(clippedPrompts).toBe(0);
    expect(mean(table.promptTokens) / 1155).toBeCloseTo(1, 1);
    expect(Math.abs(mean(table.promptTokens) / 1155 - 1)).toBeLessThan(0.02);
    expect(Math.abs(mean(table.outputTokens) / 211 - 1)).toBeLessThan(0.02);
    const median = (tokens: Int32Array): number => tokens.toSorted()[tokens.length / 2]!;
    expect(Math.abs(median(table.promptTokens) / (1155 * Math.exp(-0.5)) - 1)).toBeLessThan(0.02);
    expect(Math.abs(median(table.outputTokens) / (211 * Math.exp(-0.405)) - 1)).toBeLessThan(0.02);
  });

  it("are at least 4 tokens, prompts clipped and counted, outputs within the context", () => {
    const spec = lengths(19, 58, { promptTokensMax: 40, contextTokensMax: 80 });
    const { table, clippedPrompts } = draw({ type: "backlog", requests: 20_000 }, spec);
    const longest = table.promptTokens.reduce((most, tokens) => Math.max(most, tokens), 0);
    expect(longest).toBe(40);
    expect(table.promptTokens.reduce((least, tokens) => Math.min(least, tokens), 99)).toBe(4);
    const cut = table.promptTokens.filter((tokens) => tokens === 40).length;
    expect(clippedPrompts).toBeGreaterThan(1000);
    expect(clippedPrompts).toBeLessThanOrEqual(cut);
    let full = 0;
    table.promptTokens.forEach((prompt, row) => {
      expect(prompt + table.outputTokens[row]!).toBeLessThanOrEqual(80);
      expect(table.outputTokens[row]!).toBeGreaterThanOrEqual(4);
      if (prompt + table.outputTokens[row]! === 80) full++;
    });
    expect(full).toBeGreaterThan(1000);
  });

  it("are exactly as given where fixed", () => {
    const spec = lengths(2, 3000, { isFixed: true, contextTokensMax: 2048 });
    const { table } = draw({ type: "backlog", requests: 3 }, spec);
    expect([...table.promptTokens, ...table.outputTokens]).toEqual([2, 2, 2, 3000, 3000, 3000]);
  });

  it.each([
    ["sharegpt", 161, 338],
    ["ShareGPT", 161, 338],
    ["share-gpt", 161, 338],
    ["alpaca", 19, 58],
    ["azure-conv", 1155, 211],
    ["Azure conversation", 1155, 211],
    ["azure_code", 2048, 28],
  ])("preset %s", (name, promptTokens, outputTokens) => {
    expect(findLengthPreset(name)).toEqual({ promptTokens, outputTokens });
  });

  it("no preset for other names", () => {
    expect(findLengthPreset("azure")).toBeNull();
    expect(findLengthPreset("constructor")).toBeNull();
  });
});

describe("streams", () => {
  it("prompts, outputs and gaps do not follow one another", () => {
    const { table } = draw(poisson(100, 100), lengths(100, 100));
    const logs = (tokens: Int32Array): number[] => Array.from(tokens, (count) => Math.log(count));
    const gaps = Array.from(table.arrivalNs, (at, row) => at - (table.arrivalNs[row - 1] ?? 0));
    const columns = [logs(table.promptTokens), logs(table.outputTokens), gaps];
    for (const [one, other] of [[0, 1], [0, 2], [1, 2]] as const) {
      expect(Math.abs(correlation(columns[one]!, columns[other]!))).toBeLessThan(0.05);
    }
  });

  it("the same seed gives the same requests, another seed or engine others", () => {
    const one = draw(poisson(5, 100), lengths(100, 100), 7, 3);
    expect(draw(poisson(5, 100), lengths(100, 100), 7, 3)).toEqual(one);
    expect(draw(poisson(5, 100), lengths(100, 100), 8, 3)).not.toEqual(one);
    expect(draw(poisson(5, 100), lengths(100, 100), 7, 4)).not.toEqual(one);
  });

  it("another rate leaves the n-th lengths as they were, other lengths the arrivals", () => {
    const slow = draw(poisson(5, 100), lengths(100, 100)).table;
    const fast = draw(poisson(9, 100), lengths(100, 100)).table;
    expect(fast.count).toBeGreaterThan(slow.count);
    expect(fast.promptTokens.subarray(0, slow.count)).toEqual(slow.promptTokens);
    expect(fast.outputTokens.subarray(0, slow.count)).toEqual(slow.outputTokens);
    const long = draw(poisson(5, 100), lengths(900, 100)).table;
    expect(long.arrivalNs).toEqual(slow.arrivalNs);
    expect(long.outputTokens).toEqual(slow.outputTokens);
  });
});
