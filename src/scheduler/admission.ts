/**
 * Whether one more request may start: a pure function of counts.
 *
 * Asked by the scheduler for the head of the queue. It admits up to the memory that is there when
 * every running sequence has grown by the share of its expected further output that the setting
 * names. Counting all of it wastes memory that finishing sequences free in time; counting none of
 * it preempts: which is best depends on the workload, so every system has the same short list.
 * It also says who leaves a step to others' prompts.
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

/**
 * The list every system chooses its best from, so that a comparison is not one of settings. Servers
 * run with the first. The last serves the most where sequences are many: what they grow by is then
 * nearly even. It preempts about three times as often as the first.
 */
export const ADMISSION_SETTINGS: readonly AdmissionSetting[] = [
  { name: "growth-10", growthShare: 0.1 },
  { name: "growth-5", growthShare: 0.05 },
  { name: "growth-30", growthShare: 0.3 },
];

/**
 * Prompt tokens from which on matrix products wait for compute, not for weights: FLOP/s over
 * bytes/s of the catalogue's GPUs are 190 to 260 for weights of two bytes.
 */
const STEP_PROMPT_TOKENS = 256;
/** Who has waited so long does not notice another step. */
const LONG_WAIT_NS = 1e9;
/** Below it memory is not what requests wait for: prompts are the work, and steps take them in. */
const NEARLY_FULL_SHARE = 0.9;

/** A request that memory has room for, and the step that could take it in. */
export interface Turn {
  /** What it has to compute. */
  readonly tokens: number;
  readonly waitedNs: number;
  /** Query tokens of prompts that the step already has. */
  readonly stepPromptTokens: number;
  /** Share of memory that is used and claimed once it has started. */
  readonly fullShare: number;
}

/**
 * Whether a request that could start leaves this step to the prompts it has. Beside decodes a
 * prompt is nearly free until the products wait for compute, and after that it costs its time in
 * full: two prompts in two steps cost less than in one. Only who queues for memory is asked to
 * wait.
 */
export function waitsATurn(setting: AdmissionSetting, turn: Turn): boolean {
  const { tokens, waitedNs, stepPromptTokens, fullShare } = turn;
  if (setting.present !== undefined || stepPromptTokens === 0) return false;
  if (fullShare < NEARLY_FULL_SHARE || waitedNs < LONG_WAIT_NS) return false;
  return stepPromptTokens + tokens > STEP_PROMPT_TOKENS;
}

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
