/** Mean context and the share of time in which lenders run, against cases worked out by hand. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  lenderLoad,
  lengthsOf,
  saturatedBorrower,
  type RequestColumns,
} from "../../src/limits/index.ts";
import { A100_40, OPT_13B } from "./hardware-of-the-table.ts";

const ENGINE = saturatedBorrower(A100_40, OPT_13B, 1);
/** One resident alone: weights, host, and next to no KV. */
const STEP_ALONE_SECONDS = ENGINE.weightBytes / ENGINE.hbmBytesPerSecond + 0.003;

function columns(rows: readonly (readonly [number, number, number])[]): RequestColumns {
  return {
    count: rows.length,
    arrivalNs: rows.map(([seconds]) => seconds * 1e9),
    promptTokens: rows.map(([, prompt]) => prompt),
    outputTokens: rows.map(([, , output]) => output),
  };
}

const window = (startSeconds: number, endSeconds: number): { startNs: number; endNs: number } => ({
  startNs: startSeconds * 1e9,
  endNs: endSeconds * 1e9,
});

describe("the mean context", () => {
  it("weighs a request by how long it is resident", () => {
    // 100 steps at a mean of 150, 900 steps at a mean of 460.
    const lengths = lengthsOf([100, 10], [100, 900]);
    expect(lengths.contextTokens).toBeCloseTo((100 * 150 + 900 * 460) / 1000, 9);
    expect(lengths.meanPromptTokens).toBe(55);
    expect(lengths.meanOutputTokens).toBe(500);
  });

  it("lies between the least and the most any resident ever has", () => {
    const tokens = fc.integer({ min: 1, max: 4000 });
    const rows = fc.array(fc.tuple(tokens, tokens), { minLength: 1 });
    fc.assert(
      fc.property(rows, (pairs) => {
        const prompts = pairs.map(([prompt]) => prompt);
        const outputs = pairs.map(([, output]) => output);
        const { contextTokens } = lengthsOf(prompts, outputs);
        expect(contextTokens).toBeGreaterThanOrEqual(Math.min(...prompts));
        const ends = pairs.map(([prompt, output]) => prompt + output);
        expect(contextTokens).toBeLessThanOrEqual(Math.max(...ends));
      }),
    );
  });
});

describe("groups of prompts", () => {
  it("hold equally many each, shortest first, and stand for them by their means", () => {
    // 64 prompts in 32 groups: two in each.
    const prompts = Array.from({ length: 64 }, (_, row) => 10 * (64 - row));
    const { promptGroups } = lengthsOf(prompts, prompts);
    expect(promptGroups.length).toBe(32);
    expect(promptGroups[0]).toBeCloseTo(15, 9);
    expect(promptGroups[31]).toBeCloseTo(635, 9);
  });

  it("share the prompts at their borders, and keep the mean", () => {
    // 48 prompts: a group and a half for each three.
    const prompts = Array.from({ length: 48 }, (_, row) => 30 * (row + 1));
    const { promptGroups, meanPromptTokens } = lengthsOf(prompts, prompts);
    expect(promptGroups[0]).toBeCloseTo((30 + 0.5 * 60) / 1.5, 9);
    expect(promptGroups[1]).toBeCloseTo((0.5 * 60 + 90) / 1.5, 9);
    const mean = promptGroups.reduce((sum, tokens) => sum + tokens, 0) / promptGroups.length;
    expect(mean).toBeCloseTo(meanPromptTokens, 9);
  });

  it("are the prompts themselves where there are few", () => {
    expect(lengthsOf([7, 3], [1, 1]).promptGroups).toEqual([3, 7]);
  });
});

describe("the share of time a lender runs", () => {
  it("is nothing without requests", () => {
    expect(lenderLoad(ENGINE, columns([]), 256, window(0, 100))).toEqual({
      runShare: 0,
      residentBytes: 0,
    });
  });

  it("is a request's prefill and its steps, alone", () => {
    const { runShare } = lenderLoad(ENGINE, columns([[10, 100, 338]]), 256, window(0, 100));
    const least = (338 * STEP_ALONE_SECONDS) / 100;
    expect(runShare).toBeGreaterThan(least);
    // Its own KV, 269 tokens on average, adds 0.7 % to a step; its prefill is one step.
    expect(runShare).toBeLessThan(least * 1.02);
  });

  it("counts overlapping requests once", () => {
    const one = lenderLoad(ENGINE, columns([[10, 100, 338]]), 256, window(0, 100)).runShare;
    const twin = columns([[10, 100, 338], [10, 100, 338]]);
    const two = lenderLoad(ENGINE, twin, 256, window(0, 100));
    expect(two.runShare).toBeLessThan(one * 1.02);
    expect(two.residentBytes).toBeCloseTo(2 * 269 * ENGINE.kvBytesPerToken, -6);
    const apart = columns([[10, 100, 338], [50, 100, 338]]);
    expect(lenderLoad(ENGINE, apart, 256, window(0, 100)).runShare).toBeCloseTo(2 * one, 2);
  });

  it("is cut to the window, whose start may be anywhere", () => {
    const requests = columns([[10, 100, 338], [500, 100, 338]]);
    expect(lenderLoad(ENGINE, requests, 256, window(12, 14)).runShare).toBe(1);
    expect(lenderLoad(ENGINE, requests, 256, window(100, 200)).runShare).toBe(0);
  });

  it("is all the time for a lender with more work than it can serve", () => {
    const rows = Array.from({ length: 2000 }, (_, row) => [row / 20, 161, 338] as const);
    const { runShare, residentBytes } = lenderLoad(ENGINE, columns(rows), 256, window(0, 100));
    expect(runShare).toBe(1);
    expect(residentBytes).toBeCloseTo(ENGINE.ownKvBytes, -6);
  });

  it("runs on through the work it is behind with", () => {
    // 400 requests at once: 135,200 tokens at about 900 a second keep it running for 150 s.
    const rows = Array.from({ length: 400 }, () => [0, 161, 338] as const);
    const { runShare } = lenderLoad(ENGINE, columns(rows), 256, window(0, 1000));
    expect(runShare).toBeGreaterThan(0.12);
    expect(runShare).toBeLessThan(0.2);
  });
});
