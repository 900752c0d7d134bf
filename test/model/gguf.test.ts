/** GGUF files written by the tests come back as they were, and say what is wrong when they are. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gguf } from "@huggingface/gguf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import { loadCheckpoint, type Checkpoint } from "../../src/model/index.ts";
import { randomWeights } from "../../src/model/random-checkpoint.ts";
import { tensorsOf } from "../../src/model/tensors.ts";
import {
  ggufBytes,
  packed,
  type GgufFormat,
  type PairValue,
  type WrittenTensor,
} from "./gguf-writer.ts";
import { byteLevelDescription } from "./handmade-tokenizers.ts";
import { smallConfig } from "./small-models.ts";
import { tempFolder } from "./temp-folder.ts";

const CONFIG = smallConfig({ hidden: 32, heads: 2, kvHeads: 1, headDim: 32, ffn: 64, vocab: 262 });

const NAMES = {
  embedding: "token_embd",
  finalNorm: "output_norm",
  head: "output",
  attentionNorm: "attn_norm",
  query: "attn_q",
  key: "attn_k",
  value: "attn_v",
  attentionOutput: "attn_output",
  ffnNorm: "ffn_norm",
  gate: "ffn_gate",
  up: "ffn_up",
  down: "ffn_down",
} as const;

function modelPairs(): Map<string, PairValue> {
  return new Map<string, PairValue>([
    ["general.architecture", { type: "string", value: "llama" }],
    ["general.name", { type: "string", value: "written" }],
    ["llama.block_count", { type: "u32", value: CONFIG.layers }],
    ["llama.context_length", { type: "u32", value: CONFIG.contextTokensMax }],
    ["llama.embedding_length", { type: "u32", value: CONFIG.hidden }],
    ["llama.feed_forward_length", { type: "u32", value: CONFIG.ffn }],
    ["llama.attention.head_count", { type: "u32", value: CONFIG.heads }],
    ["llama.attention.head_count_kv", { type: "u32", value: CONFIG.kvHeads }],
    ["llama.attention.key_length", { type: "u32", value: CONFIG.headDim }],
    ["llama.attention.layer_norm_rms_epsilon", { type: "f32", value: CONFIG.normEps }],
    ["llama.rope.freq_base", { type: "f32", value: CONFIG.ropeTheta }],
    ...scorePairs(),
  ]);
}

/** Bytes, three specials, and three pieces that spell "the". */
function scorePairs(): [string, PairValue][] {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).toUpperCase());
  const tokens = ["<unk>", "<s>", "</s>"];
  tokens.push(...bytes.map((hex) => `<0x${hex.padStart(2, "0")}>`), "\u2581", "th", "the");
  const types = [2, 3, 3, ...bytes.map(() => 6), 1, 1, 1];
  return [
    ["tokenizer.ggml.model", { type: "string", value: "llama" }],
    ["tokenizer.ggml.tokens", { type: "strings", value: tokens }],
    ["tokenizer.ggml.scores", { type: "f32s", value: tokens.map((_, id) => -id) }],
    ["tokenizer.ggml.token_type", { type: "i32s", value: types }],
    ["tokenizer.ggml.bos_token_id", { type: "u32", value: 1 }],
    ["tokenizer.ggml.eos_token_id", { type: "u32", value: 2 }],
  ];
}

function modelTensors(format: GgufFormat): WrittenTensor[] {
  const weights = randomWeights(CONFIG, 7);
  return tensorsOf(CONFIG).map((tensor) => {
    const numbers = new Float32Array(tensor.rows * tensor.columns);
    weights.read(tensor, 0, numbers);
    const isNorm = tensor.part.endsWith("Norm");
    const name = `${NAMES[tensor.part]}.weight`;
    return {
      name: tensor.layer < 0 ? name : `blk.${tensor.layer}.${name}`,
      shape: isNorm ? [tensor.columns] : [tensor.rows, tensor.columns],
      format: isNorm ? "F32" : format,
      numbers,
    };
  });
}

async function loadBytes(bytes: Uint8Array): Promise<Checkpoint> {
  const path = join(tempFolder(), "model.gguf");
  writeFileSync(path, bytes);
  const checkpoint = await loadCheckpoint(path);
  return checkpoint;
}

/** How far a format may be from the number it was given, as a share of its block's largest. */
const ERROR_SHARES: Readonly<Record<GgufFormat, number>> = {
  F32: 0,
  F16: 2 ** -11,
  BF16: 2 ** -7,
  // Half a step, and the scale itself is rounded to a half.
  Q8_0: (0.5 + 127 * 2 ** -11) / 127,
  Q4_0: (0.5 + 7 * 2 ** -11) / 7,
};

describe("every format", () => {
  for (const format of ["F32", "F16", "BF16", "Q8_0", "Q4_0"] as const) {
    it(`${format} comes back within its precision, piece by piece as a whole`, async () => {
      const written = modelTensors(format);
      const { config, weights, name } = await loadBytes(ggufBytes(modelPairs(), written));
      expect(name).toBe("written");
      expect(config).toEqual({ ...CONFIG, normEps: Math.fround(CONFIG.normEps) });
      for (const [index, tensor] of tensorsOf(config).entries()) {
        const { numbers } = written[index]!;
        const whole = new Float32Array(numbers.length);
        weights.read(tensor, 0, whole);
        const largest = Math.max(...Array.from(numbers, Math.abs));
        const bound = tensor.part.endsWith("Norm") ? 0 : largest * ERROR_SHARES[format] * 1.01;
        const errors = whole.map((number, at) => Math.abs(number - numbers[at]!));
        expect(Math.max(...errors)).toBeLessThanOrEqual(bound);
        const piece = new Float32Array(Math.min(37, whole.length - 5));
        weights.read(tensor, 5, piece);
        expect(piece).toEqual(whole.slice(5, 5 + piece.length));
      }
      weights.close();
    });
  }

  it("Q4_0 keeps low nibbles in front of high ones", async () => {
    const numbers = Array.from({ length: 32 }, (_, at) => (at % 16) - 8);
    const bytes = packed("Q4_0", numbers);
    expect(bytes.length).toBe(18);
    const { Q4_0 } = await import("../../src/model/tensor-formats.ts");
    const target = new Float32Array(32);
    // Scale 1: nibbles 0 to 15, twice.
    const block = Buffer.of(0x00, 0x3c, ...Array.from({ length: 16 }, (_, at) => at | (at << 4)));
    Q4_0.widen(block, target);
    expect([...target]).toEqual(numbers);
  });
});

it("the header is what another reader finds", async () => {
  const path = join(tempFolder(), "model.gguf");
  writeFileSync(path, ggufBytes(modelPairs(), modelTensors("Q8_0")));
  const { metadata, tensorInfos } = await gguf(path, { allowLocalFile: true });
  expect(metadata["llama.feed_forward_length" as keyof typeof metadata]).toBe(CONFIG.ffn);
  expect(tensorInfos.map(({ name }) => name)).toEqual(modelTensors("F32").map(({ name }) => name));
  expect(tensorInfos[0]!.shape).toEqual([BigInt(CONFIG.hidden), BigInt(CONFIG.vocab)]);
});

it("its SentencePiece tokenizer merges by score and spells the rest in bytes", async () => {
  const { tokenizer, weights } = await loadBytes(ggufBytes(modelPairs(), modelTensors("F32")));
  weights.close();
  expect([...tokenizer.encode("the", true)]).toEqual([259, 261]);
  expect([...tokenizer.encode("</s>e", false)]).toEqual([2, 259, 3 + 0x65]);
  expect(tokenizer.encode("</s>", true).length).toBe(5);
  expect(tokenizer.beginId).toBe(1);
  expect(tokenizer.endIds).toEqual([2]);
});

it("its byte-level tokenizer is the one that tokenizer.json would give", async () => {
  const described = byteLevelDescription();
  const model = described["model"] as { vocab: Record<string, number>; merges: string[] };
  const byId = Object.entries(model.vocab).sort(([, a], [, b]) => a - b);
  const tokens = [...byId.map(([text]) => text), "<|begin|>", "[tool]"];
  const pairs = modelPairs();
  pairs.set("tokenizer.ggml.model", { type: "string", value: "gpt2" });
  pairs.set("tokenizer.ggml.pre", { type: "string", value: "gpt-2" });
  pairs.set("tokenizer.ggml.tokens", { type: "strings", value: tokens });
  const types = tokens.map((_, id) => (id === 260 ? 3 : id === 261 ? 4 : 1));
  pairs.set("tokenizer.ggml.token_type", { type: "i32s", value: types });
  pairs.set("tokenizer.ggml.merges", { type: "strings", value: model.merges });
  pairs.set("tokenizer.ggml.bos_token_id", { type: "u32", value: 260 });
  pairs.set("tokenizer.ggml.eos_token_id", { type: "u32", value: 260 });
  pairs.set("tokenizer.ggml.add_bos_token", { type: "bool", value: true });
  pairs.set("tokenizer.chat_template", { type: "string", value: "{{ bos_token }}hi" });
  const written = ggufBytes(pairs, modelTensors("F32"));
  const { tokenizer, chatTemplate, weights } = await loadBytes(written);
  weights.close();
  expect([tokenizer.beginId, ...tokenizer.endIds]).toEqual([260, 260]);
  expect([...tokenizer.encode("the the", true)]).toEqual([257, 258]);
  expect([...tokenizer.encode("don't", true)]).toEqual([...Buffer.from("don't")]);
  expect([...tokenizer.encode("<|begin|>[tool]", false)]).toEqual([260, 261]);
  expect([...tokenizer.encode("[tool]", true)]).toEqual([261]);
  expect(tokenizer.decode(tokenizer.encode("naïve 好 🙂\n\n  x", true))).toBe("naïve 好 🙂\n\n  x");
  expect(chatTemplate).toEqual({
    source: "{{ bos_token }}hi",
    beginText: "<|begin|>",
    endText: "<|begin|>",
    controlTexts: ["<|begin|>"],
  });
});

describe("damaged files", () => {
  const whole = ggufBytes(modelPairs(), modelTensors("Q8_0"));
  const check = async (bytes: Uint8Array): Promise<void> => {
    try {
      const { weights, config } = await loadBytes(bytes);
      for (const tensor of tensorsOf(config)) weights.read(tensor, 0, new Float32Array(1));
      weights.close();
    } catch (error) {
      expect(error).toBeInstanceOf(EmaError);
      expect((error as EmaError).message).not.toContain("\n");
    }
  };

  it("cut anywhere are one line", async () => {
    // Less than the alignment follows the last tensor, and may be missing.
    const cut = fc.integer({ min: 0, max: whole.length - 33 });
    await fc.assert(
      fc.asyncProperty(cut, async (length) => {
        await expect(loadBytes(whole.subarray(0, length))).rejects.toBeInstanceOf(EmaError);
      }),
      { numRuns: 60 },
    );
  });

  it("with bytes overwritten load or are one line", async () => {
    const header = 12_000;
    const patch = fc.record({
      at: fc.integer({ min: 0, max: header }),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(patch, { minLength: 1, maxLength: 3 }), async (patches) => {
        const bytes = Buffer.from(whole);
        for (const { at, bytes: values } of patches) bytes.set(values, at);
        await check(bytes);
      }),
      { numRuns: 150 },
    );
  });

  it("with lengths and counts beyond the file name the number", async () => {
    const huge = Buffer.from(whole);
    huge.writeBigUInt64LE(1n << 40n, 8);
    await expect(loadBytes(huge)).rejects.toThrow(/says it has 1099511627776 tensors/);
    const text = Buffer.from(whole);
    text.writeBigUInt64LE(1n << 62n, 24);
    await expect(loadBytes(text)).rejects.toThrow(/beyond 2\^53/);
  });

  it("that ask for what is not built say so", async () => {
    const pairs = modelPairs();
    pairs.set("general.architecture", { type: "string", value: "qwen2" });
    await expect(loadBytes(ggufBytes(pairs, []))).rejects.toMatchObject({
      code: "E_MODEL_UNSUPPORTED",
    });
    const biased = [...modelTensors("F32")];
    const numbers = new Float32Array(64);
    biased.push({ name: "blk.0.attn_q.bias", shape: [64], format: "F32", numbers });
    await expect(loadBytes(ggufBytes(modelPairs(), biased))).rejects.toThrow(/attn_q\.bias/);
  });
});
