/**
 * What the server is given: engines that serve a model, each with its tokenizer and its names.
 *
 * Made by `ema serve`, `ema chat` and tests; used by the engine directory and the routes. It is
 * data: what an engine is doing is known to its ServedModel, what was routed to it to the
 * directory.
 */

import type { PromptMessage, Tokenizer } from "../model/index.ts";
import type { Generation, KvPlace, ServedModel } from "../serving/index.ts";

/** Turns a conversation into the prompt that its model was trained on. */
export interface Prompter {
  /**
   * @returns ids that end where the assistant begins to speak.
   * @throws EmaError E_CHAT when the model's template refuses the messages.
   */
  promptIds(messages: readonly PromptMessage[]): Int32Array;
}

export interface HostedEngine {
  /** Unique: what addresses this engine and no other, like `ema-tiny@gpu2`. */
  readonly engineName: string;
  /** What clients ask for; several engines may serve it. */
  readonly modelName: string;
  readonly model: ServedModel;
  readonly tokenizer: Tokenizer;
  /** null: the model knows no conversations, and /v1/chat/completions refuses it. */
  readonly chat: Prompter | null;
  /** @returns where the KV of a generation lies now; empty once it has none. */
  readonly kvPlaces: (generation: Generation) => readonly KvPlace[];
}
