/**
 * From a decoder's dimensions to its parameters, weight bytes and KV bytes a token.
 *
 * Called by the catalogue and by the reader of Hugging Face configs. Matrices, embeddings and norms
 * are counted; biases and norms of queries and keys are a family's own and are passed in.
 *
 * Invariant: kvBytesPerToken = layers * 2 * kvHeads * headDim * 2, exactly.
 */

import type { DecoderDimensions, ModelShape } from "./model-shape.ts";

/** bf16 and fp16 alike. */
export const BYTES_PER_PARAM = 2;

/** What a family has beyond the matrices that all decoders share. */
export type Family =
  /** RMS norms, no biases: Llama, Mistral, Qwen3. */
  | "llama"
  /** Biases everywhere, layer norms with bias, learned positions with two spare rows. */
  | "opt";

export interface ModelDimensions extends DecoderDimensions {
  readonly family: Family;
  /**
   * Parameters of one layer's vectors that the family does not always have: biases, q and k norms.
   */
  readonly layerVectorParams: number;
}

export function shapeFrom(dimensions: ModelDimensions): ModelShape {
  const { family: _family, layerVectorParams: _vectors, ...shape } = dimensions;
  const paramCount = countParams(dimensions);
  return {
    ...shape,
    paramCount,
    weightBytes: paramCount * BYTES_PER_PARAM,
    kvBytesPerToken: shape.layers * 2 * shape.kvHeads * shape.headDim * BYTES_PER_PARAM,
  };
}

function countParams(model: ModelDimensions): number {
  const queryDim = model.heads * model.headDim;
  const keyDim = model.kvHeads * model.headDim;
  const attention = model.hidden * (queryDim + 2 * keyDim) + queryDim * model.hidden;
  const ffn = (model.isFfnGated ? 3 : 2) * model.hidden * model.ffn;
  const embeddings = model.vocab * model.hidden * (model.isTied ? 1 : 2);
  if (model.family === "opt") {
    const biases = queryDim + 2 * keyDim + model.hidden + model.ffn + model.hidden;
    const layerNorms = 4 * model.hidden;
    const positions = (model.contextTokensMax + 2) * model.hidden;
    const layer = attention + ffn + biases + layerNorms + model.layerVectorParams;
    return embeddings + positions + model.layers * layer + 2 * model.hidden;
  }
  const layer = attention + ffn + 2 * model.hidden + model.layerVectorParams;
  return embeddings + model.layers * layer + model.hidden;
}
