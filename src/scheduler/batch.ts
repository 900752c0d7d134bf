/**
 * What one step computes: which sequences, how many tokens of each.
 *
 * Filled by the scheduler, priced by step-cost.ts, carried out by the runner. Reused step after
 * step. A sequence that is taken out of a step in mid-flight has its row set to -1.
 */

import { assert } from "../base/index.ts";

/** Columns of one step; the sums beside them are kept as sequences come and go. */
export class Batch {
  /** Entries, those taken out again included. */
  count = 0;
  /** (count) rows of Sequences; -1 once taken out. */
  readonly rows: Int32Array;
  /** (count) query tokens of each. */
  readonly tokens: Int32Array;
  /** (count) KV tokens before this step's. */
  readonly pastTokens: Int32Array;
  readonly #isSampled: Uint8Array; // (count)
  readonly #isCounted: Uint8Array; // (count) whether the sums have it
  queryTokens = 0;
  decodeSequences = 0;
  /** KV tokens that the decoding sequences read together, their new ones included. */
  decodeContextTokens = 0;
  prefillSequences = 0;
  /** Sequences that get a token at the end of the step. */
  sampledSequences = 0;
  /** Requests that lost their blocks in mid-flight and still get this step's token. */
  readonly leavers: number[] = [];

  constructor(capacity: number) {
    this.rows = new Int32Array(capacity);
    this.tokens = new Int32Array(capacity);
    this.pastTokens = new Int32Array(capacity);
    this.#isSampled = new Uint8Array(capacity);
    this.#isCounted = new Uint8Array(capacity);
  }

  /** Query tokens that are not decodes'. */
  get promptTokens(): number {
    return this.queryTokens - this.decodeSequences;
  }

  /** Whether each entry is a sequence's next token: none is of a prompt, none was taken out. */
  get isDecodesOnly(): boolean {
    const { count, leavers } = this;
    const isWhole = this.sampledSequences === count && this.decodeSequences === count;
    return isWhole && leavers.length === 0;
  }

  /** The same decodes, each a token further. */
  goOn(): void {
    const { pastTokens, count } = this;
    for (let index = 0; index < count; index++) pastTokens[index]!++;
    this.decodeContextTokens += count;
  }

  clear(): void {
    this.count = 0;
    this.queryTokens = 0;
    this.decodeSequences = 0;
    this.decodeContextTokens = 0;
    this.prefillSequences = 0;
    this.sampledSequences = 0;
    // Emptying a list costs even where there is nothing in it.
    if (this.leavers.length > 0) this.leavers.length = 0;
  }

  /** @param isSampled whether the sequence gets a token: these are the last it has to compute. */
  add(row: number, tokens: number, pastTokens: number, isSampled: boolean): void {
    assert(this.count < this.rows.length, () => `batch: row ${row} after ${this.count} others`);
    this.rows[this.count] = row;
    this.tokens[this.count] = tokens;
    this.pastTokens[this.count] = pastTokens;
    this.#isSampled[this.count] = isSampled ? 1 : 0;
    this.#isCounted[this.count] = 1;
    this.#account(this.count, 1);
    this.count++;
  }

  /** Takes the sequence out; its token is not made in this step. @returns whether it was there. */
  exclude(row: number): boolean {
    const index = this.#indexOf(row);
    if (index < 0) return false;
    this.rows[index] = -1;
    this.#isCounted[index] = 0;
    this.#account(index, -1);
    return true;
  }

  /**
   * The sequence has lost its blocks, but the step is on its way: it costs what it costs, and its
   * token counts if there is one.
   */
  leave(row: number, request: number): void {
    const index = this.#indexOf(row);
    if (index < 0) return;
    this.rows[index] = -1;
    if (this.#isSampled[index] === 1) this.leavers.push(request);
  }

  /** Whether the entry's sequence gets a token at the end of the step. */
  isSampled(index: number): boolean {
    return this.#isSampled[index] === 1;
  }

  /** Adds up what counts, and sees that nothing is in it twice. */
  check(): void {
    const rows = new Set<number>();
    const found = [0, 0, 0, 0, 0];
    for (let index = 0; index < this.count; index++) {
      const [row, tokens] = [this.rows[index]!, this.tokens[index]!];
      assert(row < 0 || !rows.has(row), () => `batch: row ${row} is in it twice`);
      rows.add(row);
      if (this.#isCounted[index] === 0) continue;
      found[0]! += tokens;
      found[1]! += this.#isSampled[index]!;
      if (tokens === 1) found[2]!++;
      else found[3]!++;
      if (tokens === 1) found[4]! += this.pastTokens[index]! + 1;
    }
    const kept = [this.queryTokens, this.sampledSequences, this.decodeSequences];
    kept.push(this.prefillSequences, this.decodeContextTokens);
    const isSame = kept.every((sum, index) => sum === found[index]);
    assert(isSame, () => `batch: kept ${kept.join(" ")}, found ${found.join(" ")}`);
  }

  #indexOf(row: number): number {
    assert(row >= 0, () => `batch: no row ${row}`);
    const index = this.rows.indexOf(row);
    return index < this.count ? index : -1;
  }

  #account(index: number, sign: 1 | -1): void {
    const tokens = this.tokens[index]!;
    this.queryTokens += sign * tokens;
    this.sampledSequences += sign * this.#isSampled[index]!;
    if (tokens === 1) {
      this.decodeSequences += sign;
      this.decodeContextTokens += sign * (this.pastTokens[index]! + 1);
    } else {
      this.prefillSequences += sign;
    }
  }
}
