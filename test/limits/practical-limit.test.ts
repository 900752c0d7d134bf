/**
 * The closed form with costs: each cost moves the result the way it must, and by as much as a hand
 * calculation says.
 */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import {
  practicalLimit,
  saturatedBorrower,
  idealLimit,
  type Limit,
  type PracticalInputs,
} from "../../src/limits/index.ts";
import { DEFAULTS, lendersLike, OPT } from "./default-inputs.ts";
import {
  A100_40,
  CODELLAMA_34B,
  H100,
  LLAMA31_8B,
  OPT_13B,
  QWEN3_32B,
} from "./hardware-of-the-table.ts";

/** Nothing costs anything, and slices and blocks are one token. */
const FREE: PracticalInputs = {
  ...DEFAULTS,
  blockTokens: 1,
  sliceBytes: OPT.kvBytesPerToken,
  copySeconds: 0,
  latencySeconds: 0,
};

describe("capacity", () => {
  it("counts whole slices of whole blocks: 9,840 tokens for OPT-13B on an A100-40", () => {
    const { static: fixed } = practicalLimit(DEFAULTS);
    // 123 slices of 5 blocks of 16 tokens; a sequence of 512 tokens takes 32.5 blocks.
    expect(fixed.sequences).toBeCloseTo((123 * 5) / 32.5, 9);
  });

  it("is 16,896 tokens for Qwen3-32B on an H100", () => {
    const borrower = saturatedBorrower(H100, QWEN3_32B, 1024);
    const { static: fixed } = practicalLimit({ ...DEFAULTS, borrower, lenders: [] });
    expect(fixed.sequences).toBeCloseTo(16896 / 16 / 64.5, 9);
  });

  it("keeps each sequence's open block at home, however much is lent", () => {
    const limit = practicalLimit({
      ...DEFAULTS,
      borrower: { ...OPT, contextTokens: 32, portBytesPerSecond: 1e15 },
      capBytes: Infinity,
      lenders: lendersLike(7, 0).map((lender) => ({ ...lender, pathBytesPerSecond: 1e15 })),
    });
    expect(limit.sequences).toBeGreaterThan(600);
    expect(limit.sequences).toBeLessThanOrEqual(123 * 5);
  });

  it("refuses slices that hold no block", () => {
    expect(() => practicalLimit({ ...DEFAULTS, sliceBytes: 1e6 })).toThrow(EmaError);
  });

  it("obeys the engine's own bound on its batch and names it", () => {
    const limit = practicalLimit({ ...DEFAULTS, sequencesMax: 20 });
    expect(limit.sequences).toBeLessThanOrEqual(20);
    expect(limit.limitedBy).toBe("max-sequences");
  });
});

describe("costs", () => {
  const base = practicalLimit(DEFAULTS).tokensPerSecond;

  it("stay below the ideal limit and above nine tenths of it at the defaults", () => {
    const ideal = idealLimit({
      borrower: OPT,
      mode: "mixed",
      capBytes: OPT.ownKvBytes,
      lendableBytes: 3 * OPT.ownKvBytes,
      pathBytesPerSecond: 3 * A100_40.portBytesPerSecond,
    });
    expect(base).toBeLessThan(ideal.tokensPerSecond);
    expect(base).toBeGreaterThan(0.9 * ideal.tokensPerSecond);
  });

  it("vanish when they are set to nothing, but for the ring and half a token a sequence", () => {
    const ideal = idealLimit({
      borrower: OPT,
      mode: "direct",
      capBytes: OPT.ownKvBytes,
      lendableBytes: 3 * OPT.ownKvBytes,
      pathBytesPerSecond: 3 * A100_40.portBytesPerSecond,
    });
    const free = practicalLimit({ ...FREE, mode: "direct" });
    expect(free.tokensPerSecond / ideal.tokensPerSecond).toBeCloseTo(1, 2);
  });

  it("take the ring out of the borrower's own memory: 2 g s / L", () => {
    const limit = practicalLimit(DEFAULTS);
    // 1.64 MB a layer and slice: one layer a group, 40 layers.
    expect(limit.ringBytes).toBeCloseTo((2 * limit.stagedBytes) / 40, 3);
    expect(limit.stagedBytes).toBeGreaterThan(0);
  });

  it("take as many layers a group as make copies of 6 MB where copies are dear", () => {
    const borrower = saturatedBorrower(H100, QWEN3_32B, 1024);
    const ringOf = (copySeconds: number, mode: "staged" | "mixed"): number => {
      const lenders = lendersLike(3, 0, borrower.ownKvBytes);
      const inputs = { ...DEFAULTS, borrower, lenders, copySeconds, mode, capBytes: Infinity };
      const { ringBytes, stagedBytes } = practicalLimit(inputs);
      return (64 * ringBytes) / stagedBytes;
    };
    expect(ringOf(0, "mixed")).toBeCloseTo(2, 6);
    // A layer of a slice is 1.05 MB.
    expect(ringOf(9e-6, "staged")).toBeCloseTo(12, 6);
  });

  it("occupy the link by c a copy", () => {
    const slow = { ...OPT, portBytesPerSecond: 60e9 };
    const of = (copySeconds: number): number =>
      practicalLimit({ ...DEFAULTS, borrower: slow, mode: "staged", copySeconds }).tokensPerSecond;
    expect(of(20e-6)).toBeLessThan(of(2.3e-6));
    expect(of(2.3e-6)).toBeLessThan(of(0));
  });

  it("borrow whole slices", () => {
    const { remoteBytes, stagedBytes } = practicalLimit(DEFAULTS);
    const payloadBytes = 5 * 16 * OPT.kvBytesPerToken;
    expect(remoteBytes % payloadBytes).toBe(0);
    expect(stagedBytes % payloadBytes).toBe(0);
  });
});

describe("whole sequences", () => {
  it("fill whole blocks, and what is left over serves nobody", () => {
    const whole = practicalLimit({ ...DEFAULTS, areSequencesWhole: true });
    // 615 blocks of 16 tokens, 32 of them a sequence.
    expect(whole.static.sequences).toBe(19);
    expect(whole.double.sequences).toBe(38);
    expect(Number.isInteger(whole.sequences)).toBe(true);
  });

  it("are the best of every share of slices", () => {
    const inputs = { ...DEFAULTS, areSequencesWhole: true, mode: "direct" as const };
    const found = practicalLimit(inputs);
    const payloadBytes = 5 * 16 * OPT.kvBytesPerToken;
    for (let slices = 0; slices <= 123; slices++) {
      const capBytes = slices * payloadBytes;
      const blocks = (123 + slices) * 5;
      const sequences = Math.floor(blocks / 32);
      const tokens = Math.min(sequences * 512, 1e9);
      const read = tokens * OPT.kvBytesPerToken;
      const remote = Math.min(capBytes, read);
      const attention = Math.max((read - remote) / 1244e9, remote / 276e9);
      const seconds = OPT.weightBytes / 1244e9 + 0.003 + attention;
      expect(sequences / seconds).toBeLessThanOrEqual(found.tokensPerSecond * (1 + 1e-9));
    }
  });
});

describe("step times", () => {
  const localSeconds = (sequences: number): number =>
    (OPT.weightBytes + sequences * 512 * OPT.kvBytesPerToken) / 1244e9 + 0.003;

  it("are compared with those of the same steps had all KV been local", () => {
    const limit = practicalLimit(DEFAULTS);
    const local = localSeconds(limit.sequences);
    expect(limit.stepSeconds).toBeGreaterThan(local);
    expect(limit.remoteSlowdown).toBeCloseTo(limit.stepSeconds / local - 1, 9);
  });

  it("are means over steps where lenders come and go: tokens are sequences over them", () => {
    // Direct reads have no layer groups, which are chosen for all states together.
    const of = (runShare: number): Limit =>
      practicalLimit({ ...DEFAULTS, mode: "direct", lenders: lendersLike(1, runShare) });
    const [mixed, idle, running] = [of(0.4), of(0), of(1)];
    const steps = 0.6 / idle.stepSeconds + 0.4 / running.stepSeconds;
    expect(mixed.stepSeconds).toBeCloseTo(1 / steps, 9);
    const localTime =
      (0.6 / idle.stepSeconds) * localSeconds(idle.sequences) +
      (0.4 / running.stepSeconds) * localSeconds(running.sequences);
    expect(mixed.remoteSlowdown).toBeCloseTo(1 / localTime - 1, 9);
  });
});

describe("paths", () => {
  it("of a mesh bound the link below the port", () => {
    const narrow = lendersLike(1, 0).map((lender) => ({ ...lender, pathBytesPerSecond: 92e9 }));
    const mesh = practicalLimit({ ...DEFAULTS, lenders: narrow });
    const wide = practicalLimit({ ...DEFAULTS, lenders: lendersLike(1, 0) });
    expect(mesh.tokensPerSecond).toBeLessThan(wide.tokensPerSecond);
    expect(mesh.limitedBy).toBe("link");
  });
});

describe("prompts", () => {
  const lengths = (prompt: number, output: number, groups = [prompt]): PracticalInputs => ({
    ...DEFAULTS,
    prefill: {
      lengths: {
        meanPromptTokens: prompt,
        meanOutputTokens: output,
        contextTokens: OPT.contextTokens,
        promptGroups: groups,
      },
      batchTokensMax: 2048,
    },
  });

  it("cost what their FLOPs beyond the weights' read take, spread over the outputs", () => {
    const { static: fixed } = practicalLimit(lengths(1155, 211));
    const n = fixed.sequences;
    const flops = 2 * OPT.paramCount;
    const weights = OPT.weightBytes / 1244e9;
    const decode = weights + 0.003 + (n * 512 * OPT.kvBytesPerToken) / 1244e9;
    const extra = (flops * (n + 1155)) / 265e12 - weights;
    expect(fixed.stepSeconds).toBeCloseTo(decode + (n / 211) * extra, 9);
  });

  /** Of static at these lengths; what a step adds to `decode` for each request that starts. */
  const addedSeconds = (inputs: PracticalInputs): { n: number; seconds: number } => {
    const { static: fixed } = practicalLimit(inputs);
    const n = fixed.sequences;
    const kv = n * 512 * OPT.kvBytesPerToken;
    const decode = (OPT.weightBytes + kv) / 1244e9 + 0.003;
    const starts = n / inputs.prefill!.lengths.meanOutputTokens;
    return { n, seconds: (fixed.stepSeconds - decode) / starts };
  };
  /** lin(n + tokens) - lin(n) */
  const productsSeconds = (n: number, tokens: number): number =>
    Math.max(0, (2 * OPT.paramCount * (n + tokens)) / 265e12 - OPT.weightBytes / 1244e9);

  it("cost what each of them takes, not what their mean would", () => {
    // Of two, one is free beside the decodes; their mean costs less than half of the long one.
    const { n, seconds } = addedSeconds(lengths(1000, 338, [100, 1900]));
    expect(seconds).toBeCloseTo(productsSeconds(n, 1900) / 2, 9);
    expect(seconds).toBeGreaterThan(1.05 * productsSeconds(n, 1000));
  });

  it("are cut into chunks of what a step holds, each with a weights' read to hide in", () => {
    const { n, seconds } = addedSeconds(lengths(5000, 338));
    const chunks = 2 * productsSeconds(n, 2048) + productsSeconds(n, 5000 - 2 * 2048);
    expect(seconds).toBeCloseTo(chunks, 9);
  });

  it("share steps where more than one starts in each", () => {
    const { n, seconds } = addedSeconds(lengths(1155, 2));
    const starts = n / 2;
    expect(seconds).toBeCloseTo(productsSeconds(n, starts * 1155) / starts, 9);
  });

  it("cost nothing while they fit beside the decode tokens", () => {
    const short = practicalLimit(lengths(100, 338)).static;
    expect(short.stepSeconds).toBeCloseTo(practicalLimit(DEFAULTS).static.stepSeconds, 12);
  });
});

describe("whatever the numbers", () => {
  it("never below static, more never gives less, and every number is one", () => {
    const arbitrary = fc.record({
      model: fc.constantFrom(OPT_13B, LLAMA31_8B, CODELLAMA_34B),
      context: fc.integer({ min: 64, max: 8192 }),
      mode: fc.constantFrom("staged" as const, "direct" as const, "mixed" as const),
      count: fc.integer({ min: 0, max: 7 }),
      runShare: fc.constantFrom(0, 0.3, 1),
      lenderShare: fc.constantFrom(0, 0.02, 0.3, null),
      cap: fc.constantFrom(0, 0.5, 1, Infinity),
      port: fc.double({ min: 10, max: 900, noNaN: true }),
    });
    fc.assert(
      fc.property(arbitrary, (raw) => {
        const gpu = { ...H100, portBytesPerSecond: raw.port * 1e9 };
        const borrower = saturatedBorrower(gpu, raw.model, raw.context);
        const inputs = (count: number, runShare: number): PracticalInputs => ({
          ...DEFAULTS,
          borrower,
          mode: raw.mode,
          lenderShare: raw.lenderShare,
          capBytes: raw.cap === 0 ? 0 : raw.cap * borrower.ownKvBytes,
          lenders: lendersLike(count, runShare, borrower.ownKvBytes),
        });
        const limit = practicalLimit(inputs(raw.count, raw.runShare));
        // The probabilities of the states sum to one but for a rounding.
        expect(limit.ratioToStatic).toBeGreaterThanOrEqual(1 - 1e-12);
        // One slice in a hundred is the most that rounding may take.
        const slack = limit.tokensPerSecond * 0.99;
        const more = practicalLimit(inputs(raw.count + 1, raw.runShare));
        expect(more.tokensPerSecond).toBeGreaterThanOrEqual(slack);
        const idle = practicalLimit(inputs(raw.count, 0));
        expect(idle.tokensPerSecond).toBeGreaterThanOrEqual(slack);
        for (const value of Object.values(limit)) {
          if (typeof value === "number") expect(Number.isFinite(value)).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });
});
