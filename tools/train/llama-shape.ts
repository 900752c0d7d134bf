/**
 * The sizes of a Llama and where each of its tensors lies in one flat row of parameters.
 *
 * Called by the network, the optimizer's caller, the checkpoint and the GGUF writer. Names and the
 * order of dimensions are those of GGUF files of architecture `llama` (the ggml project's GGUF
 * specification): a matrix has one row an output, and `shape` is (outputs, inputs).
 */

import { assert } from "../../src/base/assert.ts";
import type { Prng } from "../../src/base/prng.ts";

/** Sizes in elements. The head is tied to the embedding. */
export interface LlamaShape {
  readonly vocabulary: number;
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headWidth: number;
  readonly feedForward: number;
  readonly ropeBase: number;
  readonly epsilon: number;
  /** The longest text the model is made for, in tokens. */
  readonly context: number;
}

/** One tensor: `offset` counts floats from the first parameter. */
export interface TensorPlace {
  readonly name: string;
  readonly offset: number;
  readonly count: number;
  /** (outputs, inputs) of a matrix, (elements) of a vector. */
  readonly shape: readonly number[];
}

/** The tensors in the order in which they lie, without gaps. */
export function tensorPlaces(shape: LlamaShape): TensorPlace[] {
  const places: TensorPlace[] = [];
  let offset = 0;
  const put = (name: string, ...dimensions: number[]): void => {
    const count = dimensions.reduce((product, size) => product * size, 1);
    places.push({ name, offset, count, shape: dimensions });
    offset += count;
  };
  const queryWidth = shape.heads * shape.headWidth;
  const kvWidth = shape.kvHeads * shape.headWidth;
  put("token_embd.weight", shape.vocabulary, shape.width);
  for (let layer = 0; layer < shape.layers; layer++) {
    const prefix = `blk.${layer}.`;
    put(`${prefix}attn_norm.weight`, shape.width);
    put(`${prefix}attn_q.weight`, queryWidth, shape.width);
    put(`${prefix}attn_k.weight`, kvWidth, shape.width);
    put(`${prefix}attn_v.weight`, kvWidth, shape.width);
    put(`${prefix}attn_output.weight`, shape.width, queryWidth);
    put(`${prefix}ffn_norm.weight`, shape.width);
    put(`${prefix}ffn_gate.weight`, shape.feedForward, shape.width);
    put(`${prefix}ffn_up.weight`, shape.feedForward, shape.width);
    put(`${prefix}ffn_down.weight`, shape.width, shape.feedForward);
  }
  put("output_norm.weight", shape.width);
  return places;
}

/** The tensor of that name; asking for one that the model lacks is a bug. */
export function findTensor(shape: LlamaShape, name: string): TensorPlace {
  const place = tensorPlaces(shape).find((candidate) => candidate.name === name);
  assert(place !== undefined, `no tensor ${name}`);
  return place;
}

/** How many floats all tensors take. */
export function parameterCount(shape: LlamaShape): number {
  return tensorPlaces(shape).reduce((sum, { count }) => sum + count, 0);
}

/** True for what is multiplied with vectors: decayed and stored in eight bits, unlike norms. */
export function isMatrix(place: TensorPlace): boolean {
  return place.shape.length === 2;
}

/**
 * Starting values: norms 1, matrices normal with the inverse root of their inputs, those that write
 * into the residual stream smaller by the root of how many there are (Radford et al., "Language
 * Models are Unsupervised Multitask Learners", 2019, section 2.3).
 */
export function initialParameters(shape: LlamaShape, prng: Prng): Float32Array {
  const values = new Float32Array(parameterCount(shape));
  for (const place of tensorPlaces(shape)) {
    const part = values.subarray(place.offset, place.offset + place.count);
    if (!isMatrix(place)) {
      part.fill(1);
      continue;
    }
    const isResidual = /attn_output|ffn_down/.test(place.name);
    let deviation = 1 / Math.sqrt(place.shape[1]!);
    if (place.name === "token_embd.weight") deviation = 0.02;
    if (isResidual) deviation /= Math.sqrt(2 * shape.layers);
    for (let index = 0; index < part.length; index++) part[index] = prng.nextNormal() * deviation;
  }
  return values;
}
