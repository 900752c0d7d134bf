/** Tests of the GGUF writer: a file is read back by the letter of the specification. */

import { describe, expect, it } from "vitest";

import { Prng } from "../../../src/base/prng.ts";
import { halfBits, quantizeQ8, writeGguf } from "../../../tools/train/gguf-writer.ts";
import { initialParameters, type LlamaShape } from "../../../tools/train/llama-shape.ts";
import { tensorPlaces } from "../../../tools/train/llama-shape.ts";
import { describeModel } from "../../../tools/train/model-names.ts";
import { readGguf } from "./gguf-reading.ts";

const shape: LlamaShape = {
  vocabulary: 264,
  width: 32,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  headWidth: 16,
  feedForward: 64,
  ropeBase: 10_000,
  epsilon: 1e-5,
  context: 128,
};
const tokens = Array.from({ length: 264 }, (_, id) => (id < 5 ? `<|${id}|>` : `t${id}`));
const vocabulary = { tokens, merges: [["a", "b"]] as const, specialCount: 5 };
const parameters = initialParameters(shape, new Prng(1));
const file = readGguf(writeGguf(shape, parameters, vocabulary, describeModel("x")));

describe("a file", () => {
  it("carries shape, tokenizer and template under the public names", () => {
    expect(Object.fromEntries(file.metadata)).toMatchObject({
      "general.architecture": "llama",
      "general.name": "x",
      "llama.block_count": 1,
      "llama.embedding_length": 32,
      "llama.feed_forward_length": 64,
      "llama.attention.head_count": 2,
      "llama.attention.head_count_kv": 1,
      "llama.context_length": 128,
      "llama.rope.dimension_count": 16,
      "llama.rope.freq_base": 10_000,
      "llama.vocab_size": 264,
      "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.tokens": tokens,
      "tokenizer.ggml.merges": ["a b"],
      "tokenizer.ggml.bos_token_id": 0,
      "tokenizer.ggml.eos_token_id": 1,
      "tokenizer.ggml.add_bos_token": true,
    });
    expect(file.metadata.get("llama.attention.layer_norm_rms_epsilon")).toBeCloseTo(1e-5, 9);
    const types = file.metadata.get("tokenizer.ggml.token_type") as number[];
    expect(types.slice(0, 7)).toEqual([3, 3, 3, 3, 3, 1, 1]);
    expect(file.metadata.get("tokenizer.chat_template")).toContain("add_generation_prompt");
  });

  it("holds every tensor, fastest dimension first, aligned, within half an eight-bit step", () => {
    expect([...file.tensors.keys()]).toEqual(tensorPlaces(shape).map(({ name }) => name));
    for (const place of tensorPlaces(shape)) {
      const tensor = file.tensors.get(place.name)!;
      expect(tensor.dimensions).toEqual([...place.shape].toReversed());
      expect(tensor.start % 32).toBe(0);
      const original = parameters.subarray(place.offset, place.offset + place.count);
      const isNorm = place.shape.length === 1;
      for (let index = 0; index < place.count; index++) {
        const block = original.subarray(index - (index % 32), index - (index % 32) + 32);
        const largest = block.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        const error = Math.abs(tensor.values[index]! - original[index]!);
        expect(error).toBeLessThanOrEqual(isNorm ? 0 : (largest / 127) * 0.57);
      }
    }
  });
});

describe("eight bits", () => {
  it("keep the largest of a block, and zeros", () => {
    const block = new Float32Array(64);
    block[3] = -2;
    block[4] = 1;
    const bytes = quantizeQ8(block);
    expect(bytes).toHaveLength(68);
    expect(new Int8Array(bytes.buffer, 2, 5)).toEqual(Int8Array.of(0, 0, 0, -127, 64));
    expect(bytes.subarray(34).every((byte) => byte === 0)).toBe(true);
  });

  it.each([
    [1, 0x3c00],
    [-2, 0xc000],
    [0, 0],
    [65504, 0x7bff],
    [2 ** -24, 0x0001],
    [2 ** -26, 0],
    [2 ** -14, 0x0400],
    [1 + 2 ** -11, 0x3c00], // A tie goes to even,
    [1 + 3 * 2 ** -11, 0x3c02], // up or down.
    [0.1, 0x2e66],
  ])("have a half float of %f", (value, bits) => {
    expect(halfBits(value)).toBe(bits);
  });
});
