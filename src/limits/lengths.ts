/**
 * From the requests of a workload to what the closed form wants: one context, and typical prompts.
 *
 * Called by the command line with the columns of a scenario's requests. It does not know where they
 * come from.
 *
 * Under continuous batching a request is resident for about `output` steps while its context grows
 * from `prompt` to `prompt + output`; so a sequence met at a random moment has the context
 *   E[output x (prompt + output / 2)] / E[output],
 * which for log-normal lengths is far above the mean prompt plus half the mean output, because long
 * outputs are resident longest.
 *
 * What prompts cost is no function of their mean: beside decodes a short one is free and a long one
 * is not. So the prompts are put in order and cut into groups of equally many, each of which stands
 * for itself by its mean.
 */

import { assert } from "../base/index.ts";

/** Groups of prompts: more of them change no limit by a thousandth. */
const PROMPT_GROUPS = 32;

export interface Lengths {
  readonly meanPromptTokens: number;
  readonly meanOutputTokens: number;
  /** Time average over the residents. */
  readonly contextTokens: number;
  /** Mean of each group of equally many prompts, shortest first. */
  readonly promptGroups: readonly number[];
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
    promptGroups: groupMeans(promptTokens, Math.min(count, PROMPT_GROUPS)),
  };
}

/** Groups share the rows at their borders, so that each has exactly its part of them. */
function groupMeans(tokens: ArrayLike<number>, groups: number): number[] {
  const sorted = Float64Array.from(tokens).sort();
  const rows = sorted.length / groups;
  return Array.from({ length: groups }, (_, group) => {
    const [from, to] = [group * rows, (group + 1) * rows];
    let sum = 0;
    for (let row = Math.floor(from); row < Math.min(to, sorted.length); row++) {
      sum += sorted[row]! * (Math.min(row + 1, to) - Math.max(row, from));
    }
    return sum / rows;
  });
}
