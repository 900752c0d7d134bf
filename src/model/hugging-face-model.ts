/**
 * Reads a model's folder as Hugging Face publishes it: config, safetensors, tokenizer, template.
 *
 * Called by load-checkpoint.ts. Weights are one `model.safetensors` or several, listed by
 * `model.safetensors.index.json`; names of tensors and keys are those of the transformers library's
 * Llama. RoPE turns halves in these files.
 */

import { existsSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { EmaError } from "../base/index.ts";
import type { ChatTemplate } from "./chat-prompt.ts";
import { CheckpointFile } from "./checkpoint-file.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { DescribedFields } from "./described-fields.ts";
import { FileWeights, type StoredTensor } from "./file-weights.ts";
import { modelConfigOf } from "./hugging-face-config.ts";
import { readJsonFile, readTextFile } from "./json-file.ts";
import { JsonTokenizer } from "./json-tokenizer.ts";
import { readSafetensorsHeader } from "./safetensors.ts";
import type { LayerPart, ModelPart, Tensor } from "./tensors.ts";
import { beginTextOf, checkTokenizerDescription } from "./tokenizer-description.ts";

const TENSOR_NAMES: Readonly<Record<LayerPart | ModelPart, string>> = {
  embedding: "model.embed_tokens.weight",
  finalNorm: "model.norm.weight",
  head: "lm_head.weight",
  attentionNorm: "input_layernorm.weight",
  query: "self_attn.q_proj.weight",
  key: "self_attn.k_proj.weight",
  value: "self_attn.v_proj.weight",
  attentionOutput: "self_attn.o_proj.weight",
  ffnNorm: "post_attention_layernorm.weight",
  gate: "mlp.gate_proj.weight",
  up: "mlp.up_proj.weight",
  down: "mlp.down_proj.weight",
};

/** Files that one index may list: the largest published models have a few hundred. */
const SHARDS_MAX = 4096;

/**
 * @param folder holds config.json and the rest
 * @throws EmaError E_FILE, E_CHECKPOINT or E_MODEL_UNSUPPORTED; no file stays open then
 */
export function readHuggingFaceModel(folder: string): Checkpoint {
  const configPath = join(folder, "config.json");
  const fields = DescribedFields.ofObject(configPath, readJsonFile(configPath));
  const config = modelConfigOf(fields);
  const { tokenizer, chatTemplate } = readTokenizer(folder, fields, config.vocab);
  const files: CheckpointFile[] = [];
  try {
    for (const path of weightPaths(folder)) files.push(new CheckpointFile(path));
    const tensors = new Map<string, StoredTensor>();
    for (const file of files) {
      for (const [name, tensor] of readSafetensorsHeader(file)) {
        if (tensors.has(name)) throw file.fault(`tensor ${name} is in another file, too`);
        tensors.set(name, tensor);
      }
    }
    const isIgnored = (name: string): boolean =>
      name.endsWith(".rotary_emb.inv_freq") || (config.isTied && name === TENSOR_NAMES.head);
    const weights = new FileWeights(files, config, tensors, nameOf, isIgnored);
    return { name: basename(resolve(folder)), config, weights, tokenizer, chatTemplate };
  } catch (error) {
    for (const file of files) file.close();
    throw error;
  }
}

function nameOf(tensor: Tensor): string {
  const name = TENSOR_NAMES[tensor.part];
  return tensor.layer < 0 ? name : `model.layers.${tensor.layer}.${name}`;
}

/** @returns the weight files, which lie in the folder itself */
function weightPaths(folder: string): string[] {
  const indexPath = join(folder, "model.safetensors.index.json");
  if (!existsSync(indexPath)) {
    const all = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
    if (all.length === 1) return [join(folder, all[0]!)];
    const found = all.length === 0 ? "no .safetensors file" : `${all.length} .safetensors files`;
    throw new EmaError("E_FILE", `${folder}: ${found} and no model.safetensors.index.json`);
  }
  const map = DescribedFields.ofObject(indexPath, readJsonFile(indexPath)).fields("weight_map");
  if (map === null) throw new EmaError("E_CHECKPOINT", `${indexPath}: no weight_map`);
  const names = new Set(Array.from(map.entries(), ([tensor]) => map.text(tensor)));
  if (names.size === 0 || names.size > SHARDS_MAX) {
    throw new EmaError("E_CHECKPOINT", `${indexPath}: lists ${names.size} files`);
  }
  for (const name of names) {
    // An index that points out of its folder is none that anybody published.
    if (name === basename(name) && name.endsWith(".safetensors")) continue;
    const what = `${JSON.stringify(name)} is no file beside it`;
    throw new EmaError("E_CHECKPOINT", `${indexPath}: ${what}`);
  }
  return [...names].map((name) => join(folder, name));
}

function readTokenizer(
  folder: string,
  config: DescribedFields,
  vocab: number,
): { tokenizer: JsonTokenizer; chatTemplate: ChatTemplate | null } {
  const path = join(folder, "tokenizer.json");
  const description = checkTokenizerDescription(path, readJsonFile(path), vocab);
  const settingsPath = join(folder, "tokenizer_config.json");
  const settings = existsSync(settingsPath)
    ? DescribedFields.ofObject(settingsPath, readJsonFile(settingsPath))
    : new DescribedFields(settingsPath, new Map());
  const generationPath = join(folder, "generation_config.json");
  const generation = existsSync(generationPath)
    ? DescribedFields.ofObject(generationPath, readJsonFile(generationPath))
    : config;
  const endFields = generation.raw("eos_token_id") === null ? config : generation;
  const beginText = specialText(settings, "bos_token");
  const endText = specialText(settings, "eos_token");
  const ids = new Map(description.added_tokens.map(({ id, content }) => [content, id]));
  const addsBegin = settings.optionalFlag("add_bos_token");
  const putInFront = addsBegin === true ? beginText : beginTextOf(description);
  const beginId = addsBegin === false ? null : (ids.get(putInFront ?? "") ?? null);
  const endIds = new Set(idList(endFields, "eos_token_id", vocab));
  const endId = ids.get(endText);
  if (endId !== undefined) endIds.add(endId);
  const parts = { where: path, description, vocab, beginId, endIds: [...endIds] };
  const source = templateSource(folder, settings);
  const controls = description.added_tokens.filter(({ special }) => special === true);
  const controlTexts = controls.map(({ content }) => content);
  const chatTemplate = source === null ? null : { source, beginText, endText, controlTexts };
  return { tokenizer: new JsonTokenizer(parts), chatTemplate };
}

/** A special token's text: as a text, or as an object with the text in `content`. */
function specialText(settings: DescribedFields, key: string): string {
  const value = settings.raw(key);
  if (value === null || typeof value === "string") return value ?? "";
  return settings.fields(key)?.optionalText("content") ?? "";
}

/** One id, or a list of them. */
function idList(fields: DescribedFields, key: string, vocab: number): number[] {
  const value = fields.raw(key) ?? [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  const isId = (id: unknown): id is number =>
    Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < vocab;
  if (list.every(isId)) return list;
  throw fields.wrong(key, `ids below ${vocab}`);
}

/** A file of its own, one text, or the text that is called default among several. */
function templateSource(folder: string, settings: DescribedFields): string | null {
  const path = join(folder, "chat_template.jinja");
  if (existsSync(path)) return readTextFile(path);
  const value = settings.raw("chat_template");
  if (!Array.isArray(value)) return settings.optionalText("chat_template");
  const where = `${settings.where}: chat_template`;
  const named = value.map((each) => DescribedFields.ofObject(where, each));
  return named.find((each) => each.optionalText("name") === "default")?.text("template") ?? null;
}
