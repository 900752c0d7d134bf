/**
 * What the operators of a step take with all KV local: bandwidths alone, or measured tables.
 *
 * Read by step-time.ts. The ideal limit stands on bandwidths; the limit with costs stands on the
 * cost model of the hardware layer, as the simulator does, so that what the two say of remote
 * memory can be compared. All that concerns links, rings and copies is this folder's own.
 */

import { createCostModel, type Gpu, type ModelShape } from "../hardware/index.ts";

/** Seconds of one step, all layers together; arguments may be fractions. */
export interface Operators {
  /** lin: GEMMs, norms and activations for so many query tokens. */
  linearSeconds(tokens: number): number;
  /** Vocabulary head for the sequences that get a token. */
  headSeconds(sequences: number): number;
  /** Attention of decoding sequences that read so many KV tokens together. */
  attentionSeconds(sequences: number, kvTokens: number): number;
  /** Attention of one chunk of a prompt over itself and what came before it. */
  promptAttentionSeconds(tokens: number, pastTokens: number): number;
}

/** From the tables of `createCostModel`. */
export function measuredOperators(gpu: Gpu, model: ModelShape): Operators {
  const cost = createCostModel(gpu, model);
  const { layers } = model;
  const seconds = (layerNs: number): number => (layers * layerNs) / 1e9;
  return {
    linearSeconds: (tokens) => seconds(cost.linearLayerNs(tokens)),
    headSeconds: (sequences) => cost.headNs(sequences) / 1e9,
    attentionSeconds: (sequences, kvTokens) =>
      seconds(cost.decodeAttentionLayerNs(sequences, kvTokens)),
    promptAttentionSeconds: (tokens, pastTokens) =>
      seconds(cost.prefillAttentionLayerNs(tokens, pastTokens)),
  };
}

/** The same on a GPU with `times` the compute: products gain until only their weights are read. */
export function withCompute(operators: Operators, times: number): Operators {
  const weightsSeconds = operators.linearSeconds(1);
  return {
    ...operators,
    linearSeconds: (tokens) => {
      const seconds = operators.linearSeconds(tokens);
      return Math.max(Math.min(seconds, weightsSeconds), seconds / times);
    },
  };
}
