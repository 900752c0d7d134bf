/**
 * How much longer prompts make the steps of an engine, for each token that it generates.
 *
 * Fed at each step's end, asked before every loan. A forecast of steps that only decode takes more
 * memory for more tokens a second; but each token also stands for its part of a prompt that has to
 * be computed, and the more sequences run, the more prompts come in between their tokens. Where
 * prompts are most of the work, more sequences make no more tokens, only longer gaps.
 *
 * Invariant: a fading mean, never negative.
 */

/** Tokens over which the mean fades: some requests of a usual length. */
const WINDOW_TOKENS = 4096;

export class PromptTime {
  #promptNs = 0;
  #tokens = 0;

  /** Nanoseconds of prompt work for each token generated; 0 before the first one. */
  get nsPerToken(): number {
    return this.#tokens > 0 ? this.#promptNs / this.#tokens : 0;
  }

  /**
   * @param promptNs what the step's prompts added to its time; 0 for a step that only decodes.
   * @param tokens that the step generated; a chunk amid a prompt generates none.
   */
  observe(promptNs: number, tokens: number): void {
    this.#promptNs += promptNs;
    this.#tokens += tokens;
    if (this.#tokens <= WINDOW_TOKENS) return;
    this.#promptNs *= WINDOW_TOKENS / this.#tokens;
    this.#tokens = WINDOW_TOKENS;
  }
}
