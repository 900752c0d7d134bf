/**
 * The answers of /v1/chat/completions: the whole one, and its chunks.
 *
 * Called by the chat route with pieces of choices. Pure; the forms are OpenAI's (API reference,
 * "The chat completion object" and "The chat completion chunk object").
 */

import type { FinishReason } from "../serving/index.ts";
import type { ChoicePiece } from "./choice-reader.ts";
import type { NamedLogprob, PlacedLogprob } from "./logprob-queue.ts";

/** What is the same in every chunk of an answer. */
export interface AnswerHead {
  readonly id: string;
  readonly createdUnixSeconds: number;
  readonly model: string;
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export function usageOf(promptTokens: number, completionTokens: number): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

/** The pieces of one choice, put together. */
export interface WholeChoice {
  readonly index: number;
  readonly text: string;
  readonly logprobs: readonly PlacedLogprob[];
  readonly finishReason: FinishReason;
}

/** The whole answer. */
export function chatAnswer(
  head: AnswerHead,
  choices: readonly WholeChoice[],
  usage: Usage,
  hasLogprobs: boolean,
): object {
  return {
    ...headOf(head, "chat.completion"),
    choices: choices.map(({ index, text, logprobs, finishReason }) => ({
      index,
      message: { role: "assistant", content: text, refusal: null },
      logprobs: hasLogprobs ? { content: logprobs.map(tokenOf), refusal: null } : null,
      finish_reason: finishReason,
    })),
    usage,
  };
}

/** The chunk that opens a choice. */
export function chatOpening(head: AnswerHead, index: number): object {
  const delta = { role: "assistant", content: "" };
  const choices = [{ index, delta, logprobs: null, finish_reason: null }];
  return { ...headOf(head, "chat.completion.chunk"), choices };
}

/** The chunks of a piece: its text if it has any, its finish reason if it is the last. */
export function chatChunks(head: AnswerHead, piece: ChoicePiece, hasLogprobs: boolean): object[] {
  const { index, text, logprobs, finishReason } = piece;
  const chunks: object[] = [];
  const add = (delta: object, tokens: readonly PlacedLogprob[], reason: FinishReason | null) => {
    const content = hasLogprobs && tokens.length > 0 ? tokens.map(tokenOf) : null;
    const listed = content === null ? null : { content, refusal: null };
    const choices = [{ index, delta, logprobs: listed, finish_reason: reason }];
    chunks.push({ ...headOf(head, "chat.completion.chunk"), choices });
  };
  if (text !== "" || logprobs.length > 0) add({ content: text }, logprobs, null);
  if (finishReason !== null) add({}, [], finishReason);
  return chunks;
}

/** The last chunk of a stream that was asked for its usage. */
export function chatUsageChunk(head: AnswerHead, usage: Usage): object {
  return { ...headOf(head, "chat.completion.chunk"), choices: [], usage };
}

function headOf({ id, createdUnixSeconds, model }: AnswerHead, object: string): object {
  return { id, object, created: createdUnixSeconds, model, system_fingerprint: null };
}

function tokenOf({ token, top }: PlacedLogprob): object {
  return { ...named(token), top_logprobs: top.map(named) };
}

function named({ text, logprob, bytes }: NamedLogprob): object {
  return { token: text, logprob, bytes };
}
