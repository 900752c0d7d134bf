/**
 * The dimensions of a Llama-family decoder and what they cost in memory.
 *
 * Filled in by the checkpoint readers and by randomCheckpoint; read by the decoder and by whoever
 * sizes device memory. It knows no file format. Weights and KV are 4-byte floats here: the
 * emulated devices compute in float32, whatever type the file holds.
 *
 * Invariant: a config that `checkModelConfig` passed has counts that multiply without leaving the
 * integers a double holds.
 */

import { EmaError } from "../base/index.ts";
import type { RopePairs } from "../device/index.ts";
import type { ModelShape } from "../hardware/index.ts";
import type { RopeScaling } from "./rope-frequencies.ts";

export const FLOAT_BYTES = 4;

export interface ModelConfig {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  /** Divides `heads`. */
  readonly kvHeads: number;
  /** Even; not always hidden / heads. */
  readonly headDim: number;
  readonly ffn: number;
  readonly vocab: number;
  readonly contextTokensMax: number;
  readonly normEps: number;
  readonly ropeTheta: number;
  readonly ropePairs: RopePairs;
  readonly ropeScaling: RopeScaling;
  /** The output matrix is the embedding. */
  readonly isTied: boolean;
}

/** The least and the most each count may be: no published dense model comes near the upper ones. */
const COUNT_LIMITS = {
  layers: [1, 1024],
  hidden: [1, 1 << 18],
  heads: [1, 4096],
  kvHeads: [1, 4096],
  headDim: [2, 4096],
  ffn: [1, 1 << 20],
  vocab: [2, 1 << 22],
  contextTokensMax: [1, 1 << 26],
} as const;

/**
 * @param where the file, for the message
 * @returns the config itself
 * @throws EmaError E_CHECKPOINT for a value no decoder can have
 */
export function checkModelConfig(config: ModelConfig, where: string): ModelConfig {
  const refuse = (what: string): never => {
    throw new EmaError("E_CHECKPOINT", `${where}: ${what}`);
  };
  for (const [key, [least, most]] of Object.entries(COUNT_LIMITS)) {
    const value = config[key as keyof typeof COUNT_LIMITS];
    if (Number.isSafeInteger(value) && value >= least && value <= most) continue;
    refuse(`${key} is ${value}, expected a whole number from ${least} to ${most}`);
  }
  if (config.headDim % 2 !== 0) refuse(`headDim is ${config.headDim}, expected an even number`);
  if (config.heads % config.kvHeads !== 0) {
    refuse(`${config.heads} heads cannot share ${config.kvHeads} KV heads evenly`);
  }
  if (!(config.normEps >= 0 && config.normEps < 1)) refuse(`normEps is ${config.normEps}`);
  if (!(config.ropeTheta > 1 && config.ropeTheta < 1e12)) {
    refuse(`ropeTheta is ${config.ropeTheta}, expected a number above 1`);
  }
  return config;
}

/** Bytes of K and V that one token has over all layers. */
export function kvBytesPerToken(config: ModelConfig): number {
  return config.layers * 2 * config.kvHeads * config.headDim * FLOAT_BYTES;
}

/** Matrices, embeddings and norms; a tied output matrix counts once. */
export function paramCount(config: ModelConfig): number {
  const { layers, hidden, heads, kvHeads, headDim, ffn, vocab, isTied } = config;
  const attention = hidden * headDim * (2 * heads + 2 * kvHeads);
  const layer = attention + 3 * hidden * ffn + 2 * hidden;
  return layers * layer + vocab * hidden * (isTied ? 1 : 2) + hidden;
}

/** The sizes by which engines and cost models count memory, with 4-byte floats throughout. */
export function modelShapeOf(config: ModelConfig, name: string): ModelShape {
  const { layers, hidden, heads, kvHeads, headDim, ffn, vocab, isTied, contextTokensMax } = config;
  return {
    name,
    layers,
    hidden,
    heads,
    kvHeads,
    headDim,
    ffn,
    vocab,
    isTied,
    contextTokensMax,
    isFfnGated: true,
    paramCount: paramCount(config),
    weightBytes: paramCount(config) * FLOAT_BYTES,
    kvBytesPerToken: kvBytesPerToken(config),
  };
}
