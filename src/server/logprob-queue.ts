/**
 * Log probabilities that wait for the text they belong to.
 *
 * Used by a choice's reader. A token is reported together with the first character it takes part
 * in, so that tokens held back for a possible stop string are not reported before it is known that
 * they are part of the answer, and never when they are not.
 *
 * Invariant: tokens come out in order, each once, with the offset at which its text begins.
 */

import type { Tokenizer } from "../model/index.ts";
import type { TokenLogprob } from "../serving/index.ts";

/** A token's log probability with its text and place. */
export interface PlacedLogprob {
  readonly token: NamedLogprob;
  readonly top: readonly NamedLogprob[];
  /** In UTF-16 units from the beginning of the generated text. */
  readonly textOffset: number;
}

export interface NamedLogprob {
  /** Its characters; `bytes:\xf0\x9f` where it ends within one. */
  readonly text: string;
  readonly bytes: readonly number[];
  readonly logprob: number;
}

/** A log probability of -Infinity is no JSON; this is what OpenAI reports in its place. */
const LOGPROB_MIN = -9999;

/** The tokens of one choice. */
export class LogprobQueue {
  readonly #tokenizer: Tokenizer;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #waiting: PlacedLogprob[] = [];
  #previousId: number;
  #readLength = 0;
  #givenLength = 0;

  constructor(tokenizer: Tokenizer, previousId: number) {
    this.#tokenizer = tokenizer;
    this.#previousId = previousId;
  }

  push(entry: TokenLogprob): void {
    const previousId = this.#previousId;
    const token = this.#named(entry.id, entry.logprob, previousId);
    const top = entry.top.map(({ id, logprob }) => this.#named(id, logprob, previousId));
    this.#waiting.push({ token, top, textOffset: this.#readLength });
    const bytes = this.#tokenizer.bytesOf(entry.id, previousId);
    this.#readLength += this.#decoder.decode(bytes, { stream: true }).length;
    this.#previousId = entry.id;
  }

  /**
   * @param text what has just been given out
   * @param isAll the answer has ended and all of its tokens belong to it
   */
  take(text: string, isAll: boolean): readonly PlacedLogprob[] {
    this.#givenLength += text.length;
    const beyond = this.#waiting.findIndex(({ textOffset }) => textOffset >= this.#givenLength);
    return this.#waiting.splice(0, isAll || beyond === -1 ? this.#waiting.length : beyond);
  }

  #named(id: number, logprob: number, previousId: number): NamedLogprob {
    const bytes = this.#tokenizer.bytesOf(id, previousId);
    return { text: nameOf(bytes), bytes: [...bytes], logprob: Math.max(logprob, LOGPROB_MIN) };
  }
}

function nameOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const escaped = Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`);
    return `bytes:${escaped.join("")}`;
  }
}
