/**
 * The tensors of a Llama-family decoder: what there is, in which shape, and how it is read.
 *
 * Readers of checkpoint formats give `CheckpointWeights`; the decoder walks `tensorsOf` and uploads
 * one after the other. Values become float32 as they are read, a piece at a time, so that a model
 * larger than the process's memory can still be put onto a device.
 *
 * A matrix is kept as (outputs) then (inputs): a row holds what one output is the product with.
 */

import type { ModelConfig } from "./model-config.ts";

/** Tensors that every layer has. */
export const LAYER_PARTS = [
  "attentionNorm",
  "query",
  "key",
  "value",
  "attentionOutput",
  "ffnNorm",
  "gate",
  "up",
  "down",
] as const;

export type LayerPart = (typeof LAYER_PARTS)[number];

/** Tensors that the model has once; a tied one has no head. */
export type ModelPart = "embedding" | "finalNorm" | "head";

export interface Tensor {
  readonly part: LayerPart | ModelPart;
  /** -1 for what the model has once. */
  readonly layer: number;
  readonly rows: number;
  readonly columns: number;
}

/** Weights of a checkpoint, read when they are asked for. */
export interface CheckpointWeights {
  /**
   * Fills `target` with elements of a tensor, row by row, from `firstElement` on.
   * @throws EmaError E_FILE or E_CHECKPOINT when the file has changed or failed since it was opened
   */
  read(tensor: Tensor, firstElement: number, target: Float32Array): void;
  /** Closes the files; the weights are void afterwards. Idempotent. */
  close(): void;
}

/** Every tensor of a model, in the order in which a decoder keeps them. */
export function tensorsOf(config: ModelConfig): Tensor[] {
  const { hidden, vocab } = config;
  const tensors: Tensor[] = [{ part: "embedding", layer: -1, rows: vocab, columns: hidden }];
  for (let layer = 0; layer < config.layers; layer++) {
    for (const part of LAYER_PARTS) {
      const [rows, columns] = layerPartShape(config, part);
      tensors.push({ part, layer, rows, columns });
    }
  }
  tensors.push({ part: "finalNorm", layer: -1, rows: 1, columns: hidden });
  if (!config.isTied) tensors.push({ part: "head", layer: -1, rows: vocab, columns: hidden });
  return tensors;
}

/** Rows and columns; a norm is one row. */
export function layerPartShape(config: ModelConfig, part: LayerPart): [number, number] {
  const { hidden, ffn } = config;
  const queryWidth = config.heads * config.headDim;
  const kvWidth = config.kvHeads * config.headDim;
  switch (part) {
    case "query":
      return [queryWidth, hidden];
    case "key":
    case "value":
      return [kvWidth, hidden];
    case "attentionOutput":
      return [hidden, queryWidth];
    case "gate":
    case "up":
      return [ffn, hidden];
    case "down":
      return [hidden, ffn];
    case "attentionNorm":
    case "ffnNorm":
      return [1, hidden];
  }
}

/** How a tensor is called in messages. */
export function tensorName(tensor: Tensor): string {
  return tensor.layer < 0 ? tensor.part : `${tensor.part} of layer ${tensor.layer}`;
}
