/** Shapes from Hugging Face config.json files, and one clear line for files that are none. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import { findModel } from "../../src/hardware/index.ts";
import { readHuggingFaceConfig } from "../../src/hardware/hugging-face-config.ts";
import { expectFault } from "./faults.ts";

const LLAMA = {
  model_type: "llama",
  hidden_size: 4096,
  intermediate_size: 14336,
  max_position_embeddings: 131072,
  num_attention_heads: 32,
  num_hidden_layers: 32,
  num_key_value_heads: 8,
  tie_word_embeddings: false,
  vocab_size: 128256,
};
const OPT = {
  model_type: "opt",
  hidden_size: 5120,
  ffn_dim: 20480,
  max_position_embeddings: 2048,
  num_attention_heads: 40,
  num_hidden_layers: 40,
  vocab_size: 50272,
  word_embed_proj_dim: 5120,
};
const QWEN3 = {
  ...LLAMA,
  model_type: "qwen3",
  head_dim: 128,
  hidden_size: 2560,
  intermediate_size: 9728,
  num_hidden_layers: 36,
  tie_word_embeddings: true,
  vocab_size: 151936,
  use_sliding_window: false,
  sliding_window: null,
  max_position_embeddings: 40960,
};
const QWEN2 = {
  ...LLAMA,
  model_type: "qwen2",
  hidden_size: 3584,
  intermediate_size: 18944,
  num_attention_heads: 28,
  num_hidden_layers: 28,
  num_key_value_heads: 4,
  vocab_size: 152064,
  use_sliding_window: false,
  sliding_window: 131072,
  max_position_embeddings: 32768,
};

const read = (config: object): ReturnType<typeof readHuggingFaceConfig> =>
  readHuggingFaceConfig("m/config.json", JSON.stringify(config));

const folder = mkdtempSync(join(tmpdir(), "ema-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("config.json of a family", () => {
  it.each([
    ["Llama-3.1-8B", LLAMA],
    ["OPT-13B", OPT],
    ["Qwen3-4B", QWEN3],
  ])("gives the catalogue's %s", (name, config) => {
    expect({ ...read(config), name }).toEqual(findModel(name));
  });

  it("counts biases that the published size leaves out, less than 0.003 % of the weights", () => {
    const catalogue = findModel("Qwen2.5-7B");
    const shape = read(QWEN2);
    // 7,615,616,512 is the parameter count of the published checkpoint.
    expect(shape.paramCount).toBe(7_615_616_512);
    expect(shape.weightBytes / catalogue.weightBytes - 1).toBeLessThan(3e-5);
    expect({ ...shape, paramCount: 0, weightBytes: 0, name: "" }).toEqual({
      ...catalogue,
      paramCount: 0,
      weightBytes: 0,
      name: "",
    });
  });

  it("takes absent KV heads for all heads and an absent head_dim for hidden / heads", () => {
    const { num_key_value_heads: _, ...multiHead } = LLAMA;
    expect(read(multiHead).kvHeads).toBe(32);
    expect(read({ ...LLAMA, num_key_value_heads: null }).kvHeads).toBe(32);
    expect(read({ ...LLAMA, head_dim: null }).headDim).toBe(128);
    expect(read({ ...LLAMA, head_dim: 64 }).kvBytesPerToken).toBe(65536);
  });

  it("knows each family's default for tied embeddings", () => {
    const { tie_word_embeddings: _, ...silent } = LLAMA;
    const tied = read({ ...LLAMA, tie_word_embeddings: true });
    expect(read(silent)).toEqual(read(LLAMA));
    expect(read(LLAMA).paramCount - tied.paramCount).toBe(128256 * 4096);
    expect(read({ ...silent, model_type: "gemma" }).isTied).toBe(true);
    expect(read(OPT).isTied).toBe(true);
  });

  it("is found by the path of the file or of its folder, and named after it", () => {
    const model = join(folder, "my-llama");
    mkdirSync(model);
    writeFileSync(join(model, "config.json"), `\uFEFF${JSON.stringify(LLAMA)}`);
    expect(findModel(join(model, "config.json")).kvBytesPerToken).toBe(131072);
    expect(findModel(model).name).toBe("my-llama");
    expect(read({ ...LLAMA, _name_or_path: "meta-llama/Llama-3.1-8B" }).name).toBe("Llama-3.1-8B");
  });
});

describe("config.json that is refused with its reason", () => {
  it.each([
    [{ ...LLAMA, model_type: "mixtral", num_local_experts: 8 }, /experts/],
    [{ ...QWEN3, model_type: "qwen3_moe", num_experts: 128 }, /num_experts 128.*experts/],
    [{ ...LLAMA, model_type: "deepseek_v3", n_routed_experts: 256 }, /experts/],
    [{ ...LLAMA, kv_lora_rank: 512 }, /latent attention/],
    [{ ...LLAMA, model_type: "mistral", sliding_window: 4096 }, /sliding-window/],
    [{ ...QWEN2, use_sliding_window: true, sliding_window: 4096 }, /sliding-window/],
    [{ ...QWEN3, layer_types: ["full_attention", "sliding_attention"] }, /sliding-window/],
    [{ ...LLAMA, quantization_config: { bits: 4 } }, /quantised/],
    [{ model_type: "gemma3", text_config: { hidden_size: 1 } }, /modalities/],
    [{ ...LLAMA, model_type: "bloom" }, /"bloom" is not built; built: llama/],
    [{ ...OPT, word_embed_proj_dim: 512 }, /word_embed_proj_dim 512/],
  ])("%#", (config, reason) => {
    expectFault(() => read(config), "E_MODEL_UNSUPPORTED", reason);
  });
});

describe("config.json that is none", () => {
  const keys = [
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_hidden_layers",
    "vocab_size",
    "max_position_embeddings",
  ];
  it.each(keys)("names %s when it is missing, of a wrong type, zero, or not whole", (key) => {
    const prefix = `m/config.json: ${key}: expected an integer`;
    const { [key]: _, ...without } = LLAMA as Record<string, unknown>;
    expectFault(() => read(without), "E_MODEL", new RegExp(`${prefix}.*it is missing`));
    for (const value of [0, -1, 3.5, "4096", null, true, [], {}, 1e300, NaN]) {
      const found = new RegExp(`${prefix}.*found`);
      expectFault(() => read({ ...LLAMA, [key]: value }), "E_MODEL", found);
    }
  });

  it.each([
    ["", /file is empty/],
    [" \n", /file is empty/],
    ["{", /not JSON/],
    ['{"hidden_size": NaN}', /not JSON/],
    ["[]", /found \[\]/],
    ["null", /found null/],
    ["42", /found 42/],
    ["{}", /model_type: expected one of llama.*it is missing/],
    ['{"model_type": 7}', /model_type.*found 7/],
  ])("says so for %j", (text, message) => {
    expectFault(() => readHuggingFaceConfig("a/b.json", text), "E_MODEL", message);
    expectFault(() => readHuggingFaceConfig("a/b.json", text), "E_MODEL", /^a\/b\.json: /);
  });

  it("shows a number that no double holds as what it is read as", () => {
    const text = JSON.stringify(LLAMA).replace(/"hidden_size":\d+/, '"hidden_size":1e400');
    const fault = (): unknown => readHuggingFaceConfig("m/config.json", text);
    expectFault(fault, "E_MODEL", /hidden_size: .*found Infinity$/);
  });

  it("says what does not fit together", () => {
    expectFault(() => read({ ...LLAMA, num_key_value_heads: 5 }), "E_MODEL", /divisor.*found 5/);
    expectFault(() => read({ ...LLAMA, hidden_size: 4097 }), "E_MODEL", /head_dim.*4097/);
    expectFault(() => read({ ...LLAMA, tie_word_embeddings: "no" }), "E_MODEL", /true or false/);
  });

  it("never quotes the contents of a file that is not JSON", () => {
    try {
      readHuggingFaceConfig("x", "top secret");
    } catch (error) {
      expect(String(error)).not.toContain("secret");
    }
  });

  it("is unreadable, absent, a device or too large: E_FILE", () => {
    expectFault(() => findModel(join(folder, "absent.json")), "E_FILE", /absent\.json.*ENOENT/);
    expectFault(() => findModel(folder), "E_FILE", /config\.json.*cannot be read/);
    const large = join(folder, "large.json");
    writeFileSync(large, Buffer.alloc(4_000_001, 0x20));
    expectFault(() => findModel(large), "E_FILE", /4\.00 MB is too large/);
    const inner = join(folder, "folder.json");
    mkdirSync(join(inner, "config.json"), { recursive: true });
    expectFault(() => findModel(inner), "E_FILE", /no regular file/);
  });

  it("gives positive whole numbers or a fault, whatever one value is", () => {
    const keyed = fc.constantFrom(...Object.keys(QWEN3), "head_dim", "attention_bias");
    fc.assert(
      fc.property(keyed, fc.jsonValue(), (key, value) => {
        try {
          const shape = read({ ...QWEN3, [key]: value });
          for (const field of ["paramCount", "weightBytes", "kvBytesPerToken"] as const) {
            expect(Number.isSafeInteger(shape[field]) && shape[field] > 0).toBe(true);
          }
        } catch (error) {
          expect(error).toBeInstanceOf(EmaError);
        }
      }),
    );
  });
});
