/**
 * Reads the headers of safetensors files: which tensor lies where, in which type.
 *
 * Called by hugging-face-model.ts. The format (github.com/huggingface/safetensors): a u64 length,
 * so many bytes of JSON, then the tensors' bytes, at offsets that count from the end of the JSON.
 *
 *     | u64 length | {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...} | bytes |
 */

import { EmaError } from "../base/index.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import { DescribedFields } from "./described-fields.ts";
import { isPrintable, storedBytes, type StoredTensor } from "./file-weights.ts";
import { parseJson } from "./json-file.ts";
import { BF16, F16, F32, type TensorFormat } from "./tensor-formats.ts";

/** The format's own limit. */
const HEADER_BYTES_MAX = 100_000_000;
const DIMENSIONS_MAX = 8;
const NAME_LENGTH_MAX = 1024;

const FORMATS: ReadonlyMap<string, TensorFormat> = new Map([
  ["F32", F32],
  ["F16", F16],
  ["BF16", BF16],
]);

/** @throws EmaError E_CHECKPOINT, or E_MODEL_UNSUPPORTED for a type that is not read here */
export function readSafetensorsHeader(file: CheckpointFile): Map<string, StoredTensor> {
  const length = file.read(0, 8, "the length of the header").readBigUInt64LE(0);
  if (length > BigInt(HEADER_BYTES_MAX)) {
    throw file.fault(`says its header has ${length} bytes, at most ${HEADER_BYTES_MAX}`);
  }
  const headerBytes = Number(length);
  const json = file.read(8, headerBytes, "the header").toString("utf8");
  const header = parseJson(file.path, json);
  const tensors = new Map<string, StoredTensor>();
  for (const [name, value] of DescribedFields.ofObject(file.path, header).entries()) {
    if (name === "__metadata__") continue;
    if (name.length > NAME_LENGTH_MAX || !isPrintable(name)) {
      throw file.fault(`a tensor is called ${JSON.stringify(name.slice(0, 60))}`);
    }
    tensors.set(name, readTensor(file, name, value, 8 + headerBytes));
  }
  return tensors;
}

function readTensor(
  file: CheckpointFile,
  name: string,
  value: unknown,
  dataStart: number,
): StoredTensor {
  const fields = DescribedFields.ofObject(`${file.path}: tensor ${name}`, value);
  const shape = numbersOf(fields, "shape");
  if (shape.length > DIMENSIONS_MAX) throw fields.wrong("shape", `${DIMENSIONS_MAX} sizes at most`);
  const type = fields.text("dtype");
  const format = FORMATS.get(type);
  if (format === undefined) {
    const known = [...FORMATS.keys()].join(", ");
    const what = `tensor ${name} is of type ${type}, expected one of ${known}`;
    throw new EmaError("E_MODEL_UNSUPPORTED", `${file.path}: ${what}`);
  }
  const offsets = numbersOf(fields, "data_offsets");
  const [begin, end] = offsets;
  const bytes = storedBytes(file, name, format, shape);
  if (offsets.length !== 2 || end! - begin! !== bytes) {
    throw fields.wrong("data_offsets", `begin and end of ${bytes} bytes`);
  }
  const offsetBytes = dataStart + begin!;
  file.checkRange(offsetBytes, bytes, `tensor ${name}`);
  return { name, file, format, shape, offsetBytes };
}

function numbersOf(fields: DescribedFields, key: string): readonly number[] {
  const value = fields.raw(key);
  const isCount = (each: unknown): boolean => Number.isSafeInteger(each) && (each as number) >= 0;
  if (Array.isArray(value) && value.every(isCount)) return value;
  throw fields.wrong(key, "a list of whole numbers");
}
