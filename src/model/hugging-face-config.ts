/**
 * From a Hugging Face `config.json` to the dimensions of a decoder.
 *
 * Called by hugging-face-model.ts. Keys are those of the transformers library's LlamaConfig; both
 * forms of its RoPE parameters are read (`rope_scaling` beside `rope_theta`, and the newer
 * `rope_parameters` that holds both). What the decoder does not do is refused, not ignored.
 */

import type { DescribedFields } from "./described-fields.ts";
import { checkModelConfig, type ModelConfig } from "./model-config.ts";
import { checkRopeScaling, yarnMagnitude, type RopeScaling } from "./rope-frequencies.ts";

/** Architectures that are a Llama decoder once what differs is switched off. */
const MODEL_TYPES: readonly string[] = ["llama", "mistral"];

/** @throws EmaError E_CHECKPOINT or E_MODEL_UNSUPPORTED */
export function modelConfigOf(fields: DescribedFields): ModelConfig {
  refuseWhatIsNotBuilt(fields);
  const hidden = fields.whole("hidden_size");
  const heads = fields.whole("num_attention_heads");
  const headDim = fields.optionalWhole("head_dim") ?? hidden / heads;
  const contextTokensMax = fields.whole("max_position_embeddings");
  const rope = fields.fields("rope_parameters");
  const scaling = rope ?? fields.fields("rope_scaling");
  const config: ModelConfig = {
    layers: fields.whole("num_hidden_layers"),
    hidden,
    heads,
    kvHeads: fields.optionalWhole("num_key_value_heads") ?? heads,
    headDim,
    ffn: fields.whole("intermediate_size"),
    vocab: fields.whole("vocab_size"),
    contextTokensMax,
    normEps: fields.number("rms_norm_eps"),
    ropeTheta:
      rope?.optionalNumber("rope_theta") ?? fields.optionalNumber("rope_theta") ?? 10_000,
    ropePairs: "halves",
    ropeScaling: scaling === null ? { kind: "none" } : scalingOf(scaling, contextTokensMax),
    isTied: fields.optionalFlag("tie_word_embeddings") ?? false,
  };
  checkModelConfig(config, fields.where);
  checkRopeScaling(config.ropeScaling, headDim, fields.where);
  return config;
}

function refuseWhatIsNotBuilt(fields: DescribedFields): void {
  if (!MODEL_TYPES.includes(fields.text("model_type"))) {
    throw fields.unsupported("model_type", MODEL_TYPES.join(" or "));
  }
  if ((fields.optionalText("hidden_act") ?? "silu") !== "silu") {
    throw fields.unsupported("hidden_act", "silu");
  }
  for (const key of ["attention_bias", "mlp_bias"]) {
    if (fields.optionalFlag(key) === true) throw fields.unsupported(key, "false");
  }
  const window = fields.optionalWhole("sliding_window");
  if (window !== null && window < fields.whole("max_position_embeddings")) {
    throw fields.unsupported("sliding_window", "attention over the whole context");
  }
  if ((fields.optionalNumber("partial_rotary_factor") ?? 1) !== 1) {
    throw fields.unsupported("partial_rotary_factor", "1");
  }
}

function scalingOf(fields: DescribedFields, contextTokensMax: number): RopeScaling {
  const key = fields.raw("rope_type") === null ? "type" : "rope_type";
  switch (fields.optionalText(key) ?? "default") {
    case "default":
      return { kind: "none" };
    // It changes nothing up to max_position_embeddings, which is as far as a sequence goes here.
    case "dynamic":
      return { kind: "none" };
    case "linear":
      return { kind: "linear", factor: fields.number("factor") };
    case "llama3":
      return {
        kind: "llama3",
        factor: fields.number("factor"),
        lowFrequencyFactor: fields.number("low_freq_factor"),
        highFrequencyFactor: fields.number("high_freq_factor"),
        originalContextTokens: fields.number("original_max_position_embeddings"),
      };
    case "yarn":
      return yarnOf(fields, contextTokensMax);
    default:
      throw fields.unsupported(key, "default, linear, dynamic, llama3 or yarn");
  }
}

function yarnOf(fields: DescribedFields, contextTokensMax: number): RopeScaling {
  const factor = fields.number("factor");
  for (const key of ["mscale", "mscale_all_dim"]) {
    if (fields.raw(key) !== null) throw fields.unsupported(key, "attention_factor or nothing");
  }
  return {
    kind: "yarn",
    factor,
    originalContextTokens:
      fields.optionalNumber("original_max_position_embeddings") ?? contextTokensMax,
    turnsFast: fields.optionalNumber("beta_fast") ?? 32,
    turnsSlow: fields.optionalNumber("beta_slow") ?? 1,
    isRampWhole: fields.optionalFlag("truncate") ?? true,
    magnitude: fields.optionalNumber("attention_factor") ?? yarnMagnitude(factor),
  };
}
