/**
 * What a prompt's tokens are when nobody else is there: one sequence, all KV local, a step at a
 * time.
 *
 * The reference that every serving situation is held to. It shares the decoder with the engine and
 * nothing else: no tables, no slices, no batches.
 */

import {
  chooseToken,
  type CheckpointWeights,
  type ModelConfig,
} from "../../src/model/index.ts";
import type { GenerationRequest } from "../../src/serving/index.ts";
import { tokenLogprob } from "../../src/serving/logprobs.ts";
import { Decoding } from "../model/decoding.ts";

export interface SoloToken {
  readonly id: number;
  /** To the last bit: what the logits were. */
  readonly logprob: number;
}

export class SoloDecoder {
  readonly #decoding: Decoding;

  constructor(config: ModelConfig, weights: CheckpointWeights, contextTokens: number) {
    const sizes = { sequences: 1, contextTokens, batchTokensMax: contextTokens, blockTokens: 16 };
    this.#decoding = new Decoding(config, weights, sizes);
  }

  tokensOf(request: GenerationRequest): SoloToken[] {
    const tokens: SoloToken[] = [];
    let ids = [...request.promptIds];
    let first = 0;
    while (tokens.length < request.outputTokensMax) {
      const logits = this.#decoding.step([{ sequence: 0, first, ids }]).at(-1)!;
      first += ids.length;
      const id = chooseToken(logits, request.sampling, first);
      tokens.push({ id, logprob: tokenLogprob(logits, id, 0).logprob });
      if (request.stopIds.includes(id)) break;
      ids = [id];
    }
    return tokens;
  }
}
