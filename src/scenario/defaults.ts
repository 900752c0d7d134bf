/**
 * What a scenario gets where it says nothing.
 *
 * Read by the files that resolve each part; the figures are the project's published defaults, so
 * that two people who leave out the same key compare the same thing.
 */

import type { PoolSettings, Slo, SystemBase } from "./scenario.ts";

export const DEFAULT_SEED = 1;
export const DEFAULT_SLO: Slo = { ttftSeconds: 2, tpotSeconds: 0.1 };
export const DEFAULT_SYSTEMS: readonly SystemBase[] = ["static", "double", "ema"];
export const DEFAULT_ENGINE = { blockTokens: 16, maxBatchTokens: 2048, maxSequences: 256 };

export const DEFAULT_POOL: PoolSettings = {
  // Borrowing up to the engine's own size: what the system with twice the memory also has.
  borrowLimit: { kind: "share", share: 1 },
  headroom: "auto",
  lenderShare: 0.02,
  sliceBytes: 64 * 1024 ** 2,
  interference: "subtractive",
  accessMode: "mixed",
  // 2.2 to 2.5 us a copy in a batch, measured on H100.
  copyCostSeconds: 2.3e-6,
};

/** The default cut of prompts: this share of the model's context. */
export const MAX_PROMPT_SHARE = 0.5;
