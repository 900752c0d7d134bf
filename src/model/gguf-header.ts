/**
 * Reads the header of a GGUF file: typed key-value pairs, then where each tensor lies.
 *
 * Called by gguf.ts; it does not know what a key or tensor is for. The format is that of the GGUF
 * specification (github.com/ggml-org/ggml), versions 2 and 3, little-endian:
 *
 *     "GGUF", u32 version, u64 tensors, u64 pairs,
 *     pair:    string key, u32 type, value       array: u32 type, u64 count, values
 *     tensor:  string name, u32 dims, u64 sizes (inner first), u32 format, u64 offset
 *     padding to the alignment, then the tensors' bytes; their offsets count from here
 *
 * Every count is held against the bytes that are left before anything is made of it, so that a
 * file can cost memory only in proportion to its own length.
 */

import { EmaError } from "../base/index.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import { isPrintable, storedBytes, type StoredTensor } from "./file-weights.ts";
import { BF16, F16, F32, Q4_0, Q8_0, type TensorFormat } from "./tensor-formats.ts";

export type GgufValue = number | bigint | boolean | string | GgufArray;
export type GgufArray = readonly GgufValue[] | Float32Array | Int32Array | Uint8Array;

export interface GgufHeader {
  readonly pairs: ReadonlyMap<string, GgufValue>;
  /** Shapes are outer dimension first. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/** Vocabularies and merges are the longest arrays; no known one has a quarter of this. */
const ARRAY_COUNT_MAX = 1 << 22;
/** Names go into messages; the longest known key has 60 bytes. */
const NAME_BYTES_MAX = 1024;
/** Chat templates are the longest texts. */
const TEXT_BYTES_MAX = 1 << 26;
const TENSORS_MAX = 1 << 16;
const PAIRS_MAX = 1 << 16;
const DIMENSIONS_MAX = 4;
const ARRAY_DEPTH_MAX = 2;

const FORMATS: ReadonlyMap<number, TensorFormat> = new Map([
  [0, F32],
  [1, F16],
  [2, Q4_0],
  [8, Q8_0],
  [30, BF16],
]);

/** Bytes of a value of each type; a string and an array are at least this long. */
const TYPE_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8];
const [TYPE_UINT8, TYPE_INT32, TYPE_FLOAT32, TYPE_STRING, TYPE_ARRAY] = [0, 5, 6, 8, 9];

/** @throws EmaError E_CHECKPOINT, or E_MODEL_UNSUPPORTED for a version or format not read here */
export function readGgufHeader(file: CheckpointFile): GgufHeader {
  const cursor = new Cursor(file);
  if (cursor.bytes(4, "the magic number").toString("latin1") !== "GGUF") {
    throw file.fault("not a GGUF file: it does not begin with GGUF");
  }
  const version = cursor.uint32("the version");
  if (version !== 2 && version !== 3) {
    const what = `GGUF of version ${version}, expected 2 or 3 (little-endian)`;
    throw new EmaError("E_MODEL_UNSUPPORTED", `${file.path}: ${what}`);
  }
  const tensorCount = cursor.count("tensors", TENSORS_MAX, 24);
  const pairCount = cursor.count("key-value pairs", PAIRS_MAX, 13);
  const pairs = new Map<string, GgufValue>();
  for (let pair = 0; pair < pairCount; pair++) {
    const key = cursor.name(`key ${pair}`);
    if (pairs.has(key)) throw file.fault(`key ${key} is there twice`);
    pairs.set(key, cursor.value(cursor.uint32(`the type of ${key}`), key, 0));
  }
  return { pairs, tensors: readTensors(file, cursor, tensorCount, alignmentOf(file, pairs)) };
}

function alignmentOf(file: CheckpointFile, pairs: ReadonlyMap<string, GgufValue>): number {
  const alignment = pairs.get("general.alignment") ?? 32;
  if (typeof alignment === "number" && alignment >= 1 && Number.isInteger(alignment)) {
    return alignment;
  }
  throw file.fault(`general.alignment is ${String(alignment)}, expected a number of bytes`);
}

function readTensors(
  file: CheckpointFile,
  cursor: Cursor,
  count: number,
  alignment: number,
): Map<string, StoredTensor> {
  const found: StoredTensor[] = [];
  for (let tensor = 0; tensor < count; tensor++) {
    const name = cursor.name(`the name of tensor ${tensor}`);
    const dimensions = cursor.uint32(`the dimensions of ${name}`);
    if (dimensions < 1 || dimensions > DIMENSIONS_MAX) {
      throw file.fault(`tensor ${name} has ${dimensions} dimensions`);
    }
    const sizes = Array.from({ length: dimensions }, () => cursor.size(`the shape of ${name}`));
    const type = cursor.uint32(`the format of ${name}`);
    const format = FORMATS.get(type);
    if (format === undefined) {
      const known = [...FORMATS.values()].map((each) => each.name).join(", ");
      const what = `tensor ${name} is of ggml type ${type}, expected one of ${known}`;
      throw new EmaError("E_MODEL_UNSUPPORTED", `${file.path}: ${what}`);
    }
    const offsetBytes = cursor.size(`the offset of ${name}`);
    found.push({ name, file, format, shape: sizes.toReversed(), offsetBytes });
  }
  const start = Math.ceil(cursor.offset / alignment) * alignment;
  const tensors = new Map<string, StoredTensor>();
  for (const tensor of found) {
    const { name, format, shape } = tensor;
    if (tensors.has(name)) throw file.fault(`tensor ${name} is there twice`);
    const offsetBytes = start + tensor.offsetBytes;
    file.checkRange(offsetBytes, storedBytes(file, name, format, shape), `tensor ${name}`);
    tensors.set(name, { ...tensor, offsetBytes });
  }
  return tensors;
}

/** Walks a file from its begin through a window, so that a header needs few reads. */
class Cursor {
  readonly #file: CheckpointFile;
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;
  offset = 0;

  constructor(file: CheckpointFile) {
    this.#file = file;
  }

  bytes(count: number, what: string): Buffer {
    this.#file.checkRange(this.offset, count, what);
    const end = this.#windowStart + this.#window.length;
    if (this.offset + count > end) {
      const wanted = Math.min(Math.max(count, 1 << 16), this.#file.bytes - this.offset);
      this.#window = this.#file.read(this.offset, wanted, what);
      this.#windowStart = this.offset;
    }
    const start = this.offset - this.#windowStart;
    this.offset += count;
    return this.#window.subarray(start, start + count);
  }

  uint32(what: string): number {
    return this.bytes(4, what).readUInt32LE(0);
  }

  /** A u64 that a double holds. */
  size(what: string): number {
    const bytes = this.bytes(8, what);
    const size = bytes.readUInt32LE(4) * 4294967296 + bytes.readUInt32LE(0);
    if (!Number.isSafeInteger(size)) throw this.#file.fault(`${what} is beyond 2^53`);
    return size;
  }

  /** A number of things of at least `leastBytes` each, all of which must still fit. */
  count(what: string, most: number, leastBytes: number): number {
    const count = this.size(`the number of ${what}`);
    const left = this.#file.bytes - this.offset;
    if (count <= most && count * leastBytes <= left) return count;
    throw this.#file.fault(`says it has ${count} ${what}, ${left} bytes are left for them`);
  }

  text(what: string, most: number): string {
    const length = this.size(`the length of ${what}`);
    if (length > most) throw this.#file.fault(`${what} has ${length} bytes, at most ${most}`);
    return this.bytes(length, what).toString("utf8");
  }

  name(what: string): string {
    const name = this.text(what, NAME_BYTES_MAX);
    if (isPrintable(name)) return name;
    throw this.#file.fault(`${what} is ${JSON.stringify(name.slice(0, 60))}`);
  }

  value(type: number, key: string, depth: number): GgufValue {
    if (type === TYPE_ARRAY) return this.#array(key, depth);
    if (type === TYPE_STRING) return this.text(key, TEXT_BYTES_MAX);
    const bytes = TYPE_BYTES[type];
    if (bytes === undefined) throw this.#file.fault(`${key} is of unknown type ${type}`);
    return scalar(type, this.bytes(bytes, key));
  }

  #array(key: string, depth: number): GgufArray {
    const type = this.uint32(`the type of ${key}`);
    const least = TYPE_BYTES[type];
    if (least === undefined) throw this.#file.fault(`${key} holds unknown type ${type}`);
    if (depth >= ARRAY_DEPTH_MAX) throw this.#file.fault(`${key} holds arrays of arrays of arrays`);
    const count = this.count(`values in ${key}`, ARRAY_COUNT_MAX, least);
    const isPacked = type === TYPE_FLOAT32 || type === TYPE_INT32 || type === TYPE_UINT8;
    if (!isPacked) return Array.from({ length: count }, () => this.value(type, key, depth + 1));
    // A copy, because a typed array of words must begin at a multiple of its words.
    const { buffer } = Uint8Array.from(this.bytes(count * least, key));
    if (type === TYPE_UINT8) return new Uint8Array(buffer);
    return type === TYPE_FLOAT32 ? new Float32Array(buffer) : new Int32Array(buffer);
  }
}

function scalar(type: number, bytes: Buffer): number | bigint | boolean {
  switch (type) {
    case 0:
      return bytes.readUInt8(0);
    case 1:
      return bytes.readInt8(0);
    case 2:
      return bytes.readUInt16LE(0);
    case 3:
      return bytes.readInt16LE(0);
    case 4:
      return bytes.readUInt32LE(0);
    case 5:
      return bytes.readInt32LE(0);
    case 6:
      return bytes.readFloatLE(0);
    case 7:
      return bytes.readUInt8(0) !== 0;
    case 10:
      return bytes.readBigUInt64LE(0);
    case 11:
      return bytes.readBigInt64LE(0);
    default:
      return bytes.readDoubleLE(0);
  }
}
