/**
 * From what a user wrote to a model: a catalogue name, or the path of a Hugging Face config.json.
 *
 * Called by the scenario reader and the command line. The only file of this layer that reads a
 * file, once, whole. A text is a path when it names something that exists, or ends in `.json`.
 */

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { EmaError, formatBytes, suggestNames } from "../base/index.ts";
import type { Gpu } from "./gpu.ts";
import { readHuggingFaceConfig } from "./hugging-face-config.ts";
import { MODEL_CATALOGUE, REFUSED_MODELS } from "./model-catalogue.ts";
import type { ModelShape } from "./model-shape.ts";

/** Published config.json files are a few kB. */
const CONFIG_BYTES_MAX = 4e6;

/** CUDA context, activations and workspaces of an engine: 2 GB a GPU. */
export const RESERVE_BYTES = 2e9;

/**
 * @throws EmaError E_MODEL (unknown, with the nearest names, or no usable config), E_FILE
 * (unreadable), E_MODEL_UNSUPPORTED (known and refused, with the reason).
 */
export function findModel(nameOrPath: string): ModelShape {
  const wanted = nameOrPath.trim().toLowerCase();
  const model = MODEL_CATALOGUE.find((candidate) => candidate.name.toLowerCase() === wanted);
  if (model !== undefined) return model;
  for (const [name, reason] of REFUSED_MODELS) {
    if (name.toLowerCase() === wanted) {
      throw new EmaError("E_MODEL_UNSUPPORTED", `model ${name} is refused: ${reason}`);
    }
  }
  const kind = kindOf(nameOrPath);
  if (kind === "folder") return readConfig(join(nameOrPath, "config.json"));
  if (kind === "file" || wanted.endsWith(".json")) return readConfig(nameOrPath);
  const names = [...MODEL_CATALOGUE.map((candidate) => candidate.name), ...REFUSED_MODELS.keys()];
  throw new EmaError(
    "E_MODEL",
    `unknown model "${nameOrPath}", expected a name or the path of a config.json` +
      suggestNames(wanted.split("/").at(-1)!, names),
  );
}

/**
 * What an engine keeps KV in: 0.9 x HBM - weights - 2 GB, in whole bytes.
 *
 * @throws EmaError E_MODEL_FIT with the numbers when nothing is left.
 */
export function kvMemoryBytes(gpu: Gpu, model: ModelShape): number {
  const usable = (gpu.hbmBytes * 9) / 10;
  const bytes = Math.floor(usable - model.weightBytes - RESERVE_BYTES);
  if (bytes < model.kvBytesPerToken) {
    throw new EmaError(
      "E_MODEL_FIT",
      `model ${model.name} does not fit ${gpu.name}: weights ${formatBytes(model.weightBytes)} ` +
        `and a reserve of ${formatBytes(RESERVE_BYTES)} leave no KV memory of 0.9 x ` +
        `${formatBytes(gpu.hbmBytes)} = ${formatBytes(usable)}`,
    );
  }
  return bytes;
}

function kindOf(path: string): "file" | "folder" | "none" {
  try {
    const status = statSync(path);
    return status.isDirectory() ? "folder" : status.isFile() ? "file" : "none";
  } catch {
    return "none";
  }
}

function readConfig(file: string): ModelShape {
  const expected = "expected a readable Hugging Face config.json";
  let text: string;
  try {
    const status = statSync(file);
    if (!status.isFile()) throw new EmaError("E_FILE", `${file}: no regular file, ${expected}`);
    const sizeBytes = status.size;
    if (sizeBytes > CONFIG_BYTES_MAX) {
      throw new EmaError("E_FILE", `${file}: ${formatBytes(sizeBytes)} is too large, ${expected}`);
    }
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof EmaError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
    throw new EmaError("E_FILE", `${file}: cannot be read (${code}), ${expected}`, { cause });
  }
  return readHuggingFaceConfig(file, text);
}
