/**
 * A model's shape from a Hugging Face config.json.
 *
 * Called by find-model.ts with the file's text; it does no I/O. Defaults are those of the families'
 * own configuration classes in transformers: what is absent there has the same meaning here.
 * Nothing is guessed for families that are not listed: a wrong weight size is a wrong capacity.
 *
 * Invariant: a shape that is returned has positive integers throughout.
 */

import { EmaError } from "../base/index.ts";
import type { ModelShape } from "./model-shape.ts";
import { shapeFrom, type Family } from "./model-params.ts";

interface FamilyTraits {
  readonly family: Family;
  readonly isTiedByDefault: boolean;
  /** Of queries, keys and values; `config`: as `attention_bias` says. */
  readonly qkvBias: "always" | "config" | "never";
  readonly hasQueryKeyNorm: boolean;
}

const FAMILIES: Readonly<Record<string, FamilyTraits>> = {
  llama: traits("llama", false, "config"),
  mistral: traits("llama", false, "never"),
  qwen2: traits("llama", false, "always"),
  qwen3: { ...traits("llama", false, "config"), hasQueryKeyNorm: true },
  phi3: traits("llama", false, "never"),
  gemma: traits("llama", true, "config"),
  opt: traits("opt", true, "never"),
};

/** Larger than any published model by far; keeps every product below 2^53. */
const LIMITS = { layers: 1000, width: 1 << 20, vocab: 1 << 24, context: 1 << 28 } as const;

type Config = Readonly<Record<string, unknown>>;

/**
 * @param file as the user wrote it; begins every message.
 * @throws EmaError E_MODEL when it is no usable config, E_MODEL_UNSUPPORTED with the reason.
 */
export function readHuggingFaceConfig(file: string, text: string): ModelShape {
  const config = parseObject(file, text);
  const modelType = readModelType(file, config);
  refuseUnsupported(file, modelType, config);
  const family = FAMILIES[modelType];
  if (family === undefined) {
    throw new EmaError(
      "E_MODEL_UNSUPPORTED",
      `${file}: model_type "${modelType}" is not built; built: ${Object.keys(FAMILIES).join(", ")}`,
    );
  }
  const reader = new ConfigReader(file, config);
  const isOpt = family.family === "opt";
  const hidden = reader.positive("hidden_size", LIMITS.width);
  const heads = reader.positive("num_attention_heads", LIMITS.width);
  const kvHeads = reader.positiveOr("num_key_value_heads", LIMITS.width, heads);
  if (heads % kvHeads !== 0) {
    throw reader.refuse("num_key_value_heads", `a divisor of num_attention_heads (${heads})`);
  }
  const headDim = readHeadDim(reader, hidden, heads);
  const ffn = reader.positive(isOpt ? "ffn_dim" : "intermediate_size", LIMITS.width);
  if (isOpt) requireOptLayout(file, config, hidden);
  const queryKeyValueDim = (heads + 2 * kvHeads) * headDim;
  let layerVectorParams = family.hasQueryKeyNorm ? 2 * headDim : 0;
  const hasBias = reader.flagOr("attention_bias", false);
  if (family.qkvBias === "always") layerVectorParams += queryKeyValueDim;
  if (family.qkvBias === "config" && hasBias) layerVectorParams += queryKeyValueDim + hidden;
  if (family.qkvBias === "config" && reader.flagOr("mlp_bias", false)) {
    layerVectorParams += 2 * ffn + hidden;
  }
  return shapeFrom({
    name: nameOf(file, config),
    family: family.family,
    layers: reader.positive("num_hidden_layers", LIMITS.layers),
    hidden,
    heads,
    kvHeads,
    headDim,
    ffn,
    isFfnGated: !isOpt,
    vocab: reader.positive("vocab_size", LIMITS.vocab),
    isTied: reader.flagOr("tie_word_embeddings", family.isTiedByDefault),
    contextTokensMax: reader.positive("max_position_embeddings", LIMITS.context),
    layerVectorParams,
  });
}

/**
 * Reads one key at a time; messages name the file, the key, what was found and what was expected.
 */
class ConfigReader {
  readonly #file: string;
  readonly #config: Config;

  constructor(file: string, config: Config) {
    this.#file = file;
    this.#config = config;
  }

  positive(key: string, max: number): number {
    const value = this.#config[key];
    if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > max) {
      throw this.refuse(key, `an integer from 1 to ${max}`);
    }
    return value;
  }

  /** Absent and `null` both mean the fallback. */
  positiveOr(key: string, max: number, fallback: number): number {
    const value = this.#config[key];
    return value === undefined || value === null ? fallback : this.positive(key, max);
  }

  flagOr(key: string, fallback: boolean): boolean {
    const value = this.#config[key];
    if (value === undefined || value === null) return fallback;
    if (typeof value !== "boolean") throw this.refuse(key, "true or false");
    return value;
  }

  refuse(key: string, expected: string): EmaError {
    const value = this.#config[key];
    const found = value === undefined ? "it is missing" : `found ${shorten(value)}`;
    return new EmaError("E_MODEL", `${this.#file}: ${key}: expected ${expected}, ${found}`);
  }
}

function traits(
  family: Family,
  isTiedByDefault: boolean,
  qkvBias: FamilyTraits["qkvBias"],
): FamilyTraits {
  return { family, isTiedByDefault, qkvBias, hasQueryKeyNorm: false };
}

function parseObject(file: string, text: string): Config {
  const expected = "expected a Hugging Face config.json: one JSON object";
  if (text.trim() === "") throw new EmaError("E_MODEL", `${file}: the file is empty, ${expected}`);
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    // The parser's own message quotes the file, which may be anything the user can read.
    throw new EmaError("E_MODEL", `${file}: not JSON, ${expected}`, { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new EmaError("E_MODEL", `${file}: found ${shorten(value)}, ${expected}`);
  }
  return value as Config;
}

function readModelType(file: string, config: Config): string {
  const modelType = config["model_type"];
  if (typeof modelType !== "string" || modelType === "") {
    const found = modelType === undefined ? "it is missing" : `found ${shorten(modelType)}`;
    throw new EmaError(
      "E_MODEL",
      `${file}: model_type: expected one of ${Object.keys(FAMILIES).join(", ")}, ${found}`,
    );
  }
  return modelType.toLowerCase();
}

function refuseUnsupported(file: string, modelType: string, config: Config): void {
  const refuse = (reason: string): EmaError =>
    new EmaError("E_MODEL_UNSUPPORTED", `${file}: refused: ${reason}`);
  for (const key of ["num_local_experts", "num_experts", "n_routed_experts"]) {
    if (isCount(config[key])) {
      throw refuse(`${key} ${config[key]}: a mixture of experts, and only dense models are built`);
    }
  }
  if (isCount(config["kv_lora_rank"])) {
    throw refuse("kv_lora_rank: multi-head latent attention, whose KV cache is not built");
  }
  if (/moe|mixtral/.test(modelType)) {
    throw refuse(`model_type ${modelType}: a mixture of experts, and only dense models are built`);
  }
  const layerTypes = config["layer_types"];
  if (hasWindow(config) || (Array.isArray(layerTypes) && layerTypes.some(isWindowed))) {
    throw refuse("sliding-window attention is not built");
  }
  if (typeof config["quantization_config"] === "object" && config["quantization_config"] !== null) {
    throw refuse("quantization_config: quantised weights are not built, expected bf16 or fp16");
  }
  if (typeof config["text_config"] === "object" && config["text_config"] !== null) {
    throw refuse("text_config: models of several modalities are not built");
  }
}

/**
 * Qwen's configs carry a window that is switched off, and a window as long as the context is none.
 */
function hasWindow(config: Config): boolean {
  const window = config["sliding_window"];
  if (!isCount(window) || config["use_sliding_window"] === false) return false;
  const context = config["max_position_embeddings"];
  return !(typeof context === "number" && window >= context);
}

function isWindowed(layerType: unknown): boolean {
  return typeof layerType === "string" && layerType.includes("sliding");
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && value > 0;
}

function readHeadDim(reader: ConfigReader, hidden: number, heads: number): number {
  const given = reader.positiveOr("head_dim", LIMITS.width, 0);
  if (given > 0) return given;
  if (hidden % heads !== 0) {
    throw reader.refuse("head_dim", `it given, as hidden_size ${hidden} / ${heads} is not whole`);
  }
  return hidden / heads;
}

/** OPT-350m alone projects its embeddings and norms after each layer; its count would be wrong. */
function requireOptLayout(file: string, config: Config, hidden: number): void {
  const projected = config["word_embed_proj_dim"];
  if (typeof projected === "number" && projected !== hidden) {
    throw new EmaError(
      "E_MODEL_UNSUPPORTED",
      `${file}: refused: word_embed_proj_dim ${projected} differs from hidden_size ${hidden}, ` +
        "and projected embeddings are not built",
    );
  }
}

function nameOf(file: string, config: Config): string {
  const given = config["_name_or_path"];
  if (typeof given === "string" && given.trim() !== "") return given.trim().split("/").at(-1)!;
  const parts = file.split(/[\\/]/).filter((part) => part !== "" && part !== ".");
  const last = parts.at(-1) ?? file;
  return last === "config.json" && parts.length > 1 ? parts.at(-2)! : last.replace(/\.json$/, "");
}

function shorten(value: unknown): string {
  // JSON has no word for what 1e400 is read as.
  const isNumber = typeof value === "number";
  const text = isNumber ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 40 ? `${text.slice(0, 37)}...` : text;
}
