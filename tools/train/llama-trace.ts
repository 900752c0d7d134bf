/**
 * The memory that a pass through the network works in: what is kept, what flows back, what turns.
 *
 * Called by the network once, when it is made. It computes nothing but the angles of RoPE.
 */

import type { Address, Workbench } from "./kernels.ts";
import { findTensor, type LlamaShape } from "./llama-shape.ts";

/** What one layer keeps from the forward pass: addresses of (tokens) then the width named. */
export interface LayerTrace {
  readonly input: Address;
  readonly attentionInverse: Address;
  readonly attentionNormed: Address;
  readonly q: Address;
  readonly k: Address;
  readonly v: Address;
  readonly logs: Address;
  readonly mixed: Address;
  readonly middle: Address;
  readonly feedInverse: Address;
  readonly feedNormed: Address;
  readonly gate: Address;
  readonly up: Address;
  readonly hidden: Address;
}

/** Where a layer's tensors lie, in parameters and in gradients alike, as byte offsets. */
export interface LayerWeights {
  readonly attentionNorm: number;
  readonly q: number;
  readonly k: number;
  readonly v: number;
  readonly output: number;
  readonly feedNorm: number;
  readonly gate: number;
  readonly up: number;
  readonly down: number;
}

/** Gradients on their way back, (tokens) then the width named; layers use them in turn. */
export interface GradientStreams {
  readonly dx: Address;
  readonly dn: Address;
  readonly dq: Address;
  readonly dk: Address;
  readonly dv: Address;
  readonly dmixed: Address;
  readonly dhidden: Address;
}

export function layerWeights(shape: LlamaShape): LayerWeights[] {
  return Array.from({ length: shape.layers }, (_, layer) => {
    const find = (name: string): number =>
      4 * findTensor(shape, `blk.${layer}.${name}.weight`).offset;
    return {
      attentionNorm: find("attn_norm"),
      q: find("attn_q"),
      k: find("attn_k"),
      v: find("attn_v"),
      output: find("attn_output"),
      feedNorm: find("ffn_norm"),
      gate: find("ffn_gate"),
      up: find("ffn_up"),
      down: find("ffn_down"),
    };
  });
}

/** @param rows tokens of a batch */
export function takeTraces(bench: Workbench, shape: LlamaShape, rows: number): LayerTrace[] {
  const take = (width: number): Address => bench.take(rows * width);
  const queryWidth = shape.heads * shape.headWidth;
  const kvWidth = shape.kvHeads * shape.headWidth;
  return Array.from({ length: shape.layers }, () => ({
    input: take(shape.width),
    attentionInverse: take(1),
    attentionNormed: take(shape.width),
    q: take(queryWidth),
    k: take(kvWidth),
    v: take(kvWidth),
    logs: take(shape.heads),
    mixed: take(queryWidth),
    middle: take(shape.width),
    feedInverse: take(1),
    feedNormed: take(shape.width),
    gate: take(shape.feedForward),
    up: take(shape.feedForward),
    hidden: take(shape.feedForward),
  }));
}

/** @param rows tokens of a batch */
export function takeStreams(bench: Workbench, shape: LlamaShape, rows: number): GradientStreams {
  const take = (width: number): Address => bench.take(rows * width);
  const queryWidth = shape.heads * shape.headWidth;
  const kvWidth = shape.kvHeads * shape.headWidth;
  return {
    dx: take(shape.width),
    dn: take(shape.width),
    dq: take(queryWidth),
    dk: take(kvWidth),
    dv: take(kvWidth),
    dmixed: take(queryWidth),
    dhidden: take(shape.feedForward),
  };
}

/** Cosines and sines of RoPE: (positions) then (pairs) then two. */
export function takeAngles(bench: Workbench, shape: LlamaShape, length: number): Address {
  const { headWidth, ropeBase } = shape;
  const address = bench.take(length * headWidth);
  const angles = bench.floats(address, length * headWidth);
  for (let position = 0; position < length; position++) {
    for (let pair = 0; pair < headWidth / 2; pair++) {
      const angle = position / ropeBase ** ((2 * pair) / headWidth);
      angles[position * headWidth + 2 * pair] = Math.cos(angle);
      angles[position * headWidth + 2 * pair + 1] = Math.sin(angle);
    }
  }
  return address;
}
