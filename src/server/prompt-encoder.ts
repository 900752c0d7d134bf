/**
 * From the prompts of a request to token ids, without reading what cannot fit.
 *
 * Asked by both routes. A text of so many bytes has at least so many tokens: one that is too long
 * for the context by that measure is refused before it is cut into tokens, so that a large body
 * costs no more than its reading.
 *
 * Text of a completion may name special tokens, as a prompt template written by hand does; what a
 * chat template does with such text in a message is the template's matter.
 */

import { EmaError } from "../base/index.ts";
import type { PromptMessage, Tokenizer } from "../model/index.ts";
import { badRequest } from "./api-error.ts";
import type { CompletionRequest } from "./completion-schema.ts";
import type { HostedEngine } from "./hosted-engine.ts";

/** A special token adds no bytes and is written in a text of up to so many. */
const SPECIAL_TEXT_BYTES_MAX = 64;

/** One prompt as ids, and as text where somebody asks for it. */
export interface EncodedPrompt {
  readonly ids: Int32Array;
  readonly text: () => string;
}

/** Remembers the longest token of each tokenizer. */
export class PromptEncoder {
  readonly #longestBytes = new Map<Tokenizer, number>();

  /**
   * Others get their turn between two prompts.
   * @throws ApiError 400 for ids that the model does not have, or a text beyond the context.
   */
  async completion(
    prompt: CompletionRequest["prompt"],
    engine: HostedEngine,
  ): Promise<EncodedPrompt[]> {
    if (typeof prompt === "string") return [this.#text(prompt, engine)];
    if (typeof prompt[0] === "number") return [this.#ids(prompt as number[], engine)];
    const encoded: EncodedPrompt[] = [];
    for (const item of prompt as (string | number[])[]) {
      if (encoded.length > 0) await new Promise(setImmediate);
      encoded.push(typeof item === "string" ? this.#text(item, engine) : this.#ids(item, engine));
    }
    return encoded;
  }

  /** @throws ApiError 400 for what the context does not hold or the model's template refuses. */
  chat(messages: readonly PromptMessage[], engine: HostedEngine): Int32Array {
    if (engine.chat === null) {
      const message = `The model '${engine.modelName}' has no chat template; use /v1/completions`;
      throw badRequest(message, "model", "no_chat_template");
    }
    let bytes = 0;
    for (const { content } of messages) bytes += Buffer.byteLength(content);
    this.#checkBytes(bytes, "messages", engine);
    try {
      return engine.chat.promptIds(messages);
    } catch (error) {
      if (!(error instanceof EmaError)) throw error;
      throw badRequest(error.message, "messages", "invalid_value");
    }
  }

  #text(text: string, engine: HostedEngine): EncodedPrompt {
    this.#checkBytes(Buffer.byteLength(text), "prompt", engine);
    const { tokenizer } = engine;
    const ids = tokenizer.encode(text, false);
    const { beginId } = tokenizer;
    const hasBegin = beginId === null || ids[0] === beginId;
    const all = hasBegin ? ids : Int32Array.from([beginId, ...ids]);
    if (all.length === 0) throw badRequest("'prompt' is empty", "prompt", "invalid_value");
    if (all.length > engine.model.contextTokensMax) {
      const message =
        `The model's context holds ${engine.model.contextTokensMax} tokens; ` +
        `the request has ${all.length} in the prompt`;
      throw badRequest(message, "prompt", "context_length_exceeded");
    }
    return { ids: all, text: () => text };
  }

  #ids(prompt: readonly number[], { tokenizer }: HostedEngine): EncodedPrompt {
    const bad = prompt.find((id) => id >= tokenizer.vocabSize);
    if (bad !== undefined) {
      const { vocabSize } = tokenizer;
      const message = `'prompt' has the token id ${bad}; the model has ${vocabSize} tokens`;
      throw badRequest(message, "prompt", "invalid_value");
    }
    const ids = Int32Array.from(prompt);
    return { ids, text: () => tokenizer.decode(ids) };
  }

  #checkBytes(bytes: number, param: string, { tokenizer, model }: HostedEngine): void {
    const tokensMin = Math.ceil(bytes / this.#longest(tokenizer));
    if (tokensMin <= model.contextTokensMax) return;
    const message =
      `The model's context holds ${model.contextTokensMax} tokens; '${param}' has at least ` +
      `${tokensMin}`;
    throw badRequest(message, param, "context_length_exceeded");
  }

  #longest(tokenizer: Tokenizer): number {
    let longest = this.#longestBytes.get(tokenizer);
    if (longest !== undefined) return longest;
    longest = SPECIAL_TEXT_BYTES_MAX;
    for (let id = 0; id < tokenizer.vocabSize; id++) {
      longest = Math.max(longest, tokenizer.bytesOf(id, -1).length);
    }
    this.#longestBytes.set(tokenizer, longest);
    return longest;
  }
}
