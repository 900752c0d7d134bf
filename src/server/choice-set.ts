/**
 * All choices of one answer, read side by side: pieces come in the order in which they are ready.
 *
 * Made by a route once its generations are accepted. Back-pressure: a choice is asked for its next
 * piece only after its last one was taken, so at most one piece a choice waits here.
 *
 * Invariant: whoever makes one either reads it to its end or calls `abort`; both leave no
 * generation running.
 */

import type { Generation } from "../serving/index.ts";
import type { ChoicePiece, ChoiceReader } from "./choice-reader.ts";

/** One choice with the generation behind it. */
export interface Choice {
  readonly reader: ChoiceReader;
  readonly generation: Generation;
}

/** The choices of one answer. */
export class ChoiceSet {
  readonly choices: readonly Choice[];
  readonly #ready: ChoicePiece[] = [];
  #readingCount = 0;
  #failure: unknown = null;
  #hasBegun = false;
  #wake: () => void = () => {};

  constructor(choices: readonly Choice[]) {
    this.choices = choices;
  }

  /** Tokens of all choices so far. */
  get completionTokens(): number {
    return this.choices.reduce((sum, { reader }) => sum + reader.tokenCount, 0);
  }

  /**
   * @returns the next piece of any choice, or null behind the last of all.
   * @throws what a reader throws; the answer is over then, and the others are to be aborted.
   */
  async next(): Promise<ChoicePiece | null> {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      for (const { reader } of this.choices) void this.#read(reader);
    }
    for (;;) {
      const piece = this.#ready.shift();
      if (piece !== undefined) {
        if (piece.finishReason === null) void this.#read(this.choices[piece.index]!.reader);
        return piece;
      }
      if (this.#failure !== null) throw this.#failure;
      if (this.#readingCount === 0) return null;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** The client has gone, or the answer cannot be finished. Idempotent. */
  abort(): void {
    for (const { generation } of this.choices) generation.abort();
  }

  async #read(reader: ChoiceReader): Promise<void> {
    this.#readingCount++;
    try {
      const piece = await reader.next();
      if (piece !== null) this.#ready.push(piece);
    } catch (error) {
      this.#failure ??= error;
    }
    this.#readingCount--;
    this.#wake();
  }
}
