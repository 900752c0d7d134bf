/**
 * Reads llama2.c checkpoints: seven integers, then all floats in one fixed order.
 *
 * Called by load-checkpoint.ts. The layout is that of the project's `run.c` (legacy export,
 * version 0): the header has no magic number, so everything in it is checked against the length of
 * the file, which it determines exactly.
 *
 *     int32  dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab (negative: own head), seq_len
 *     float  embedding, attention norms, Wq, Wk, Wv, Wo, FFN norms, W1 (gate), W2 (down), W3 (up),
 *            each over all layers; final norm; 2 tables of RoPE (unused); own head
 */

import { EmaError } from "../base/index.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import { checkModelConfig, FLOAT_BYTES, type ModelConfig } from "./model-config.ts";
import {
  layerPartShape,
  type CheckpointWeights,
  tensorName,
  type LayerPart,
  type Tensor,
} from "./tensors.ts";

const HEADER_BYTES = 7 * 4;
/** Its sign says whether the head is tied. */
const VOCAB_WORD = 5;
/** Beyond all models there are. */
const SIZE_END = 2 ** 24;

/** What version 1 and later begin with. */
const MAGIC_LATER = 0x616b3432;

const PARTS_IN_FILE: readonly LayerPart[] = [
  ...(["attentionNorm", "query", "key", "value", "attentionOutput"] as const),
  ...(["ffnNorm", "gate", "down", "up"] as const),
];

/** @throws EmaError E_CHECKPOINT when header and length do not agree. */
export function readLlama2cConfig(file: CheckpointFile): ModelConfig {
  const header = file.read(0, HEADER_BYTES, "the llama2.c header");
  if (header.readUInt32LE(0) === MAGIC_LATER) {
    const what = "a llama2.c checkpoint of version 1 or later, expected the legacy export";
    throw new EmaError("E_MODEL_UNSUPPORTED", `${file.path}: ${what}`);
  }
  const word = (index: number): number => header.readInt32LE(index * 4);
  const [hidden, heads, signedVocab] = [word(0), word(3), word(5)];
  // A file of any other kind has these bytes too: it is told so, not what they would mean.
  for (let index = 0; index < HEADER_BYTES / 4; index++) {
    const size = Math.abs(word(index));
    const isSize = size > 0 && size < SIZE_END && (word(index) > 0 || index === VOCAB_WORD);
    if (!isSize) throw file.fault("neither a GGUF file nor a llama2.c checkpoint");
  }
  if (heads < 1 || hidden % heads !== 0) {
    throw file.fault(`${hidden} columns cannot be divided among ${heads} heads`);
  }
  const config = checkModelConfig(
    {
      layers: word(2),
      hidden,
      heads,
      kvHeads: word(4),
      headDim: hidden / heads,
      ffn: word(1),
      vocab: Math.abs(signedVocab),
      contextTokensMax: word(6),
      normEps: 1e-5,
      ropeTheta: 10000,
      ropePairs: "neighbours",
      ropeScaling: { kind: "none" },
      isTied: signedVocab > 0,
    },
    file.path,
  );
  const expected = offsetsOf(config).totalBytes;
  if (file.bytes !== expected) {
    throw file.fault(`the header asks for ${expected} bytes, the file has ${file.bytes}`);
  }
  return config;
}

/** The weights of a file whose config has been read; closes the file with them. */
export function llama2cWeights(file: CheckpointFile, config: ModelConfig): CheckpointWeights {
  const { offsetOf } = offsetsOf(config);
  return {
    read: (tensor, firstElement, target) => {
      const offset = offsetOf(tensor) + firstElement * FLOAT_BYTES;
      const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
      file.readInto(offset, bytes, tensorName(tensor));
    },
    close: () => file.close(),
  };
}

function offsetsOf(config: ModelConfig): {
  totalBytes: number;
  offsetOf: (tensor: Tensor) => number;
} {
  const starts = new Map<string, number>();
  let offset = HEADER_BYTES;
  const place = (part: string, elements: number): void => {
    starts.set(part, offset);
    offset += elements * FLOAT_BYTES;
  };
  place("embedding", config.vocab * config.hidden);
  for (const part of PARTS_IN_FILE) {
    const [rows, columns] = layerPartShape(config, part);
    place(part, config.layers * rows * columns);
  }
  place("finalNorm", config.hidden);
  place("tables of RoPE", config.contextTokensMax * config.headDim);
  if (!config.isTied) place("head", config.vocab * config.hidden);
  return {
    totalBytes: offset,
    offsetOf: ({ part, layer, rows, columns }) =>
      starts.get(part)! + Math.max(layer, 0) * rows * columns * FLOAT_BYTES,
  };
}
