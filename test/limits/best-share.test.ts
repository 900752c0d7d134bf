/** The search for the best share against every share there is: whole slices, prompts included. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { bestShare, evaluateShare, type Surroundings } from "../../src/limits/best-share.ts";
import { saturatedBorrower } from "../../src/limits/index.ts";
import { H100, QWEN3_32B } from "./hardware-of-the-table.ts";

const SLICE_BYTES = 64 * 1024 * 1024;

interface Drawn {
  readonly mode: "staged" | "direct" | "mixed";
  readonly localSlices: number;
  readonly remoteSlices: number;
  readonly idleShare: number;
  readonly ringShare: number;
  readonly context: number;
  readonly prompt: number;
  readonly output: number;
  readonly link: number;
  readonly isWhole: boolean;
  readonly copySecondsPerByte: number;
}

/** What the search once missed by up to three percent. */
const MISSED_BEFORE: Drawn[] = [
  {
    mode: "mixed",
    localSlices: 42,
    remoteSlices: 57,
    idleShare: 1,
    ringShare: 1 / 16,
    context: 2520,
    prompt: 5338,
    output: 998,
    link: 9e11,
    isWhole: true,
    copySecondsPerByte: 0,
  },
  {
    mode: "direct",
    localSlices: 23,
    remoteSlices: 6,
    idleShare: 0.5,
    ringShare: 1 / 16,
    context: 277,
    prompt: 4060,
    output: 996,
    link: 60505131637.25683,
    isWhole: true,
    copySecondsPerByte: 1e-12,
  },
];

it("no pair of borrowed and staged slices beats the one found", () => {
  const arbitrary: fc.Arbitrary<Drawn> = fc.record({
    mode: fc.constantFrom("staged" as const, "direct" as const, "mixed" as const),
    localSlices: fc.integer({ min: 20, max: 80 }),
    remoteSlices: fc.integer({ min: 0, max: 80 }),
    idleShare: fc.constantFrom(0, 0.5, 1),
    ringShare: fc.constantFrom(0, 1 / 32, 1 / 16),
    context: fc.integer({ min: 64, max: 4096 }),
    prompt: fc.integer({ min: 1, max: 6000 }),
    output: fc.integer({ min: 1, max: 1000 }),
    link: fc.double({ min: 20e9, max: 900e9, noNaN: true }),
    isWhole: fc.boolean(),
    copySecondsPerByte: fc.constantFrom(0, 1e-12, 4e-12),
  });
  fc.assert(
    fc.property(arbitrary, (raw) => {
      const borrower = saturatedBorrower(H100, QWEN3_32B, raw.context);
      const surroundings: Surroundings = {
        borrower,
        mode: raw.mode,
        localBytes: raw.localSlices * SLICE_BYTES,
        remoteBytesMax: raw.remoteSlices * SLICE_BYTES,
        idleBytes: raw.idleShare * raw.remoteSlices * SLICE_BYTES,
        sequenceBytes: (raw.context + 8) * borrower.kvBytesPerToken,
        openBytes: 16 * borrower.kvBytesPerToken,
        ringShare: raw.mode === "direct" ? 0 : raw.ringShare,
        unitBytes: SLICE_BYTES,
        sequencesMax: 256,
        areSequencesWhole: raw.isWhole,
        link: {
          bytesPerSecond: raw.link,
          pacedBytesPerSecond: 100e9,
          copySecondsPerByte: raw.copySecondsPerByte,
          latencySeconds: 7.5e-6,
          groupLayers: 1,
        },
        prefill: {
          lengths: {
            meanPromptTokens: raw.prompt,
            meanOutputTokens: raw.output,
            contextTokens: raw.context,
            promptGroups: [raw.prompt],
          },
          batchTokensMax: 2048,
        },
      };
      const found = bestShare(surroundings);
      // Whole slices and prompts bend the curve: half a percent is what the search may leave.
      const best = gridBest(surroundings, raw.remoteSlices) * 0.995;
      expect(found.tokensPerSecond).toBeGreaterThanOrEqual(best);
      expect(found.remoteBytes).toBeLessThanOrEqual(surroundings.remoteBytesMax);
      expect(found.stagedBytes).toBeLessThanOrEqual(found.remoteBytes);
    }),
    { numRuns: 100, examples: MISSED_BEFORE.map((raw): [Drawn] => [raw]) },
  );
});

function gridBest(surroundings: Surroundings, remoteSlices: number): number {
  let best = 0;
  for (let remote = 0; remote <= remoteSlices; remote++) {
    const first = surroundings.mode === "staged" ? remote : 0;
    const last = surroundings.mode === "direct" ? 0 : remote;
    for (let staged = first; staged <= last; staged++) {
      const bytes = [remote * SLICE_BYTES, staged * SLICE_BYTES] as const;
      best = Math.max(best, evaluateShare(surroundings, ...bytes).tokensPerSecond);
    }
  }
  return best;
}
