/**
 * The answers of /v1/completions: the whole one, and its chunks.
 *
 * Called by the completion route with pieces of choices. Pure; the forms are OpenAI's (API
 * reference, "The completion object"), streamed chunks have the same form as the whole.
 */

import type { FinishReason } from "../serving/index.ts";
import type { AnswerHead, Usage } from "./chat-answer.ts";
import type { NamedLogprob, PlacedLogprob } from "./logprob-queue.ts";

/** A choice, or as much of it as has come since the last chunk. */
export interface CompletionPart {
  readonly index: number;
  readonly text: string;
  readonly logprobs: readonly PlacedLogprob[];
  readonly finishReason: FinishReason | null;
}

/**
 * One answer, or one chunk of it.
 * @param usage null: not told here
 */
export function completionAnswer(
  head: AnswerHead,
  parts: readonly CompletionPart[],
  usage: Usage | null,
  hasLogprobs: boolean,
): object {
  return {
    id: head.id,
    object: "text_completion",
    created: head.createdUnixSeconds,
    model: head.model,
    system_fingerprint: null,
    choices: parts.map(({ index, text, logprobs, finishReason }) => ({
      index,
      text,
      logprobs: hasLogprobs ? columnsOf(logprobs) : null,
      finish_reason: finishReason,
    })),
    ...(usage === null ? {} : { usage }),
  };
}

/** Offsets are into the generated text: an echo has no log probabilities. */
function columnsOf(logprobs: readonly PlacedLogprob[]): object {
  return {
    tokens: logprobs.map(({ token }) => token.text),
    token_logprobs: logprobs.map(({ token }) => token.logprob),
    top_logprobs: logprobs.map(({ token, top }) => likeliest([...top, token])),
    text_offset: logprobs.map(({ textOffset }) => textOffset),
  };
}

/** By text; of tokens with one text the likelier is kept. */
function likeliest(tokens: readonly NamedLogprob[]): Record<string, number> {
  const byText = new Map<string, number>();
  for (const { text, logprob } of tokens) {
    byText.set(text, Math.max(logprob, byText.get(text) ?? -Infinity));
  }
  return Object.fromEntries(byText);
}
