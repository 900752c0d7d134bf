/**
 * From the requests of a workload to the one context length the closed form wants.
 *
 * Called by the command line with the columns of a scenario's requests. It does not know where they
 * come from.
 *
 * Under continuous batching a request is resident for about `output` steps while its context grows
 * from `prompt` to `prompt + output`; so a sequence met at a random moment has the context
 *   E[output x (prompt + output / 2)] / E[output],
 * which for log-normal lengths is far above the mean prompt plus half the mean output, because long
 * outputs are resident longest.
 */

import { assert } from "../base/index.ts";

export interface Lengths {
  readonly meanPromptTokens: number;
  readonly meanOutputTokens: number;
  /** Time average over the residents. */
  readonly contextTokens: number;
}

/** @param promptTokens and outputTokens are parallel columns of at least one row, each >= 1. */
export function lengthsOf(
  promptTokens: ArrayLike<number>,
  outputTokens: ArrayLike<number>,
): Lengths {
  const count = promptTokens.length;
  assert(count > 0, "lengths: no requests");
  assert(outputTokens.length === count, `lengths: ${outputTokens.length} outputs for ${count}`);
  let promptSum = 0;
  let outputSum = 0;
  let weightedSum = 0;
  for (let row = 0; row < count; row++) {
    const prompt = promptTokens[row]!;
    const output = outputTokens[row]!;
    promptSum += prompt;
    outputSum += output;
    weightedSum += output * (prompt + output / 2);
  }
  return {
    meanPromptTokens: promptSum / count,
    meanOutputTokens: outputSum / count,
    contextTokens: weightedSum / outputSum,
  };
}
