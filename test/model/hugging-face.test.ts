/** Hugging Face folders written by the tests come back as they were, and say what is wrong. */

import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import { loadCheckpoint, type ModelConfig } from "../../src/model/index.ts";
import { randomWeights } from "../../src/model/random-checkpoint.ts";
import { tensorsOf } from "../../src/model/tensors.ts";
import { packed, type GgufFormat } from "./gguf-writer.ts";
import { byteLevelDescription } from "./handmade-tokenizers.ts";
import { smallConfig } from "./small-models.ts";
import { tempFolder } from "./temp-folder.ts";

const CONFIG = smallConfig({ vocab: 270, ropePairs: "halves", ropeTheta: 500_000 });

const NAMES = {
  embedding: "model.embed_tokens",
  finalNorm: "model.norm",
  head: "lm_head",
  attentionNorm: "input_layernorm",
  query: "self_attn.q_proj",
  key: "self_attn.k_proj",
  value: "self_attn.v_proj",
  attentionOutput: "self_attn.o_proj",
  ffnNorm: "post_attention_layernorm",
  gate: "mlp.gate_proj",
  up: "mlp.up_proj",
  down: "mlp.down_proj",
} as const;

interface Written {
  readonly name: string;
  readonly shape: readonly number[];
  readonly numbers: Float32Array;
}

function tensorsFor(config: ModelConfig): Written[] {
  const weights = randomWeights(config, 3);
  return tensorsOf(config).map((tensor) => {
    const numbers = new Float32Array(tensor.rows * tensor.columns);
    weights.read(tensor, 0, numbers);
    const name = `${NAMES[tensor.part]}.weight`;
    const shape = tensor.part.endsWith("Norm") ? [tensor.columns] : [tensor.rows, tensor.columns];
    const prefix = tensor.layer < 0 ? "" : `model.layers.${tensor.layer}.`;
    return { name: prefix + name, shape, numbers };
  });
}

function safetensorsBytes(tensors: readonly Written[], format: GgufFormat): Buffer {
  const parts = tensors.map(({ numbers }) => packed(format, numbers));
  let offset = 0;
  const entries = tensors.map(({ name, shape }, at) => {
    const begin = offset;
    offset += parts[at]!.length;
    return [name, { dtype: format, shape, data_offsets: [begin, offset] }] as const;
  });
  const header = { __metadata__: { format: "pt" }, ...Object.fromEntries(entries) };
  return withHeader(JSON.stringify(header), Buffer.concat(parts));
}

function withHeader(header: string, data: Buffer): Buffer {
  const bytes = Buffer.from(header);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, bytes, data]);
}

function configJson(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    model_type: "llama",
    hidden_size: CONFIG.hidden,
    num_hidden_layers: CONFIG.layers,
    num_attention_heads: CONFIG.heads,
    num_key_value_heads: CONFIG.kvHeads,
    intermediate_size: CONFIG.ffn,
    vocab_size: CONFIG.vocab,
    max_position_embeddings: CONFIG.contextTokensMax,
    rms_norm_eps: CONFIG.normEps,
    rope_theta: CONFIG.ropeTheta,
    hidden_act: "silu",
    eos_token_id: [261],
    ...changes,
  };
}

function writeFolder(config: unknown, files: Record<string, Buffer>): string {
  const folder = tempFolder();
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(byteLevelDescription()));
  const settings = {
    bos_token: "<|begin|>",
    eos_token: { content: "<|end|>" },
    chat_template: [{ name: "default", template: "{{ bos_token }}{{ messages[0].content }}" }],
  };
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify(settings));
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
  return folder;
}

const whole = (format: GgufFormat): Record<string, Buffer> => ({
  "model.safetensors": safetensorsBytes(tensorsFor(CONFIG), format),
});

async function expectSame(path: string, format: GgufFormat): Promise<void> {
  const { config, weights, tokenizer, chatTemplate } = await loadCheckpoint(path);
  expect(config).toEqual(CONFIG);
  const written = tensorsFor(CONFIG);
  for (const [index, tensor] of tensorsOf(config).entries()) {
    const found = new Float32Array(written[index]!.numbers.length);
    weights.read(tensor, 0, found);
    expect(packed(format, found)).toEqual(packed(format, written[index]!.numbers));
  }
  weights.close();
  expect([tokenizer.beginId, ...tokenizer.endIds]).toEqual([260, 261]);
  expect(chatTemplate?.source).toBe("{{ bos_token }}{{ messages[0].content }}");
  expect(chatTemplate?.controlTexts).toEqual(["<|begin|>", "<|end|>"]);
}

describe("a folder", () => {
  it.each(["F32", "F16", "BF16"] as const)("of %s comes back to the bit", async (format) => {
    const folder = writeFolder(configJson(), whole(format));
    await expectSame(folder, format);
    await expectSame(join(folder, "model.safetensors"), format);
  });

  it("in several files comes back, through links as download tools leave them", async () => {
    const all = tensorsFor(CONFIG);
    const parts = [all.slice(0, 5), all.slice(5)];
    const names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    const map = parts.flatMap((part, at) => part.map(({ name }) => [name, names[at]!] as const));
    const index = JSON.stringify({ weight_map: Object.fromEntries(map) });
    const folder = writeFolder(configJson(), {
      "model.safetensors.index.json": Buffer.from(index),
      [names[0]!]: safetensorsBytes(parts[0]!, "F32"),
      "blob-of-second": safetensorsBytes(parts[1]!, "F32"),
    });
    symlinkSync(join(folder, "blob-of-second"), join(folder, names[1]!));
    await expectSame(folder, "F32");
  });

  it("that is tied needs no head and ignores one", async () => {
    const tied = configJson({ tie_word_embeddings: true });
    const without = tensorsFor(CONFIG).filter(({ name }) => name !== "lm_head.weight");
    for (const tensors of [without, tensorsFor(CONFIG)]) {
      const files = { "model.safetensors": safetensorsBytes(tensors, "F32") };
      const { config, weights } = await loadCheckpoint(writeFolder(tied, files));
      weights.close();
      expect(config.isTied).toBe(true);
    }
  });
});

describe("scalings of RoPE", () => {
  const check = async (changes: Record<string, unknown>, wanted: unknown): Promise<void> => {
    const folder = writeFolder(configJson(changes), whole("F32"));
    const { config, weights } = await loadCheckpoint(folder);
    weights.close();
    expect(config.ropeScaling).toEqual(wanted);
  };
  const llama3 = {
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 32,
  };

  it("are read under the names they have had", async () => {
    await check({ rope_scaling: null }, { kind: "none" });
    await check({ rope_scaling: { type: "linear", factor: 2 } }, { kind: "linear", factor: 2 });
    await check({ rope_scaling: { rope_type: "dynamic", factor: 2 } }, { kind: "none" });
    const wanted = {
      kind: "llama3",
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalContextTokens: 32,
    };
    await check({ rope_scaling: { rope_type: "llama3", ...llama3 } }, wanted);
    await check({ rope_parameters: { rope_type: "llama3", rope_theta: 1e4, ...llama3 } }, wanted);
    const yarn = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32 };
    await check({ rope_scaling: yarn }, {
      kind: "yarn",
      factor: 4,
      originalContextTokens: 32,
      turnsFast: 32,
      turnsSlow: 1,
      isRampWhole: true,
      magnitude: 0.1 * Math.log(4) + 1,
    });
  });

  it("that make no sense are refused", async () => {
    const load = (scaling: unknown): Promise<unknown> =>
      loadCheckpoint(writeFolder(configJson({ rope_scaling: scaling }), whole("F32")));
    await expect(load({ type: "linear", factor: 0 })).rejects.toThrow(/linear scaling.*holds 0/);
    await expect(load({ type: "linear" })).rejects.toThrow(/rope_scaling: no factor/);
    await expect(load({ type: "longrope" })).rejects.toThrow(/"longrope", which is not built/);
    const swapped = { rope_type: "llama3", ...llama3, high_freq_factor: 1 };
    await expect(load(swapped)).rejects.toThrow(/high frequency factor/);
  });
});

describe("folders that are broken", () => {
  const refused = async (
    config: unknown,
    files: Record<string, Buffer>,
    reason: RegExp,
  ): Promise<void> => {
    const failure = loadCheckpoint(writeFolder(config, files));
    await expect(failure).rejects.toThrow(reason);
    await expect(failure).rejects.toBeInstanceOf(EmaError);
  };

  it("name the key of the config", async () => {
    const files = whole("F32");
    await refused(configJson({ hidden_size: "NaN" }), files, /hidden_size is "NaN", expected a n/);
    await refused(configJson({ hidden_size: null }), files, /no hidden_size/);
    await refused(configJson({ num_key_value_heads: 3 }), files, /cannot share 3 KV heads/);
    await refused(configJson({ vocab_size: 1e300 }), files, /vocab_size is 1e\+300/);
    await refused(configJson({ model_type: "qwen2" }), files, /"qwen2", which is not built/);
    await refused(configJson({ attention_bias: true }), files, /attention_bias is true/);
    await refused(configJson({ num_hidden_layers: 3 }), files, /no tensor model\.layers\.2/);
    await refused(configJson({ intermediate_size: 25 }), files, /is 24 x 16, expected 25 x 16/);
    await refused(configJson({ vocab_size: 100 }), files, /has id \d+, the model has 100/);
  });

  it("name the tensor whose offsets or shapes lie", async () => {
    const config = configJson();
    const lie = (dtype: string, shape: unknown, ends: unknown, reason: RegExp): Promise<void> => {
      const header = JSON.stringify({ x: { dtype, shape, data_offsets: ends } });
      const files = { "model.safetensors": withHeader(header, Buffer.alloc(64)) };
      return refused(config, files, reason);
    };
    await lie("F32", [2 ** 50, 2 ** 50], [0, 8], /begin and end/);
    await lie("F32", [4], [60, 76], /wants 16 bytes/);
    await lie("F32", [-1], [0, 8], /a list of whole numbers/);
    await lie("F32", ["NaN"], [0, 8], /a list of whole numbers/);
    await lie("F32", [4], [0], /begin and end of 16 bytes/);
    await lie("I8", [4], [0, 4], /type I8, expected/);
    const number = withHeader('{"x": 7}', Buffer.alloc(8));
    await refused(config, { "model.safetensors": number }, /expected an object, found 7/);
    const huge = Buffer.alloc(16, 0xff);
    await refused(config, { "model.safetensors": huge }, /says its header has/);
    await refused(config, { "model.safetensors": withHeader("{", huge) }, /not JSON/);
  });

  it("name what is missing, and an index does not lead out of its folder", async () => {
    await refused(configJson(), {}, /no \.safetensors file/);
    const out = { weight_map: { x: "../other.safetensors" } };
    const index = { "model.safetensors.index.json": Buffer.from(JSON.stringify(out)) };
    await refused(configJson(), index, /no file beside it/);
    const folder = writeFolder(configJson(), whole("F32"));
    rmSync(join(folder, "tokenizer.json"));
    await expect(loadCheckpoint(folder)).rejects.toThrow(/tokenizer\.json: cannot be read/);
    await expect(loadCheckpoint(tempFolder())).rejects.toThrow(/a folder without a config\.json/);
    await expect(loadCheckpoint(join(folder, "none.gguf"))).rejects.toThrow(/ENOENT/);
  });

  it("with bytes overwritten load or are one line", async () => {
    const bytes = whole("BF16")["model.safetensors"]!;
    const patches = fc.array(fc.tuple(fc.nat(3500), fc.nat(255)), { minLength: 1, maxLength: 3 });
    const folder = writeFolder(configJson(), {});
    await fc.assert(
      fc.asyncProperty(patches, async (all) => {
        const damaged = Buffer.from(bytes);
        for (const [at, value] of all) damaged[at] = value;
        writeFileSync(join(folder, "model.safetensors"), damaged);
        try {
          (await loadCheckpoint(folder)).weights.close();
        } catch (error) {
          expect(error).toBeInstanceOf(EmaError);
          expect((error as EmaError).message).not.toContain("\n");
        }
      }),
      { numRuns: 100 },
    );
  });
});
