/**
 * The running sequences of one engine as columns, and the order in which they were admitted.
 *
 * Owned by the scheduler; the engine reads it to give out tokens. It does not know where KV lies. A
 * row is reused after its sequence left; `request` names the caller's request.
 *
 *     (waiting) --admit--> RUNNING --finish--> (gone)
 *                           |  ^
 *                    park   |  | resume
 *                           v  |
 *                          PARKED --preempt--> (waiting, first in line)
 *
 * Invariants: `order` lists each occupied row once, by admission; computed <= prompt + generated.
 */

import { assert } from "../base/index.ts";

export class Sequences {
  readonly capacity: number;
  readonly request: Int32Array;
  readonly promptTokens: Int32Array;
  /** Output tokens so far, kept over preemptions. */
  readonly generatedTokens: Int32Array;
  readonly outputTokensMax: Int32Array;
  /** Tokens whose KV is there. */
  readonly computedTokens: Int32Array;
  /** Tokens of steps decided and not ended, where steps are decided ahead; else 0. */
  readonly aheadTokens: Int32Array;
  /** Output tokens that those steps will make. */
  readonly aheadSamples: Int32Array;
  readonly lastTokenNs: Float64Array;
  /** NaN before the first token, and for a sequence that made it before it was preempted. */
  readonly firstTokenNs: Float64Array;
  /** Steps in a row that left this sequence out. */
  readonly skips: Int32Array;
  readonly isParked: Uint8Array;
  readonly parkedSinceNs: Float64Array;
  /** Rows in the order of admission; the first `count` entries. */
  readonly order: Int32Array;
  readonly #freeRows: Int32Array;
  #freeCount: number;
  #count = 0;
  #version = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.request = new Int32Array(capacity).fill(-1);
    this.promptTokens = new Int32Array(capacity);
    this.generatedTokens = new Int32Array(capacity);
    this.outputTokensMax = new Int32Array(capacity);
    this.computedTokens = new Int32Array(capacity);
    this.aheadTokens = new Int32Array(capacity);
    this.aheadSamples = new Int32Array(capacity);
    this.lastTokenNs = new Float64Array(capacity);
    this.firstTokenNs = new Float64Array(capacity);
    this.skips = new Int32Array(capacity);
    this.isParked = new Uint8Array(capacity);
    this.parkedSinceNs = new Float64Array(capacity);
    this.order = new Int32Array(capacity);
    this.#freeRows = Int32Array.from({ length: capacity }, (_, index) => capacity - 1 - index);
    this.#freeCount = capacity;
  }

  get count(): number {
    return this.#count;
  }

  /** Counts who came and who left: while it stands, the same sequences run in the same order. */
  get version(): number {
    return this.#version;
  }

  get isFull(): boolean {
    return this.#freeCount === 0;
  }

  /** @returns the new sequence's row; the caller has seen `isFull` false. */
  admit(request: number, prompt: number, generated: number, outputMax: number): number {
    assert(this.#freeCount > 0, "sequences: no free row");
    const row = this.#freeRows[--this.#freeCount]!;
    this.request[row] = request;
    this.promptTokens[row] = prompt;
    this.generatedTokens[row] = generated;
    this.outputTokensMax[row] = outputMax;
    this.computedTokens[row] = 0;
    this.firstTokenNs[row] = NaN;
    this.aheadTokens[row] = 0;
    this.aheadSamples[row] = 0;
    this.skips[row] = 0;
    this.isParked[row] = 0;
    this.order[this.#count++] = row;
    this.#version++;
    return row;
  }

  remove(row: number): void {
    const position = this.order.indexOf(row);
    assert(position >= 0 && position < this.#count, () => `sequences: row ${row} is not there`);
    this.order.copyWithin(position, position + 1, this.#count);
    this.#count--;
    this.#version++;
    this.request[row] = -1;
    this.#freeRows[this.#freeCount++] = row;
  }

  /** @returns the row of a request that runs, or -1. */
  rowOf(request: number): number {
    for (let index = 0; index < this.#count; index++) {
      if (this.request[this.order[index]!] === request) return this.order[index]!;
    }
    return -1;
  }

  /**
   * Tokens whose KV the next step must compute: one while decoding, the rest of the prompt before;
   * none once its last token is on its way.
   */
  pendingTokens(row: number): number {
    const generated = this.generatedTokens[row]! + this.aheadSamples[row]!;
    if (generated >= this.outputTokensMax[row]!) return 0;
    return this.promptTokens[row]! + generated - this.scheduledTokens(row);
  }

  /** Tokens whose KV is there or will be when the steps decided so far have ended. */
  scheduledTokens(row: number): number {
    return this.computedTokens[row]! + this.aheadTokens[row]!;
  }

  /** Whether a step up to `tokens` tokens of the sequence makes its next output token. */
  isSampledBy(row: number, tokens: number): boolean {
    return tokens >= this.promptTokens[row]! + this.generatedTokens[row]!;
  }

  check(): void {
    const seen = new Set<number>();
    for (let index = 0; index < this.#count; index++) {
      const row = this.order[index]!;
      assert(!seen.has(row), () => `sequences: row ${row} is listed twice`);
      seen.add(row);
      assert(this.request[row]! >= 0, () => `sequences: row ${row} has no request`);
      assert(this.pendingTokens(row) >= 0, () => `sequences: row ${row} computed too much`);
    }
    const total = this.#count + this.#freeCount;
    assert(total === this.capacity, () => `sequences: ${total} rows of ${this.capacity}`);
  }
}
