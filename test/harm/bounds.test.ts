/** Which bound holds for whom, and when it is broken: pairs of runs made up by hand. */

import { describe, expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";
import { judge, type BoundName } from "../../tools/harm/bounds.ts";
import type { EnginePair, RequestColumns } from "../../tools/harm/paired-runs.ts";

const COUNT = 1200;
const SLO_NS = 100e6;

function columns(ttftFactor = 1, tpotFactor = 1, tokenFactor = 1): RequestColumns {
  const prng = new Prng(5);
  const column = (mean: number): Float64Array =>
    Float64Array.from({ length: COUNT }, () => mean * (0.5 + prng.nextUnit()));
  return {
    ttftNs: column(200e6).map((ns) => ns * ttftFactor),
    tpotNs: column(40e6).map((ns) => ns * tpotFactor),
    windowTokens: column(100).map((tokens) => tokens * tokenFactor),
    isGood: new Float64Array(COUNT).fill(1),
  };
}

function pairOf(over: Partial<EnginePair>): EnginePair {
  const same = columns();
  const base = { name: "a", hasBorrowed: false, hasLent: true, finished: COUNT };
  return { ...base, ema: same, static: same, slowed: same, ...over };
}

const broken = (pair: EnginePair): BoundName[] =>
  judge(pair, SLO_NS)
    .filter(({ isViolation }) => isViolation)
    .map(({ bound }) => bound);

describe("an engine that never borrowed", () => {
  it("keeps all bounds when nothing differs", () => {
    expect(broken(pairOf({}))).toEqual([]);
    expect(judge(pairOf({}), SLO_NS).map(({ bound, ratio }) => [bound, ratio])).toEqual([
      ["throughput", 1],
      ["ttft mean", 1],
      ["tpot p95", 1],
    ]);
  });

  it("may lose 2.5 % of its times and 1 % of its tokens, and no more", () => {
    expect(broken(pairOf({ ema: columns(1.024, 1.024, 0.991) }))).toEqual([]);
    expect(broken(pairOf({ ema: columns(1.03) }))).toEqual(["ttft mean"]);
    expect(broken(pairOf({ ema: columns(1, 1.03) }))).toEqual(["tpot p95"]);
    expect(broken(pairOf({ ema: columns(1, 1, 0.985) }))).toEqual(["throughput"]);
  });

  it("is held to the slower static for the first token alone", () => {
    const slowed = columns(1.05, 1.05, 0.95);
    expect(broken(pairOf({ ema: columns(1.06), slowed }))).toEqual([]);
    expect(broken(pairOf({ ema: columns(1.06, 1.06), slowed }))).toEqual(["tpot p95"]);
  });

  it("breaks its bound when requests that static serves fail now and then", () => {
    const ema = columns();
    for (let row = 0; row < COUNT; row += 50) ema.ttftNs[row] = Infinity;
    expect(broken(pairOf({ ema }))).toContain("ttft mean");
  });

  it("does not when the same requests fail in both", () => {
    const ema = columns();
    ema.ttftNs.fill(Infinity, 100, 140);
    expect(broken(pairOf({ ema, static: ema, slowed: ema }))).toEqual([]);
  });
});

describe("an engine that borrowed", () => {
  it("may use its SLO's time per token, but not more first-token time", () => {
    const ema = columns(1, 1.5);
    expect(broken(pairOf({ hasBorrowed: true, ema }))).toEqual([]);
    expect(broken(pairOf({ hasBorrowed: true, ema: columns(1.03) }))).toEqual(["ttft p95"]);
  });

  it("may not exceed the SLO's time per token where static does not", () => {
    const ema = columns(1, 2.2);
    expect(broken(pairOf({ hasBorrowed: true, ema }))).toEqual(["tpot p95"]);
    expect(broken(pairOf({ hasBorrowed: true, ema, static: columns(1, 2.2) }))).toEqual([]);
  });

  it("is held to static's goodput, or to its throughput where that has none", () => {
    const ema = columns(1, 1, 0.9);
    ema.isGood.fill(0, 0, 200);
    expect(broken(pairOf({ hasBorrowed: true, ema }))).toEqual(["goodput"]);
    const plain = columns();
    plain.isGood.fill(0);
    expect(broken(pairOf({ hasBorrowed: true, ema, static: plain }))).toEqual(["throughput"]);
  });
});

it("says nothing of an engine with fewer requests than a verdict needs", () => {
  expect(judge(pairOf({ finished: 999, ema: columns(2) }), SLO_NS)).toEqual([]);
});

it("lets a difference go that a few requests make", () => {
  const ema = columns();
  // One burst that waited long: 5 % more in the mean, all of it in 20 requests of 1,200.
  for (let row = 300; row < 320; row++) ema.ttftNs[row]! += 600e6;
  const [, ttft] = judge(pairOf({ ema }), SLO_NS);
  expect(ttft!.ratio).toBeGreaterThan(1.04);
  expect(ttft!.isViolation).toBe(false);
});
