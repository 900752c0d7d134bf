/** Admission as a law of counts: never beyond the memory, never less willing with more of it. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { waitsATurn } from "../../src/scheduler/admission.ts";
import { ADMISSION_SETTINGS, admits, type AdmissionState } from "../../src/scheduler/index.ts";

const blocks = fc.nat(5000);
const growth = fc.double({ min: 0, max: 5000, noNaN: true });
const state: fc.Arbitrary<AdmissionState> = fc.record({
  capacityBlocks: blocks,
  usedBlocks: blocks,
  claimedBlocks: blocks,
  growthBlocks: growth,
  runningSequences: fc.nat(20),
});
const setting = fc.constantFrom(...ADMISSION_SETTINGS);

describe("admits", () => {
  it("never starts what does not fit now", () => {
    fc.assert(
      fc.property(setting, state, blocks, growth, (chosen, now, need, later) => {
        const present = now.usedBlocks + now.claimedBlocks + need;
        if (present > now.capacityBlocks) expect(admits(chosen, now, need, later)).toBe(false);
      }),
    );
  });

  it("starts the first request whenever it fits, however long it may become", () => {
    fc.assert(
      fc.property(setting, state, blocks, growth, (chosen, now, need, later) => {
        const alone = { ...now, runningSequences: 0 };
        const present = now.usedBlocks + now.claimedBlocks + need;
        expect(admits(chosen, alone, need, later)).toBe(present <= now.capacityBlocks);
      }),
    );
  });

  it("is never less willing with more memory, less growth or a lower share kept for it", () => {
    fc.assert(
      fc.property(setting, state, blocks, growth, blocks, (chosen, now, need, later, more) => {
        fc.pre(admits(chosen, now, need, later));
        const larger = { ...now, capacityBlocks: now.capacityBlocks + more };
        expect(admits(chosen, larger, need, later)).toBe(true);
        const calmer = { ...now, growthBlocks: Math.max(0, now.growthBlocks - more) };
        expect(admits(chosen, calmer, need, later)).toBe(true);
        expect(admits(chosen, now, need, later / 2)).toBe(true);
        expect(admits({ ...chosen, growthShare: chosen.growthShare / 2 }, now, need, later)).toBe(
          true,
        );
      }),
    );
  });

  it("keeps the share of everybody's growth that the setting names, to the block", () => {
    const half = { name: "half", growthShare: 0.5 };
    const now = { usedBlocks: 40, claimedBlocks: 10, growthBlocks: 20, runningSequences: 3 };
    // 40 + 10 + 20 needed, and half of 20 + 20.
    expect(admits(half, { ...now, capacityBlocks: 90 }, 20, 20)).toBe(true);
    expect(admits(half, { ...now, capacityBlocks: 89 }, 20, 20)).toBe(false);
  });

  it("settings differ, have names of their own and shares between none and all", () => {
    const names = ADMISSION_SETTINGS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(1);
    for (const { growthShare } of ADMISSION_SETTINGS) {
      expect(growthShare).toBeGreaterThanOrEqual(0);
      expect(growthShare).toBeLessThanOrEqual(1);
    }
  });
});

describe("a turn", () => {
  const growth10 = ADMISSION_SETTINGS[0]!;
  const turn = { tokens: 100, waitedNs: 2e9, stepPromptTokens: 200, fullShare: 0.95 };

  it("is waited for by who queues for memory, when two prompts are no longer free", () => {
    expect(waitsATurn(growth10, turn)).toBe(true);
    expect(waitsATurn(growth10, { ...turn, stepPromptTokens: 156 })).toBe(false);
    expect(waitsATurn(growth10, { ...turn, stepPromptTokens: 157 })).toBe(true);
  });

  it("comes at once to the only prompt of a step, however long it is", () => {
    expect(waitsATurn(growth10, { ...turn, tokens: 8000, stepPromptTokens: 0 })).toBe(false);
  });

  it("comes at once to who came just now, and while memory stands empty", () => {
    expect(waitsATurn(growth10, { ...turn, waitedNs: 0.9e9 })).toBe(false);
    expect(waitsATurn(growth10, { ...turn, fullShare: 0.8 })).toBe(false);
  });

  it("is no rule of vLLM's", () => {
    expect(waitsATurn({ name: "vllm", growthShare: 0, present: "prompt" }, turn)).toBe(false);
  });
});
