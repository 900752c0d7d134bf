/** llama2.c files written by the tests come back as they were, and say what is wrong when cut. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import { loadCheckpoint, type ModelConfig } from "../../src/model/index.ts";
import { randomWeights } from "../../src/model/random-checkpoint.ts";
import { tensorsOf, type Tensor } from "../../src/model/tensors.ts";
import { smallConfig } from "./small-models.ts";
import { tempFolder } from "./temp-folder.ts";

/** The order of the format: each kind over all layers; W2 (down) stands before W3 (up). */
const ORDER = [
  "embedding",
  "attentionNorm",
  "query",
  "key",
  "value",
  "attentionOutput",
  "ffnNorm",
  "gate",
  "down",
  "up",
  "finalNorm",
  "tables",
  "head",
];

function numbersOf(config: ModelConfig, tensor: Tensor): Float32Array {
  const numbers = new Float32Array(tensor.rows * tensor.columns);
  randomWeights(config, 5).read(tensor, 0, numbers);
  return numbers;
}

function modelBytes(config: ModelConfig): Buffer {
  const { hidden, ffn, layers, heads, kvHeads, vocab, contextTokensMax, headDim } = config;
  const signedVocab = config.isTied ? vocab : -vocab;
  const header = [hidden, ffn, layers, heads, kvHeads, signedVocab, contextTokensMax];
  const parts: Float32Array[] = [];
  for (const part of ORDER) {
    if (part === "tables") parts.push(new Float32Array(contextTokensMax * headDim));
    const tensors = tensorsOf(config).filter((tensor) => tensor.part === part);
    for (const tensor of tensors) parts.push(numbersOf(config, tensor));
  }
  return Buffer.concat([
    Buffer.from(Int32Array.from(header).buffer),
    ...parts.map((part) => Buffer.from(part.buffer)),
  ]);
}

function tokenizerBytes(vocab: number): Buffer {
  const entries = Array.from({ length: vocab }, (_, id) => {
    const text = Buffer.from(`piece ${id}`);
    const head = Buffer.alloc(8);
    head.writeFloatLE(-id, 0);
    head.writeInt32LE(text.length, 4);
    return Buffer.concat([head, text]);
  });
  return Buffer.concat([Buffer.of(10, 0, 0, 0), ...entries]);
}

function write(model: Uint8Array, tokenizer: Uint8Array, tokenizerName = "tokenizer.bin"): string {
  const folder = tempFolder();
  writeFileSync(join(folder, "small.bin"), model);
  writeFileSync(join(folder, tokenizerName), tokenizer);
  return join(folder, "small.bin");
}

describe("a checkpoint", () => {
  it.each([true, false])("comes back, tied: %s", async (isTied) => {
    const config = smallConfig({ isTied });
    const path = write(modelBytes(config), tokenizerBytes(config.vocab), "tok40.bin");
    const found = await loadCheckpoint(path);
    expect(found.name).toBe("small");
    expect(found.config).toEqual(config);
    expect(found.tokenizer.vocabSize).toBe(config.vocab);
    for (const tensor of tensorsOf(config)) {
      const numbers = new Float32Array(tensor.rows * tensor.columns);
      found.weights.read(tensor, 0, numbers);
      expect(numbers).toEqual(numbersOf(config, tensor));
      const tail = new Float32Array(3);
      found.weights.read(tensor, numbers.length - 3, tail);
      expect(tail).toEqual(numbers.slice(-3));
    }
    found.weights.close();
    const again = (): void => found.weights.read(tensorsOf(config)[0]!, 0, new Float32Array(1));
    expect(again).toThrow(/closed/);
  });
});

describe("damaged files", () => {
  const config = smallConfig();
  const model = modelBytes(config);
  const tokenizer = tokenizerBytes(config.vocab);

  it("name the bytes they should have", async () => {
    await expect(loadCheckpoint(write(model.subarray(0, 20), tokenizer))).rejects.toThrow(
      /the llama2\.c header wants 28 bytes at offset 0, the file has 20/,
    );
    await expect(loadCheckpoint(write(model.subarray(0, -4), tokenizer))).rejects.toThrow(
      /the header asks for \d+ bytes, the file has \d+/,
    );
    await expect(loadCheckpoint(write(model, tokenizer.subarray(0, -1)))).rejects.toThrow(
      /ends within entry 39, expected 40/,
    );
    const twice = Buffer.concat([tokenizer, tokenizer]);
    await expect(loadCheckpoint(write(model, twice))).rejects.toThrow(
      /bytes follow the last of 40 entries/,
    );
    await expect(loadCheckpoint(write(model, tokenizer, "other.bin"))).rejects.toThrow(
      /no tokenizer beside it, expected small\.tokenizer\.bin or tok40\.bin or tokenizer\.bin/,
    );
    await expect(loadCheckpoint(write(Buffer.alloc(0), tokenizer))).rejects.toThrow(/has 0/);
  });

  it("of another kind are told so, not what their bytes would mean", async () => {
    const others = ["%PDF-1.7 and so on, of whatever length", "\0".repeat(99), "{".repeat(99)];
    for (const other of others) {
      const failure = loadCheckpoint(write(Buffer.from(other), tokenizer));
      await expect(failure).rejects.toThrow(/neither a GGUF file nor a llama2\.c checkpoint$/);
    }
  });

  it("of random headers are one line", async () => {
    const words = fc.array(fc.oneof(fc.integer(), fc.integer({ min: -9, max: 99 })), {
      minLength: 7,
      maxLength: 7,
    });
    await fc.assert(
      fc.asyncProperty(words, async (header) => {
        const bytes = Buffer.from(model);
        bytes.set(Buffer.from(Int32Array.from(header).buffer), 0);
        const failure = loadCheckpoint(write(bytes, tokenizer));
        await expect(failure).rejects.toBeInstanceOf(EmaError);
      }),
      { numRuns: 100 },
    );
  });

  it("of random tokenizers load or are one line", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(tokenizer.length - 1), fc.nat(255), async (at, value) => {
        const bytes = Buffer.from(tokenizer);
        bytes[at] = value;
        try {
          (await loadCheckpoint(write(model, bytes))).weights.close();
        } catch (error) {
          expect(error).toBeInstanceOf(EmaError);
        }
      }),
      { numRuns: 100 },
    );
  });
});
