/**
 * Text of a growing list of tokens, with what could still become a stop string held back.
 *
 * Fed by a choice's reader, one token at a time. Bytes become characters only once a character is
 * whole; characters go out only once they can no longer be the beginning of a stop string.
 *
 *     | given out | held back | bytes of a character that is not whole |
 *
 * Invariant: what was given out, put together, is a prefix of the whole text, and equals it, cut
 * before the first stop string, once `end` was called.
 */

import type { Tokenizer } from "../model/index.ts";

/** One choice's text. */
export class TextStream {
  readonly #tokenizer: Tokenizer;
  readonly #stops: readonly string[];
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #held = "";
  #previousId: number;
  #isStopped = false;

  /** @param previousId the last token of the prompt, or -1. */
  constructor(tokenizer: Tokenizer, stops: readonly string[], previousId: number) {
    this.#tokenizer = tokenizer;
    this.#stops = stops;
    this.#previousId = previousId;
  }

  /** A stop string was found; nothing more comes out. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** @returns the text that this token let out, often empty. */
  push(id: number): string {
    const bytes = this.#tokenizer.bytesOf(id, this.#previousId);
    this.#previousId = id;
    return this.#giveOut(this.#decoder.decode(bytes, { stream: true }), false);
  }

  /** @returns what was held back; a character that never became whole is U+FFFD. */
  end(): string {
    return this.#giveOut(this.#decoder.decode(), true);
  }

  #giveOut(text: string, isEnd: boolean): string {
    if (this.#isStopped) return "";
    const known = this.#held + text;
    // Of several the one that ends first, as if characters came one by one: which tokens they
    // come in must not matter.
    let cut = -1;
    let end = Infinity;
    for (const stop of this.#stops) {
      const at = known.indexOf(stop);
      if (at === -1 || at + stop.length > end) continue;
      if (at + stop.length === end && at > cut) continue;
      cut = at;
      end = at + stop.length;
    }
    if (cut !== -1) {
      this.#isStopped = true;
      this.#held = "";
      return known.slice(0, cut);
    }
    const keep = isEnd ? 0 : this.#possibleStop(known);
    this.#held = known.slice(known.length - keep);
    return known.slice(0, known.length - keep);
  }

  /** The longest end of `text` that is the beginning of a stop string. */
  #possibleStop(text: string): number {
    let longest = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(stop.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}
