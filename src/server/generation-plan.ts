/**
 * From a checked request and its prompts to what the engine is asked to generate.
 *
 * Called by both routes. Pure but for the seed, which is drawn where the request has none. It
 * refuses what cannot fit before anything is submitted.
 */

import type { GenerationRequest } from "../serving/index.ts";
import { badRequest } from "./api-error.ts";
import type { SamplingFields } from "./sampling-schema.ts";
import type { HostedEngine } from "./hosted-engine.ts";

/** What both forms of request come down to. */
export interface GenerationAsk {
  readonly fields: SamplingFields;
  readonly prompts: readonly Int32Array[];
  /** null: what the context leaves. */
  readonly outputTokensMax: number | null;
  readonly topLogprobs: number | null;
  /** The option's name in messages. */
  readonly outputKey: string;
}

/** @returns requests in the order of choices: prompt by prompt, `n` of each. */
export function planGenerations(
  ask: GenerationAsk,
  engine: HostedEngine,
  choicesMax: number,
  drawSeed: () => number,
): GenerationRequest[] {
  const { fields, prompts, topLogprobs } = ask;
  const n = fields.n ?? 1;
  if (n * prompts.length > choicesMax) {
    const count = n * prompts.length;
    const message = `'n' times the number of prompts is ${count}, at most ${choicesMax}`;
    throw badRequest(message, "n", "too_many_choices");
  }
  const stopIds = stopIdsOf(fields, engine);
  // As in vLLM, choice i of a prompt draws with seed + i: choices differ, and each can be repeated.
  const firstSeed = fields.seed ?? drawSeed();
  if (!Number.isSafeInteger(firstSeed + (n - 1))) {
    const message = `'seed' ${firstSeed} leaves no seeds for ${n} choices`;
    throw badRequest(message, "seed", "invalid_value");
  }
  return prompts.flatMap((promptIds) => {
    const outputTokensMax = outputTokensOf(ask, promptIds.length, engine);
    return Array.from({ length: n }, (_, index) => ({
      promptIds,
      outputTokensMax,
      sampling: samplingOf(fields, firstSeed + index),
      stopIds,
      topLogprobs,
    }));
  });
}

/** The stop strings of a request. */
export function stopsOf({ stop }: SamplingFields): readonly string[] {
  if (stop === undefined || stop === null) return [];
  return typeof stop === "string" ? [stop] : stop;
}

function samplingOf(fields: SamplingFields, seed: number): GenerationRequest["sampling"] {
  const topP = fields.top_p ?? 1;
  // The least nucleus is the likeliest token alone, and that is what temperature 0 means.
  const temperature = topP === 0 ? 0 : (fields.temperature ?? 1);
  return { temperature, topP: topP === 0 ? 1 : topP, seed };
}

function stopIdsOf(fields: SamplingFields, { tokenizer }: HostedEngine): readonly number[] {
  const own = fields.ignore_eos === true ? [] : tokenizer.endIds;
  return [...own, ...(fields.stop_token_ids ?? [])];
}

function outputTokensOf(ask: GenerationAsk, promptTokens: number, engine: HostedEngine): number {
  const { contextTokensMax } = engine.model;
  const asked = ask.outputTokensMax;
  const left = contextTokensMax - promptTokens;
  if (left >= (asked ?? 1)) return asked ?? left;
  const answer = asked === null ? "" : ` and ${asked} for the answer ('${ask.outputKey}')`;
  const message =
    `The model's context holds ${contextTokensMax} tokens; ` +
    `the request has ${promptTokens} in the prompt${answer}`;
  throw badRequest(message, asked === null ? null : ask.outputKey, "context_length_exceeded");
}
