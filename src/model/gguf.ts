/**
 * Reads models of the `llama` architecture from GGUF files.
 *
 * Called by load-checkpoint.ts. Names of keys and tensors are those of the GGUF specification.
 * Files of this architecture have the rows of Q and K reordered so that RoPE turns neighbours; a
 * table `rope_freqs.weight`, where there is one, holds what each frequency is divided by.
 */

import { basename, extname } from "node:path";
import { EmaError } from "../base/index.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { DescribedFields } from "./described-fields.ts";
import { FileWeights, readStored, type StoredTensor } from "./file-weights.ts";
import { readGgufHeader, type GgufHeader } from "./gguf-header.ts";
import { readGgufTokenizer } from "./gguf-tokenizer.ts";
import { checkModelConfig, type ModelConfig } from "./model-config.ts";
import { checkRopeScaling, yarnMagnitude, type RopeScaling } from "./rope-frequencies.ts";
import type { LayerPart, ModelPart, Tensor } from "./tensors.ts";

const TENSOR_NAMES: Readonly<Record<LayerPart | ModelPart, string>> = {
  embedding: "token_embd.weight",
  finalNorm: "output_norm.weight",
  head: "output.weight",
  attentionNorm: "attn_norm.weight",
  query: "attn_q.weight",
  key: "attn_k.weight",
  value: "attn_v.weight",
  attentionOutput: "attn_output.weight",
  ffnNorm: "ffn_norm.weight",
  gate: "ffn_gate.weight",
  up: "ffn_up.weight",
  down: "ffn_down.weight",
};

const ROPE_DIVISORS = "rope_freqs.weight";

/** @throws EmaError E_CHECKPOINT or E_MODEL_UNSUPPORTED; the file is the caller's to close then */
export function readGguf(file: CheckpointFile): Checkpoint {
  const header = readGgufHeader(file);
  const fields = new DescribedFields(file.path, header.pairs);
  const config = configOf(file, header, fields);
  const { tensors } = header;
  const isIgnored = (name: string): boolean => name === ROPE_DIVISORS;
  const weights = new FileWeights([file], config, tensors, nameOf, isIgnored);
  const { tokenizer, chatTemplate } = readGgufTokenizer(fields, config.vocab);
  const given = fields.optionalText("general.name");
  const name = given === null || given === "" ? basename(file.path, extname(file.path)) : given;
  return { name, config, weights, tokenizer, chatTemplate };
}

function nameOf(tensor: Tensor): string {
  const name = TENSOR_NAMES[tensor.part];
  return tensor.layer < 0 ? name : `blk.${tensor.layer}.${name}`;
}

function configOf(file: CheckpointFile, header: GgufHeader, fields: DescribedFields): ModelConfig {
  if (fields.text("general.architecture") !== "llama") {
    throw fields.unsupported("general.architecture", "llama");
  }
  if ((fields.optionalWhole("split.count") ?? 1) > 1) throw fields.unsupported("split.count", "1");
  if ((fields.optionalWhole("llama.expert_count") ?? 0) > 0) {
    throw fields.unsupported("llama.expert_count", "a dense model");
  }
  const embedding = header.tensors.get(TENSOR_NAMES.embedding);
  if (embedding === undefined) throw file.fault(`no tensor ${TENSOR_NAMES.embedding}`);
  const hidden = fields.whole("llama.embedding_length");
  const heads = fields.whole("llama.attention.head_count");
  const headDim = fields.optionalWhole("llama.attention.key_length") ?? hidden / heads;
  for (const key of ["llama.attention.value_length", "llama.rope.dimension_count"]) {
    if ((fields.optionalWhole(key) ?? headDim) !== headDim) {
      throw fields.unsupported(key, `${headDim}, the length of a key`);
    }
  }
  const config: ModelConfig = {
    layers: fields.whole("llama.block_count"),
    hidden,
    heads,
    kvHeads: fields.optionalWhole("llama.attention.head_count_kv") ?? heads,
    headDim,
    ffn: fields.whole("llama.feed_forward_length"),
    vocab: embedding.shape[0]!,
    contextTokensMax: fields.whole("llama.context_length"),
    normEps: fields.number("llama.attention.layer_norm_rms_epsilon"),
    ropeTheta: fields.optionalNumber("llama.rope.freq_base") ?? 10_000,
    ropePairs: "neighbours",
    ropeScaling: scalingOf(fields, header.tensors.get(ROPE_DIVISORS)),
    isTied: !header.tensors.has(TENSOR_NAMES.head),
  };
  checkModelConfig(config, file.path);
  checkRopeScaling(config.ropeScaling, headDim, file.path);
  return config;
}

function scalingOf(fields: DescribedFields, divisors: StoredTensor | undefined): RopeScaling {
  const key = "llama.rope.scaling.type";
  const kind = fields.optionalText(key) ?? "none";
  if (divisors !== undefined) {
    // Both at once is not defined anywhere; a file with both was written for something else.
    if (kind !== "none") throw fields.unsupported(key, `none beside ${ROPE_DIVISORS}`);
    return { kind: "divisors", divisors: divisorsOf(divisors) };
  }
  switch (kind) {
    case "none":
      return { kind: "none" };
    case "linear":
      return { kind: "linear", factor: fields.number("llama.rope.scaling.factor") };
    case "yarn": {
      const factor = fields.number("llama.rope.scaling.factor");
      const attention = fields.optionalNumber("llama.rope.scaling.attn_factor") ?? 1;
      return {
        kind: "yarn",
        factor,
        originalContextTokens: fields.number("llama.rope.scaling.original_context_length"),
        turnsFast: fields.optionalNumber("llama.rope.scaling.yarn_beta_fast") ?? 32,
        turnsSlow: fields.optionalNumber("llama.rope.scaling.yarn_beta_slow") ?? 1,
        isRampWhole: true,
        magnitude: attention * yarnMagnitude(factor),
      };
    }
    default:
      throw fields.unsupported(key, "none, linear or yarn");
  }
}

function divisorsOf(stored: StoredTensor): Float64Array {
  const [count] = stored.shape;
  if (stored.shape.length !== 1 || count! > 4096) {
    throw new EmaError("E_CHECKPOINT", `${stored.file.path}: ${ROPE_DIVISORS} is not a short row`);
  }
  const divisors = new Float32Array(count!);
  readStored(stored, 0, divisors, ROPE_DIVISORS);
  return Float64Array.from(divisors);
}
