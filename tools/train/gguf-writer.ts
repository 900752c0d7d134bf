/**
 * Writes a model with its tokenizer as one GGUF file: matrices Q8_0, norms F32.
 *
 * Called by the trainer when it is done or asked to stop. The layout is version 3 of the ggml
 * project's GGUF specification (docs/gguf.md of ggml): a header, typed key-value pairs, tensor
 * infos with the fastest dimension first, then data at multiples of 32 bytes.
 */

import type { Vocabulary } from "./bpe-trainer.ts";
import { isMatrix, type LlamaShape, tensorPlaces } from "./llama-shape.ts";

const ALIGNMENT_BYTES = 32;
const BLOCK = 32;
const BLOCK_BYTES = 34;

/** Types of values as the specification numbers them. */
const TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;
const TENSOR_F32 = 0;
const TENSOR_Q8_0 = 8;
/** "Mostly Q8_0" in general.file_type. */
const FILE_TYPE = 7;
const TOKEN_NORMAL = 1;
const TOKEN_CONTROL = 3;

/** What is written beside shape, parameters and vocabulary. */
export interface GgufNames {
  readonly name: string;
  readonly description: string;
  readonly chatTemplate: string;
  readonly beginId: number;
  readonly endId: number;
}

type Value =
  | readonly ["u32" | "i32" | "f32", number]
  | readonly ["bool", boolean]
  | readonly ["string", string]
  | readonly ["strings", readonly string[]]
  | readonly ["i32s", readonly number[]];

/** The whole file. */
export function writeGguf(
  shape: LlamaShape,
  parameters: Float32Array,
  vocabulary: Vocabulary,
  names: GgufNames,
): Uint8Array {
  const out = new ByteSink();
  const places = tensorPlaces(shape);
  const metadata = Object.entries(metadataOf(shape, vocabulary, names));
  out.bytes(new TextEncoder().encode("GGUF"));
  out.u32(3);
  out.u64(places.length);
  out.u64(metadata.length);
  for (const [key, value] of metadata) {
    out.string(key);
    writeValue(out, value);
  }
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const place of places) {
    const values = parameters.subarray(place.offset, place.offset + place.count);
    const bytes = isMatrix(place) ? quantizeQ8(values) : floatBytes(values);
    out.string(place.name);
    out.u32(place.shape.length);
    for (const size of place.shape.toReversed()) out.u64(size);
    out.u32(isMatrix(place) ? TENSOR_Q8_0 : TENSOR_F32);
    out.u64(offset);
    parts.push(bytes);
    offset += Math.ceil(bytes.length / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  }
  for (const part of parts) {
    out.align(ALIGNMENT_BYTES);
    out.bytes(part);
  }
  out.align(ALIGNMENT_BYTES);
  return out.finish();
}

function metadataOf(
  shape: LlamaShape,
  vocabulary: Vocabulary,
  names: GgufNames,
): Record<string, Value> {
  const types = vocabulary.tokens.map((_, id) =>
    id < vocabulary.specialCount ? TOKEN_CONTROL : TOKEN_NORMAL,
  );
  return {
    "general.architecture": ["string", "llama"],
    "general.name": ["string", names.name],
    "general.description": ["string", names.description],
    "general.license": ["string", "apache-2.0"],
    "general.file_type": ["u32", FILE_TYPE],
    "general.quantization_version": ["u32", 2],
    "general.alignment": ["u32", ALIGNMENT_BYTES],
    "llama.vocab_size": ["u32", shape.vocabulary],
    "llama.context_length": ["u32", shape.context],
    "llama.embedding_length": ["u32", shape.width],
    "llama.block_count": ["u32", shape.layers],
    "llama.feed_forward_length": ["u32", shape.feedForward],
    "llama.attention.head_count": ["u32", shape.heads],
    "llama.attention.head_count_kv": ["u32", shape.kvHeads],
    "llama.attention.key_length": ["u32", shape.headWidth],
    "llama.attention.value_length": ["u32", shape.headWidth],
    "llama.attention.layer_norm_rms_epsilon": ["f32", shape.epsilon],
    "llama.rope.dimension_count": ["u32", shape.headWidth],
    "llama.rope.freq_base": ["f32", shape.ropeBase],
    "tokenizer.ggml.model": ["string", "gpt2"],
    "tokenizer.ggml.pre": ["string", "gpt-2"],
    "tokenizer.ggml.tokens": ["strings", vocabulary.tokens],
    "tokenizer.ggml.token_type": ["i32s", types],
    "tokenizer.ggml.merges": ["strings", vocabulary.merges.map((pair) => pair.join(" "))],
    "tokenizer.ggml.bos_token_id": ["u32", names.beginId],
    "tokenizer.ggml.eos_token_id": ["u32", names.endId],
    "tokenizer.ggml.add_bos_token": ["bool", true],
    "tokenizer.chat_template": ["string", names.chatTemplate],
  };
}

function writeValue(out: ByteSink, value: Value): void {
  const [kind, content] = value;
  if (kind === "strings") {
    out.u32(TYPE.array);
    out.u32(TYPE.string);
    out.u64(content.length);
    for (const text of content) out.string(text);
  } else if (kind === "i32s") {
    out.u32(TYPE.array);
    out.u32(TYPE.i32);
    out.u64(content.length);
    for (const number of content) out.u32(number);
  } else {
    out.u32(TYPE[kind]);
    if (kind === "string") out.string(content);
    else if (kind === "bool") out.bytes(Uint8Array.of(content ? 1 : 0));
    else if (kind === "f32") out.bytes(floatBytes(Float32Array.of(content)));
    else out.u32(content);
  }
}

/**
 * Blocks of 32 values: the scale as a half float, then one signed byte a value. The value is scale
 * times byte; the scale is the largest magnitude over 127.
 */
export function quantizeQ8(values: Float32Array): Uint8Array {
  const blocks = values.length / BLOCK;
  const out = new Uint8Array(blocks * BLOCK_BYTES);
  const view = new DataView(out.buffer);
  for (let block = 0; block < blocks; block++) {
    const part = values.subarray(block * BLOCK, (block + 1) * BLOCK);
    const largest = part.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const scale = largest / 127;
    view.setUint16(block * BLOCK_BYTES, halfBits(scale), true);
    for (const [index, value] of part.entries()) {
      const byte = scale === 0 ? 0 : Math.round(value / scale);
      view.setInt8(block * BLOCK_BYTES + 2 + index, byte);
    }
  }
  return out;
}

/** IEEE half precision, to nearest, ties to even; finite and below its largest value only. */
export function halfBits(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 127;
  if (exponent < -25) return sign;
  const fraction = (bits & 0x7fffff) | 0x800000;
  // A subnormal half loses one more bit for every power below its smallest exponent.
  const shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
  const kept = fraction >>> shift;
  const rest = fraction & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  const isUp = rest > half || (rest === half && (kept & 1) === 1);
  const base = exponent < -14 ? 0 : (exponent + 14) << 10;
  return sign | (base + kept + (isUp ? 1 : 0));
}

function floatBytes(values: Float32Array): Uint8Array {
  const out = new Uint8Array(values.length * 4);
  const view = new DataView(out.buffer);
  for (const [index, value] of values.entries()) view.setFloat32(4 * index, value, true);
  return out;
}

/** Bytes that are put one behind another, little-endian. */
class ByteSink {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  bytes(part: Uint8Array): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  u32(value: number): void {
    const part = new Uint8Array(4);
    new DataView(part.buffer).setUint32(0, value, true);
    this.bytes(part);
  }

  u64(value: number): void {
    const part = new Uint8Array(8);
    new DataView(part.buffer).setBigUint64(0, BigInt(value), true);
    this.bytes(part);
  }

  string(text: string): void {
    const part = new TextEncoder().encode(text);
    this.u64(part.length);
    this.bytes(part);
  }

  align(bytes: number): void {
    this.bytes(new Uint8Array((bytes - (this.#length % bytes)) % bytes));
  }

  finish(): Uint8Array {
    const out = new Uint8Array(this.#length);
    let offset = 0;
    for (const part of this.#parts) {
      out.set(part, offset);
      offset += part.length;
    }
    return out;
  }
}
