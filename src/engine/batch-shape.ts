/**
 * A batch as a cost model wants to see it that prices a step's attention as a whole.
 *
 * Filled by step-cost.ts, once a step and only for such models: it walks the batch, which models
 * that add up parts do not need. Sequences with one query token count as decodes, as in Batch.
 */

import type { AttentionShape } from "../hardware/index.ts";
import type { Batch } from "../scheduler/index.ts";

export class BatchShape implements AttentionShape {
  decodeSequences = 0;
  decodeTokens = 0;
  decodeTokensMin = 0;
  decodeTokensMax = 0;
  chunkCount = 0;
  chunkTokens = new Int32Array(8);
  chunkPastTokens = new Int32Array(8);

  fill(batch: Batch): void {
    this.decodeSequences = batch.decodeSequences;
    this.decodeTokens = batch.decodeContextTokens;
    this.chunkCount = 0;
    let least = Infinity;
    let most = 0;
    for (let index = 0; index < batch.count; index++) {
      if (batch.rows[index]! < 0) continue;
      const tokens = batch.tokens[index]!;
      const past = batch.pastTokens[index]!;
      if (tokens > 1) {
        this.#addChunk(tokens, past);
        continue;
      }
      if (past + 1 < least) least = past + 1;
      if (past + 1 > most) most = past + 1;
    }
    this.decodeTokensMin = most > 0 ? least : 0;
    this.decodeTokensMax = most;
  }

  #addChunk(tokens: number, pastTokens: number): void {
    if (this.chunkCount === this.chunkTokens.length) {
      this.chunkTokens = doubled(this.chunkTokens);
      this.chunkPastTokens = doubled(this.chunkPastTokens);
    }
    this.chunkTokens[this.chunkCount] = tokens;
    this.chunkPastTokens[this.chunkCount++] = pastTokens;
  }
}

function doubled(from: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const to = new Int32Array(from.length * 2);
  to.set(from);
  return to;
}
