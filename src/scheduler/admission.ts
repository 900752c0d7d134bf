/**
 * Whether one more request may start: a pure function of counts.
 *
 * Asked by the scheduler for the head of the queue. It admits up to the memory that is there when
 * every running sequence has grown by the share of its expected further output that the setting
 * names. Counting all of it wastes memory that finishing sequences free in time; counting none of
 * it preempts: which is best depends on the workload, so every system has the same short list.
 */

export interface AdmissionSetting {
  readonly name: string;
  /** Share of the expected further output of running sequences that is kept free for them. */
  readonly growthShare: number;
  /**
   * Instead: only blocks free now count, for the whole prompt or for its next chunk, and nobody is
   * admitted in a step that preempts; vLLM's rule.
   */
  readonly present?: "prompt" | "chunk";
}

/** The list every system chooses its best from, so that a comparison is not one of settings. */
export const ADMISSION_SETTINGS: readonly AdmissionSetting[] = [
  { name: "growth-10", growthShare: 0.1 },
  { name: "growth-20", growthShare: 0.2 },
  { name: "growth-30", growthShare: 0.3 },
];

/** Tokens that a request of `tokens` tokens needs room for when it starts. */
export function neededTokens(setting: AdmissionSetting, tokens: number, budget: number): number {
  if (setting.present === undefined) return tokens + 1;
  return setting.present === "prompt" ? tokens : Math.min(tokens, budget);
}

export interface AdmissionState {
  /** Blocks the engine may use once everything it can count on is there. */
  readonly capacityBlocks: number;
  /** Blocks of all running sequences. */
  readonly usedBlocks: number;
  /** Blocks that admitted prompts still need. */
  readonly claimedBlocks: number;
  /** Expected further blocks of the running sequences, all of them. */
  readonly growthBlocks: number;
  readonly runningSequences: number;
}

/** @returns whether a request that needs `needBlocks` now and `growthBlocks` later may start. */
export function admits(
  setting: AdmissionSetting,
  state: AdmissionState,
  needBlocks: number,
  growthBlocks: number,
): boolean {
  const present = state.usedBlocks + state.claimedBlocks + needBlocks;
  if (state.runningSequences === 0) return present <= state.capacityBlocks;
  const later = setting.growthShare * (state.growthBlocks + growthBlocks);
  return present + later <= state.capacityBlocks;
}
