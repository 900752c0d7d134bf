/**
 * One choice of an answer, read at the client's pace: tokens of a generation become pieces of text.
 *
 * Made by a choice set, one a generation; knows neither HTTP nor the form of an answer. A piece
 * holds whatever tokens are there when it is asked for, up to a limit: a fast client gets a token a
 * piece, a slow one gets several and misses none.
 *
 * Invariants: the pieces' text is the choice's text; exactly the last piece has a finish reason; a
 * generation that is no longer read is aborted.
 */

import { TextStream, type Tokenizer } from "../model/index.ts";
import type { FinishReason, Generation } from "../serving/index.ts";
import { badRequest, unavailable, type ApiError } from "./api-error.ts";
import { LogprobQueue, type PlacedLogprob } from "./logprob-queue.ts";
import type { HostedEngine } from "./hosted-engine.ts";

/** Enough to catch up quickly, and a few kilobytes at most. */
const PIECE_TOKENS_MAX = 64;

/** What has become known of a choice since the last piece. */
export interface ChoicePiece {
  readonly index: number;
  readonly text: string;
  /** Empty unless asked for; their texts cover the text given out so far. */
  readonly logprobs: readonly PlacedLogprob[];
  readonly finishReason: FinishReason | null;
}

/** Reads one generation to its end. */
export class ChoiceReader {
  readonly index: number;
  readonly #generation: Generation;
  readonly #tokenizer: Tokenizer;
  readonly #text: TextStream;
  readonly #logprobs: LogprobQueue | null;
  readonly #stopIds: ReadonlySet<number>;
  #previousId: number;
  #readCount = 0;
  #hasEnded = false;
  #hasMetStop = false;

  constructor(
    index: number,
    engine: HostedEngine,
    generation: Generation,
    stops: readonly string[],
  ) {
    const { promptIds, stopIds, topLogprobs } = generation.request;
    const previousId = promptIds.at(-1) ?? -1;
    this.index = index;
    this.#generation = generation;
    this.#stopIds = new Set(stopIds);
    this.#tokenizer = engine.tokenizer;
    this.#text = new TextStream(stops);
    this.#previousId = previousId;
    this.#logprobs = topLogprobs === null ? null : new LogprobQueue(engine.tokenizer, previousId);
  }

  /** Tokens that the text was made of; a stop string's count, those behind it do not. */
  get tokenCount(): number {
    return this.#readCount;
  }

  /** A stop string ended the choice, and with it the generation. */
  get hasMetStop(): boolean {
    return this.#hasMetStop;
  }

  /**
   * @returns the next piece, or null behind the last.
   * @throws ApiError when the generation failed, or was aborted by someone else.
   */
  async next(): Promise<ChoicePiece | null> {
    if (this.#hasEnded) return null;
    for (;;) {
      const text = this.#read();
      const logprobs = this.#logprobs?.take(text, false) ?? [];
      if (this.#text.isStopped) return this.#stopAtText(text, logprobs);
      if (text !== "" || logprobs.length > 0) {
        return { index: this.index, text, logprobs, finishReason: null };
      }
      if (this.#readCount < this.#generation.tokenCount) continue;
      if (hasEnded(this.#generation)) return this.#end();
      await this.#generation.waitBeyond(this.#readCount);
    }
  }

  #read(): string {
    const last = Math.min(this.#generation.tokenCount, this.#readCount + PIECE_TOKENS_MAX);
    let text = "";
    while (this.#readCount < last && !this.#text.isStopped) {
      const index = this.#readCount++;
      const id = this.#generation.tokenAt(index);
      // The token that ends a generation is no text, whatever its bytes would be.
      if (this.#stopIds.has(id)) continue;
      text += this.#text.push(this.#tokenizer.bytesOf(id, this.#previousId));
      this.#previousId = id;
      const logprob = this.#generation.logprobAt(index);
      if (logprob !== null) this.#logprobs?.push(logprob);
    }
    return text;
  }

  #stopAtText(text: string, logprobs: readonly PlacedLogprob[]): ChoicePiece {
    this.#hasEnded = true;
    this.#hasMetStop = true;
    this.#generation.abort();
    return { index: this.index, text, logprobs, finishReason: "stop" };
  }

  #end(): ChoicePiece {
    const { state, failure, finishReason } = this.#generation;
    if (state !== "finished") throw failureOf(failure);
    const text = this.#text.end();
    const isStopped = this.#text.isStopped;
    const logprobs = this.#logprobs?.take(text, !isStopped) ?? [];
    this.#hasEnded = true;
    this.#hasMetStop = isStopped;
    const reason = isStopped ? "stop" : (finishReason ?? "length");
    return { index: this.index, text, logprobs, finishReason: reason };
  }
}

/** Nothing will follow. */
export function hasEnded({ state }: Generation): boolean {
  return state === "finished" || state === "aborted" || state === "failed";
}

function failureOf(failure: Generation["failure"]): ApiError {
  switch (failure) {
    case "beyond-context":
    case "larger-than-memory": {
      const message = "The request needs more KV memory than the engine has";
      return badRequest(message, null, "context_length_exceeded");
    }
    case "timeout":
      return unavailable("The request waited for memory for too long", "timeout");
    case "engine-lost":
      return unavailable("The engine that served the request was lost", "engine_lost");
    case null:
      return unavailable("The server is shutting down", "shutting_down");
  }
}
