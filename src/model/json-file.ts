/**
 * JSON beside a checkpoint's weights: read whole, within a limit, with one line when it is broken.
 *
 * Used by the readers of Hugging Face folders and of safetensors headers.
 */

import { EmaError } from "../base/index.ts";
import { CheckpointFile } from "./checkpoint-file.ts";

/** Tokenizers are the largest: tens of megabytes at vocabularies of 260,000. */
const TEXT_BYTES_MAX = 1 << 28;

/** @throws EmaError E_FILE when it cannot be read, E_CHECKPOINT when it is too large or not JSON */
export function readJsonFile(path: string): unknown {
  return parseJson(path, readTextFile(path));
}

/** @throws EmaError E_FILE or, beyond the limit, E_CHECKPOINT */
export function readTextFile(path: string): string {
  const file = new CheckpointFile(path);
  try {
    if (file.bytes > TEXT_BYTES_MAX) throw file.fault(`${file.bytes} bytes are too long a text`);
    return file.read(0, file.bytes, "the text").toString("utf8");
  } finally {
    file.close();
  }
}

/** @throws EmaError E_CHECKPOINT with the parser's reason in one line */
export function parseJson(where: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = (error as Error).message.replaceAll(/\s+/g, " ").slice(0, 120);
    throw new EmaError("E_CHECKPOINT", `${where}: not JSON (${reason})`, { cause: error });
  }
}
