/**
 * What a server asks of a running model: prompts in, token ids out, at the reader's own pace.
 *
 * Implemented by the engine in real time (served-model.ts); used by the HTTP layer and by `ema
 * chat`. Ids only: text, templates and stop strings are the reader's.
 *
 * Back-pressure: a generation keeps its tokens (at most `outputTokensMax` of them) until it is
 * dropped, so a slow reader costs a bounded array and never stops the engine.
 *
 *     WAITING --admitted--> RUNNING --last token--> FINISHED
 *        |                     |
 *        +-------- abort ------+------------------> ABORTED
 *        +-------- failure ----+------------------> FAILED
 */

import type { EngineFailure } from "../engine/index.ts";

export interface Sampling {
  /** 0: the likeliest token, the lowest id among equals. */
  readonly temperature: number;
  /** In (0, 1]. */
  readonly topP: number;
  /** Draws are keyed by (seed, position): the same in any batch and after any preemption. */
  readonly seed: number;
}

export interface GenerationRequest {
  readonly promptIds: Int32Array;
  /** At least 1. */
  readonly outputTokensMax: number;
  readonly sampling: Sampling;
  /** Ids that end the generation; the one that did is the last token. */
  readonly stopIds: readonly number[];
  /** How many of the likeliest tokens to report beside each token; null: no log probabilities. */
  readonly topLogprobs: number | null;
}

export type GenerationState = "waiting" | "running" | "finished" | "aborted" | "failed";

/** Why a finished generation ended: an id of stopIds, or outputTokensMax (or the context). */
export type FinishReason = "stop" | "length";

export interface TokenLogprob {
  readonly id: number;
  readonly logprob: number;
  readonly top: readonly { readonly id: number; readonly logprob: number }[];
}

export interface Generation {
  readonly request: GenerationRequest;
  readonly state: GenerationState;
  readonly finishReason: FinishReason | null;
  readonly failure: EngineFailure | null;
  readonly tokenCount: number;
  /** @param index in [0, tokenCount) */
  tokenAt(index: number): number;
  /** null unless asked for. */
  logprobAt(index: number): TokenLogprob | null;
  /** Resolves when there are more than `count` tokens, or none will follow. */
  waitBeyond(count: number): Promise<void>;
  /** The reader has gone or has enough: memory is free within one step. Idempotent. */
  abort(): void;
}

/** Nothing was taken in: why, and when to try again. */
export interface Rejection {
  readonly reason: "queue-full" | "beyond-context" | "shutting-down" | "engine-lost";
  readonly retryAfterSeconds: number;
}

export interface ServedModelLoad {
  readonly running: number;
  readonly waiting: number;
  /** Shares of its KV memory in use, and bytes by where they lie. */
  readonly kvUsedShare: number;
  readonly kvLocalBytes: number;
  readonly kvBorrowedBytes: number;
  readonly kvLentBytes: number;
  readonly kvHostBytes: number;
  readonly preemptions: number;
  readonly promptTokens: number;
  readonly generatedTokens: number;
}

/** One model that is being served by one engine. */
export interface ServedModel {
  readonly name: string;
  readonly contextTokensMax: number;
  /** What it computes with is gone; it takes nothing in any more. */
  readonly isLost: boolean;
  submit(request: GenerationRequest): Generation | Rejection;
  load(): ServedModelLoad;
}
