/**
 * Opens a checkpoint, whatever its format: the one way from a path to a model.
 *
 * Called by whoever serves a model and by tests. It looks at what the file is, not only at what it
 * is called, and leaves the layout to the reader of that format.
 */

import { existsSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { EmaError } from "../base/index.ts";
import { CheckpointFile } from "./checkpoint-file.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { readGguf } from "./gguf.ts";
import { readHuggingFaceModel } from "./hugging-face-model.ts";
import { readLlama2cTokenizer } from "./llama2c-tokenizer.ts";
import { llama2cWeights, readLlama2cConfig } from "./llama2c.ts";

/**
 * @param path a llama2.c `.bin` with its tokenizer beside it, a GGUF file, or a Hugging Face folder
 *   (or the one `.safetensors` in it)
 * @throws EmaError E_FILE, E_CHECKPOINT or E_MODEL_UNSUPPORTED; no file stays open then
 */
export function loadCheckpoint(path: string): Promise<Checkpoint> {
  // A promise although nothing waits yet: a format may come whose reader has to.
  return Promise.resolve(path).then(load);
}

function load(path: string): Checkpoint {
  const folder = huggingFaceFolder(path);
  if (folder !== null) return readHuggingFaceModel(folder);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new EmaError("E_FILE", `${path}: a folder without a config.json`);
  }
  const file = new CheckpointFile(path);
  try {
    return isGguf(file) ? readGguf(file) : readLlama2c(file);
  } catch (error) {
    file.close();
    throw error;
  }
}

/** A folder with a config, or a file of one, which says nothing without the config beside it. */
function huggingFaceFolder(path: string): string | null {
  const folder = path.endsWith(".safetensors") ? dirname(path) : path;
  return existsSync(join(folder, "config.json")) ? folder : null;
}

function isGguf(file: CheckpointFile): boolean {
  return file.bytes >= 4 && file.read(0, 4, "the magic number").toString("latin1") === "GGUF";
}

function readLlama2c(file: CheckpointFile): Checkpoint {
  const config = readLlama2cConfig(file);
  const tokenizerFile = new CheckpointFile(tokenizerBeside(file.path, config.vocab));
  try {
    const tokenizer = readLlama2cTokenizer(tokenizerFile, config.vocab);
    const name = basename(file.path, extname(file.path));
    return { name, config, weights: llama2cWeights(file, config), tokenizer, chatTemplate: null };
  } finally {
    tokenizerFile.close();
  }
}

/** @throws EmaError E_FILE when none of the names llama2.c uses is there. */
function tokenizerBeside(path: string, vocab: number): string {
  const names = [`${basename(path, extname(path))}.tokenizer.bin`, `tok${vocab}.bin`];
  names.push("tokenizer.bin");
  const found = names.map((name) => join(dirname(path), name)).find((each) => existsSync(each));
  if (found !== undefined) return found;
  throw new EmaError("E_FILE", `${path}: no tokenizer beside it, expected ${names.join(" or ")}`);
}
