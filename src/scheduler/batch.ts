/**
 * What one step computes: which sequences, how many tokens of each.
 *
 * Filled by the scheduler, priced by step-cost.ts, carried out by the runner. Reused step after
 * step. A sequence that is taken out of a step in mid-flight has its row set to -1.
 */

export class Batch {
  count = 0;
  /** (count) rows of Sequences; -1 once taken out. */
  readonly rows: Int32Array;
  /** (count) query tokens of each. */
  readonly tokens: Int32Array;
  /** (count) KV tokens before this step's. */
  readonly pastTokens: Int32Array;
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
  }

  clear(): void {
    this.count = 0;
    this.queryTokens = 0;
    this.decodeSequences = 0;
    this.decodeContextTokens = 0;
    this.prefillSequences = 0;
    this.sampledSequences = 0;
    this.leavers.length = 0;
  }

  add(row: number, tokens: number, pastTokens: number, isSampled: boolean): void {
    this.rows[this.count] = row;
    this.tokens[this.count] = tokens;
    this.pastTokens[this.count] = pastTokens;
    this.count++;
    this.#account(tokens, pastTokens, isSampled, 1);
  }

  /** Takes the sequence out; its token is not made in this step. @returns whether it was there. */
  exclude(row: number, isSampled: boolean): boolean {
    for (let index = 0; index < this.count; index++) {
      if (this.rows[index] !== row) continue;
      this.rows[index] = -1;
      this.#account(this.tokens[index]!, this.pastTokens[index]!, isSampled, -1);
      return true;
    }
    return false;
  }

  /**
   * The sequence has lost its blocks, but the step is on its way: it costs what it costs, and its
   * token counts if there is one.
   */
  leave(row: number, request: number, isSampled: boolean): void {
    for (let index = 0; index < this.count; index++) {
      if (this.rows[index] !== row) continue;
      this.rows[index] = -1;
      if (isSampled) this.leavers.push(request);
    }
  }

  #account(tokens: number, pastTokens: number, isSampled: boolean, sign: 1 | -1): void {
    this.queryTokens += sign * tokens;
    if (isSampled) this.sampledSequences += sign;
    if (tokens === 1) {
      this.decodeSequences += sign;
      this.decodeContextTokens += sign * (pastTokens + 1);
    } else {
      this.prefillSequences += sign;
    }
  }
}
