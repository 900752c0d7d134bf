/** Models by name against published architecture facts, and what is left of a GPU for KV. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findGpu, findModel, kvMemoryBytes } from "../../src/hardware/index.ts";
import { MODEL_CATALOGUE } from "../../src/hardware/model-catalogue.ts";
import { sharedDataPath } from "../shared-data.ts";
import { expectFault } from "./faults.ts";

interface ModelRow {
  readonly name: string;
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly kv_heads: number;
  readonly head_dim: number;
  readonly ffn: number;
  readonly vocab: number;
  readonly max_ctx: number;
  readonly attn: string;
  readonly tie?: boolean;
  readonly experts?: number;
  readonly sliding?: object | null;
  readonly params: number;
  readonly weight_bytes_bf16: number;
  readonly kv_bytes_per_token_bf16: number;
}

const dataPath = sharedDataPath("models/models.json");

function readRows(): ModelRow[] {
  return JSON.parse(readFileSync(dataPath!, "utf8")) as ModelRow[];
}

function isDense(row: ModelRow): boolean {
  return row.experts === undefined && row.attn !== "MLA" && (row.sliding ?? null) === null;
}

describe("model catalogue", () => {
  it.each([
    ["Qwen3-4B", 147456],
    ["Llama-3.1-8B", 131072],
    ["OPT-13B", 819200],
    ["Qwen3-32B", 262144],
  ])("%s has %i KV bytes a token", (name, bytes) => {
    expect(findModel(name).kvBytesPerToken).toBe(bytes);
  });

  it.skipIf(dataPath === null)("holds every dense row of models.json, to the byte", () => {
    const dense = readRows().filter(isDense);
    expect(dense).toHaveLength(22);
    expect(MODEL_CATALOGUE).toHaveLength(dense.length);
    for (const row of dense) {
      expect(findModel(row.name)).toEqual({
        name: row.name,
        layers: row.layers,
        hidden: row.hidden,
        heads: row.heads,
        kvHeads: row.kv_heads,
        headDim: row.head_dim,
        ffn: row.ffn,
        isFfnGated: !row.name.startsWith("OPT"),
        vocab: row.vocab,
        isTied: row.tie ?? false,
        contextTokensMax: row.max_ctx,
        paramCount: row.params,
        weightBytes: row.weight_bytes_bf16,
        kvBytesPerToken: row.kv_bytes_per_token_bf16,
      });
    }
  });

  it.skipIf(dataPath === null)("refuses every other row with its reason", () => {
    const others = readRows().filter((row) => !isDense(row));
    expect(others.length).toBeGreaterThan(5);
    for (const row of others) {
      const reason =
        row.attn === "MLA" ? /latent attention/ : row.experts ? /experts/ : /sliding-window/;
      expectFault(() => findModel(row.name), "E_MODEL_UNSUPPORTED", reason);
    }
  });

  it("ignores case and refuses the unknown with near names", () => {
    expect(findModel("qwen3-32b").name).toBe("Qwen3-32B");
    expectFault(() => findModel("mixtral-8x7b"), "E_MODEL_UNSUPPORTED", /Mixtral-8x7B.*experts/);
    expectFault(() => findModel("OPT-13"), "E_MODEL", /unknown model "OPT-13".*OPT-13B/);
    expectFault(() => findModel("meta-llama/Llama-3.1-8B"), "E_MODEL", /Llama-3.1-8B or/);
    expectFault(() => findModel(""), "E_MODEL", /path of a config.json; known: /);
  });
});

describe("KV memory", () => {
  it.each([
    ["a100-40g", "OPT-13B", 10123],
    ["h100", "Qwen3-32B", 17073],
  ])("of %s with %s holds %i tokens", (gpuName, modelName, tokens) => {
    const model = findModel(modelName);
    const bytes = kvMemoryBytes(findGpu(gpuName), model);
    expect(Math.floor(bytes / model.kvBytesPerToken)).toBe(tokens);
  });

  it("is exact in bytes", () => {
    const model = findModel("OPT-13B");
    const bytes = kvMemoryBytes(findGpu("h200"), model);
    expect(bytes).toBe(126_900_000_000 - 25_706_946_560 - 2_000_000_000);
  });

  it("is refused with the numbers when nothing is left", () => {
    expectFault(
      () => kvMemoryBytes(findGpu("a100-40g"), findModel("Qwen3-32B")),
      "E_MODEL_FIT",
      /Qwen3-32B does not fit a100-40g: weights 65.5 GB .*2.00 GB.*40.0 GB = 36.0 GB/,
    );
    const barely = { ...findGpu("h100"), hbmBytes: (65_524_213_760 + 2e9 + 1000) / 0.9 };
    expectFault(() => kvMemoryBytes(barely, findModel("Qwen3-32B")), "E_MODEL_FIT", /leave no KV/);
  });
});
