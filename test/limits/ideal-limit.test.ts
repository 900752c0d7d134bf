/**
 * The ideal closed form against the published table "steady state of a saturated borrower", cell by
 * cell, and against what must hold whatever the numbers.
 */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Gpu, ModelShape } from "../../src/hardware/index.ts";
import {
  idealLimit,
  saturatedBorrower,
  type Limit,
  type LimitMode,
} from "../../src/limits/index.ts";
import {
  A100_40,
  A100_80,
  CODELLAMA_34B,
  H100,
  H200,
  LLAMA31_8B,
  OPT_13B,
  QWEN25_14B,
  QWEN3_32B,
} from "./hardware-of-the-table.ts";

function limitOf(
  gpu: Gpu,
  model: ModelShape,
  contextTokens: number,
  mode: LimitMode,
  peers: number,
  capShare: number,
): Limit {
  const borrower = saturatedBorrower(gpu, model, contextTokens);
  return idealLimit({
    borrower,
    mode,
    capBytes: capShare * borrower.ownKvBytes,
    lendableBytes: peers * borrower.ownKvBytes,
    pathBytesPerSecond: peers * gpu.portBytesPerSecond,
  });
}

interface Row {
  readonly gpu: Gpu;
  readonly model: ModelShape;
  readonly contextTokens: number;
  readonly staticMs: number;
  readonly double: number;
  readonly staged: number;
  readonly direct: number;
  readonly mixed: number;
  readonly mixed3: number;
  readonly mixed3Ms: number | null;
  readonly mixed7: number;
}

const row = (
  gpu: Gpu,
  model: ModelShape,
  contextTokens: number,
  cells: readonly [number, number, number, number, number, number, number | null, number],
): Row => {
  const [staticMs, double, staged, direct, mixed, mixed3, mixed3Ms, mixed7] = cells;
  return {
    gpu, model, contextTokens, staticMs, double, staged, direct, mixed, mixed3, mixed3Ms, mixed7,
  };
};

const TABLE: readonly Row[] = [
  row(A100_40, OPT_13B, 512, [30, 1.64, 1.39, 1.22, 1.56, 1.7, 44, 1.7]),
  row(A100_40, OPT_13B, 1024, [30, 1.64, 1.39, 1.22, 1.56, 1.7, 44, 1.7]),
  row(A100_80, QWEN3_32B, 1024, [46, 1.89, 1.79, 1.55, 1.84, 3.1, 59, 3.55]),
  row(H100, QWEN3_32B, 1024, [26, 1.89, 1.8, 1.43, 1.84, 3.0, 33, 3.0]),
  row(H100, CODELLAMA_34B, 1024, [26, 1.94, 1.88, 1.64, 1.91, 3.44, 31, 4.72]),
  row(H100, QWEN25_14B, 2048, [26, 1.32, 1.0, 1.12, 1.12, 1.12, null, 1.12]),
  row(H100, LLAMA31_8B, 2048, [26, 1.12, 1.0, 1.12, 1.12, 1.12, null, 1.12]),
  row(H200, QWEN3_32B, 2048, [33, 1.32, 1.03, 1.09, 1.11, 1.11, null, 1.11]),
];

describe("the published table", () => {
  for (const expected of TABLE) {
    const { gpu, model, contextTokens } = expected;
    it(`${gpu.name} ${model.name} ${contextTokens}`, () => {
      const of = (mode: LimitMode, peers: number, capShare: number): Limit =>
        limitOf(gpu, model, contextTokens, mode, peers, capShare);
      const within = (actual: number, cell: number): void =>
        expect(Math.abs(actual - cell), `${actual} for ${cell}`).toBeLessThanOrEqual(0.01);
      const mixed = of("mixed", 3, 1);
      expect(Math.round(mixed.static.stepSeconds * 1000)).toBe(expected.staticMs);
      within(mixed.double.tokensPerSecond / mixed.static.tokensPerSecond, expected.double);
      within(of("staged", 3, 1).ratioToStatic, expected.staged);
      within(of("direct", 3, 1).ratioToStatic, expected.direct);
      within(mixed.ratioToStatic, expected.mixed);
      const three = of("mixed", 3, Infinity);
      within(three.ratioToStatic, expected.mixed3);
      if (expected.mixed3Ms !== null) {
        expect(Math.round(three.stepSeconds * 1000)).toBe(expected.mixed3Ms);
      }
      within(of("mixed", 7, Infinity).ratioToStatic, expected.mixed7);
    });
  }
});

describe("what limits", () => {
  it("is the cap where the link could carry more", () => {
    expect(limitOf(A100_40, OPT_13B, 1024, "mixed", 3, 1).limitedBy).toBe("memory");
  });
  it("is the link where more peers gain nothing", () => {
    expect(limitOf(A100_40, OPT_13B, 1024, "mixed", 7, Infinity).limitedBy).toBe("link");
  });
  it("is memory when nobody lends", () => {
    const alone = limitOf(A100_40, OPT_13B, 1024, "mixed", 0, Infinity);
    expect(alone.limitedBy).toBe("memory");
    expect(alone.ratioToStatic).toBe(1);
    expect(alone.remoteSlowdown).toBeNull();
    expect(alone.hiddenShare).toBeNull();
  });
  it("is compute where a borrowed batch outgrows the weights' read", () => {
    // 67 sequences of 256 tokens take 21 ms of these FLOPs, just under the weights' 22 ms.
    const slow = { ...H100, flopsPerSecond: 2.1e14, portBytesPerSecond: 3e12 };
    expect(limitOf(slow, QWEN3_32B, 256, "mixed", 3, Infinity).limitedBy).toBe("compute");
  });
  it("is compute where the engine's own batch outgrows it already: nothing else would help", () => {
    const slow = { ...H100, flopsPerSecond: 2e12, portBytesPerSecond: 3e12 };
    expect(limitOf(slow, QWEN3_32B, 256, "mixed", 3, 1).limitedBy).toBe("compute");
  });
  it("is the HBM where KV is nearly all a step reads and the link adds too little to see", () => {
    const fast = { ...H100, portBytesPerSecond: 1e9 };
    expect(limitOf(fast, LLAMA31_8B, 8192, "mixed", 3, 1).limitedBy).toBe("hbm");
  });
});

describe("whatever the numbers", () => {
  const gpus = fc.record({
    b: fc.double({ min: 300, max: 8000, noNaN: true }),
    f: fc.double({ min: 50, max: 2000, noNaN: true }),
    n: fc.double({ min: 5, max: 900, noNaN: true }),
    hbm: fc.double({ min: 75, max: 192, noNaN: true }),
  });
  const gpuOf = ({ b, f, n, hbm }: { b: number; f: number; n: number; hbm: number }): Gpu => ({
    ...H100,
    hbmBytes: hbm * 1e9,
    hbmBytesPerSecond: b * 1e9,
    flopsPerSecond: f * 1e12,
    portBytesPerSecond: n * 1e9,
  });
  const models = fc.constantFrom(OPT_13B, QWEN25_14B, LLAMA31_8B, CODELLAMA_34B);
  const contexts = fc.integer({ min: 16, max: 16384 });
  const caps = fc.constantFrom(0.25, 1, 3, Infinity);
  const peerCounts = fc.integer({ min: 0, max: 7 });

  it("a borrower that chooses never loses, and mixed is at least either pure mode", () => {
    fc.assert(
      fc.property(gpus, models, contexts, caps, peerCounts, (raw, model, context, cap, peers) => {
        fc.pre(0.9 * raw.hbm * 1e9 > model.weightBytes + 2.5e9);
        const of = (mode: LimitMode): Limit =>
          limitOf(gpuOf(raw), model, context, mode, peers, cap);
        const mixed = of("mixed");
        expect(mixed.ratioToStatic).toBeGreaterThanOrEqual(1);
        for (const mode of ["staged", "direct"] as const) {
          const pure = of(mode).tokensPerSecond;
          expect(mixed.tokensPerSecond).toBeGreaterThanOrEqual(pure * (1 - 1e-6));
        }
        for (const value of Object.values(mixed)) {
          if (typeof value === "number") expect(Number.isFinite(value)).toBe(true);
        }
        expect(mixed.stagedBytes + mixed.directBytes).toBeCloseTo(mixed.remoteBytes, 0);
      }),
    );
  });

  it("more peers and a wider cap never give less", () => {
    fc.assert(
      fc.property(gpus, models, contexts, caps, peerCounts, (raw, model, context, cap, peers) => {
        fc.pre(0.9 * raw.hbm * 1e9 > model.weightBytes + 2.5e9);
        const of = (count: number, share: number): number =>
          limitOf(gpuOf(raw), model, context, "mixed", count, share).tokensPerSecond;
        const base = of(peers, cap) * (1 - 1e-6);
        expect(of(peers + 1, cap)).toBeGreaterThanOrEqual(base);
        expect(of(peers, cap * 2)).toBeGreaterThanOrEqual(base);
      }),
    );
  });

  it("no point of a grid over the equations beats the search", () => {
    fc.assert(
      fc.property(gpus, models, contexts, peerCounts, (raw, model, context, peers) => {
        fc.pre(0.9 * raw.hbm * 1e9 > model.weightBytes + 2.5e9);
        const gpu = gpuOf(raw);
        const found = limitOf(gpu, model, context, "mixed", peers, Infinity);
        const best = gridBest(gpu, model, context, peers);
        expect(found.tokensPerSecond).toBeGreaterThanOrEqual(best * (1 - 1e-6));
      }),
      { numRuns: 60 },
    );
  });
});

/** The mixed equation written down once more, the plain way. */
function gridBest(gpu: Gpu, model: ModelShape, context: number, peers: number): number {
  const { hbmBytesPerSecond: b, flopsPerSecond: f, portBytesPerSecond: n } = gpu;
  const own = 0.9 * gpu.hbmBytes - model.weightBytes - 2e9;
  let best = 0;
  for (let i = 0; i <= 60; i++) {
    const remote = (i / 60) * peers * own;
    const sequences = (own + remote) / (context * model.kvBytesPerToken);
    const lin = Math.max((2 * model.paramCount * sequences) / f, model.weightBytes / b);
    for (let j = 0; j <= 60; j++) {
      const s = (j / 60) * remote;
      const reads = Math.max((own + s) / b, (remote - s) / n);
      best = Math.max(best, sequences / Math.max(lin + 0.003 + s / b + reads, remote / n));
    }
  }
  return best;
}
