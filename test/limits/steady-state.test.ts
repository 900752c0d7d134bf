/**
 * The simulator against the closed form, which share no code: a saturated borrower's steady state
 * comes within two hundredths of what the closed form gives, and never exceeds `ema limits`.
 *
 * A part of tools/limit-sweep.ts; where other points of the sweep stand, and why, is in
 * docs/EXPERIMENTS.md. Some of them are held by a wider bound here.
 */

import { describe, expect, it } from "vitest";
import { comparePoint } from "../../tools/limit-sweep-compare.ts";
import type { SteadyCase } from "../../tools/limit-sweep-run.ts";

type Row = readonly [
  server: string,
  model: string,
  contextTokens: number,
  mode: SteadyCase["mode"],
  cap: string,
  lenders: "idle" | "run",
];

const NEAR: readonly Row[] = [
  ["4xa100-40g", "OPT-13B", 1024, "mixed", "100%", "idle"],
  ["4xa100-80g", "Qwen3-32B", 1024, "mixed", "100%", "idle"],
  ["4xa100-80g", "Qwen3-32B", 1024, "mixed", "none", "idle"],
  ["4xa100-80g", "Qwen3-32B", 1024, "staged", "none", "idle"],
  ["4xh100", "Qwen3-32B", 1024, "mixed", "100%", "idle"],
  ["4xh100", "Qwen3-32B", 1024, "mixed", "none", "idle"],
  ["4xh100", "Qwen3-32B", 1024, "staged", "100%", "idle"],
  ["4xh100", "Qwen3-32B", 1024, "direct", "none", "idle"],
  ["4xh100", "Qwen2.5-14B", 2048, "mixed", "100%", "idle"],
  ["4xh100", "CodeLlama-34B", 1024, "mixed", "none", "idle"],
  ["4xh200", "Qwen3-32B", 2048, "mixed", "none", "idle"],
  ["4xh200", "Qwen3-32B", 2048, "direct", "none", "idle"],
  // Nothing is held of these lenders at first, and nobody tells that they run.
  ["4xa100-40g", "OPT-13B", 512, "mixed", "100%", "run"],
  ["4xh100", "Qwen3-32B", 1024, "staged", "100%", "run"],
  ["4xh100", "Qwen3-32B", 1024, "direct", "100%", "run"],
  ["4xh200", "Qwen3-32B", 2048, "mixed", "100%", "run"],
];

const LESS_NEAR: readonly Row[] = [
  // Parts of sequences are weighed, where all are at the same context.
  ["4xa100-40g", "OPT-13B", 1024, "direct", "none", "idle"],
  ["4xa100-40g", "OPT-13B", 512, "direct", "100%", "run"],
];

function point([server, model, contextTokens, mode, cap, lenders]: Row) {
  const areLendersRunning = lenders === "run";
  return comparePoint({ server, model, contextTokens, mode, cap, areLendersRunning });
}

describe("a saturated borrower in the simulator", () => {
  it.each(NEAR)("%s, %s at %i, %s, cap %s, lenders %s: within two hundredths", (...row) => {
    const { simulated, difference, limitTokensPerSecond } = point(row);
    expect(simulated.steps).toBeGreaterThan(20);
    expect(simulated.remoteBytes).toBeGreaterThan(0);
    expect(Math.abs(difference)).toBeLessThanOrEqual(0.02);
    expect(simulated.tokensPerSecond).toBeLessThanOrEqual(limitTokensPerSecond);
  });

  it.each(LESS_NEAR)("%s, %s at %i, %s, cap %s, lenders %s: within five hundredths", (...row) => {
    const { simulated, difference, limitTokensPerSecond } = point(row);
    expect(Math.abs(difference)).toBeLessThanOrEqual(0.05);
    expect(simulated.tokensPerSecond).toBeLessThanOrEqual(limitTokensPerSecond);
  });
});
