/** Writes GGUF files for the tests of the reader, from the format's specification alone. */

import { halfOf } from "./halves.ts";

export type PairValue =
  | { readonly type: "u32" | "f32" | "i32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "strings"; readonly value: readonly string[] }
  | { readonly type: "f32s" | "i32s"; readonly value: readonly number[] };

export interface WrittenTensor {
  readonly name: string;
  /** Outer dimension first. */
  readonly shape: readonly number[];
  readonly format: GgufFormat;
  readonly numbers: ArrayLike<number>;
}

export type GgufFormat = "F32" | "F16" | "BF16" | "Q8_0" | "Q4_0";

const FORMAT_IDS: Readonly<Record<GgufFormat, number>> = {
  F32: 0,
  F16: 1,
  Q4_0: 2,
  Q8_0: 8,
  BF16: 30,
};

export function ggufBytes(
  pairs: ReadonlyMap<string, PairValue>,
  tensors: readonly WrittenTensor[],
  alignment = 32,
): Buffer {
  const head: Buffer[] = [Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(pairs.size)];
  for (const [key, value] of pairs) head.push(text(key), pairBytes(value));
  const data: Buffer[] = [];
  let offset = 0;
  for (const tensor of tensors) {
    const bytes = packed(tensor.format, tensor.numbers);
    head.push(text(tensor.name), u32(tensor.shape.length));
    for (const size of tensor.shape.toReversed()) head.push(u64(size));
    head.push(u32(FORMAT_IDS[tensor.format]), u64(offset));
    const gap = Buffer.alloc((alignment - (bytes.length % alignment)) % alignment);
    data.push(bytes, gap);
    offset += bytes.length + gap.length;
  }
  const header = Buffer.concat(head);
  const gap = Buffer.alloc((alignment - (header.length % alignment)) % alignment);
  return Buffer.concat([header, gap, ...data]);
}

/** @returns the numbers in the format's own bytes, rounded to nearest */
export function packed(format: GgufFormat, numbers: ArrayLike<number>): Buffer {
  const all = Array.from(numbers);
  switch (format) {
    case "F32":
      return Buffer.from(Float32Array.from(all).buffer);
    case "F16":
      return Buffer.from(Uint16Array.from(all, halfOf).buffer);
    case "BF16":
      return Buffer.from(Uint16Array.from(all, upperHalf).buffer);
    case "Q8_0":
      return Buffer.concat(blocks(all).map(packQ8));
    case "Q4_0":
      return Buffer.concat(blocks(all).map(packQ4));
  }
}

function upperHalf(number: number): number {
  return new Uint32Array(Float32Array.of(number).buffer)[0]! >>> 16;
}

function blocks(numbers: readonly number[]): number[][] {
  return Array.from({ length: numbers.length / 32 }, (_, block) =>
    numbers.slice(block * 32, block * 32 + 32),
  );
}

function packQ8(block: readonly number[]): Buffer {
  const scale = Math.max(...block.map(Math.abs)) / 127;
  const codes = block.map((number) => (scale === 0 ? 0 : Math.round(number / scale)));
  return Buffer.concat([u16(halfOf(scale)), Buffer.from(Int8Array.from(codes).buffer)]);
}

function packQ4(block: readonly number[]): Buffer {
  const scale = Math.max(...block.map(Math.abs)) / 7;
  const code = (number: number): number => (scale === 0 ? 8 : Math.round(number / scale) + 8);
  const pair = (at: number): number => code(block[at]!) | (code(block[at + 16]!) << 4);
  const pairs = Uint8Array.from({ length: 16 }, (_, at) => pair(at));
  return Buffer.concat([u16(halfOf(scale)), pairs]);
}

function pairBytes(pair: PairValue): Buffer {
  switch (pair.type) {
    case "u32":
      return Buffer.concat([u32(4), u32(pair.value)]);
    case "i32":
      return Buffer.concat([u32(5), i32(pair.value)]);
    case "f32":
      return Buffer.concat([u32(6), f32(pair.value)]);
    case "bool":
      return Buffer.concat([u32(7), Buffer.of(pair.value ? 1 : 0)]);
    case "string":
      return Buffer.concat([u32(8), text(pair.value)]);
    case "strings":
      return Buffer.concat([u32(9), u32(8), u64(pair.value.length), ...pair.value.map(text)]);
    case "f32s":
      return Buffer.concat([u32(9), u32(6), u64(pair.value.length), ...pair.value.map(f32)]);
    case "i32s":
      return Buffer.concat([u32(9), u32(5), u64(pair.value.length), ...pair.value.map(i32)]);
  }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

const u16 = (value: number): Buffer => Buffer.from(Uint16Array.of(value).buffer);
const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number): Buffer => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const i32 = (value: number): Buffer => Buffer.from(Int32Array.of(value).buffer);
const f32 = (value: number): Buffer => Buffer.from(Float32Array.of(value).buffer);
