/**
 * Text out of tokens' bytes, as it arrives: nothing is said that would have to be taken back.
 *
 * Used by whoever streams a generation, one a choice. A character goes out when all its bytes are
 * there; a beginning of a stop string is held back until it is clear that it is none.
 *
 *     bytes --> whole characters --> | given out | held: could begin a stop string |
 *
 * The stop string that counts is the one that is complete first, and among those complete at the
 * same character the longest. That does not depend on how the bytes were cut, so that a stream put
 * together equals the text of a request without streaming.
 */

export class TextStream {
  readonly #stops: readonly string[];
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #held = "";
  #isStopped = false;

  /** @param stops strings that end the text and are not part of it; empty ones never do */
  constructor(stops: readonly string[]) {
    // Lone surrogates cannot come out of bytes; they become what UTF-8 makes of them.
    this.#stops = stops.filter((stop) => stop !== "").map((stop) => Buffer.from(stop).toString());
  }

  /** A stop string was found; nothing comes out any more. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** @returns what can be said now, often nothing */
  push(bytes: Uint8Array): string {
    return this.#giveOut(this.#decoder.decode(bytes, { stream: true }), false);
  }

  /** @returns what was held back; a character that never became whole is U+FFFD */
  end(): string {
    return this.#giveOut(this.#decoder.decode(), true);
  }

  #giveOut(text: string, isEnd: boolean): string {
    if (this.#isStopped) return "";
    const known = this.#held + text;
    const cut = this.#firstStop(known);
    if (cut !== null) {
      this.#isStopped = true;
      this.#held = "";
      return known.slice(0, cut);
    }
    const kept = isEnd ? 0 : this.#openLength(known);
    this.#held = known.slice(known.length - kept);
    return known.slice(0, known.length - kept);
  }

  /** Where the stop string that is complete first begins, or null. */
  #firstStop(text: string): number | null {
    let start: number | null = null;
    let end = Infinity;
    for (const stop of this.#stops) {
      const at = text.indexOf(stop);
      if (at < 0 || at + stop.length > end) continue;
      // Complete at the same character: the longer one begins earlier.
      if (at + stop.length === end && start !== null && at > start) continue;
      start = at;
      end = at + stop.length;
    }
    return start;
  }

  /** How long the longest end of `text` is that begins a stop string. */
  #openLength(text: string): number {
    let longest = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(stop.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}
