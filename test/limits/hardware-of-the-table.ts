/**
 * The GPUs and models of the published table, as its caption gives them.
 *
 * Used by the tests of the closed form instead of the catalogue, so that a change of the catalogue
 * cannot move what the formula is held to.
 */

import type { Gpu, ModelShape } from "../../src/hardware/index.ts";

const gpu = (name: string, hbmGb: number, b: number, fTera: number, n: number): Gpu => ({
  name,
  label: name,
  formFactor: "sxm",
  hbmBytes: hbmGb * 1e9,
  hbmPeakBytesPerSecond: b * 1.25e9,
  hbmBytesPerSecond: b * 1e9,
  flopsPerSecond: fTera * 1e12,
  portBytesPerSecond: n * 1e9,
  hostBytesPerSecond: 26e9,
});

export const A100_40 = gpu("a100-40g", 40, 1244, 265, 276);
export const A100_80 = gpu("a100-80g", 80, 1632, 265, 276);
export const H100 = gpu("h100", 80, 3000, 786, 376);
export const H200 = gpu("h200", 141, 4100, 776, 376);

const model = (name: string, layers: number, kvHeads: number, paramCount: number): ModelShape => ({
  name,
  layers,
  hidden: 5120,
  heads: 40,
  kvHeads,
  headDim: 128,
  ffn: 20480,
  isFfnGated: true,
  vocab: 50272,
  isTied: false,
  contextTokensMax: 32768,
  paramCount,
  weightBytes: 2 * paramCount,
  kvBytesPerToken: layers * 2 * kvHeads * 128 * 2,
});

// Layers, KV heads and parameters from the models' published configurations.
export const OPT_13B = model("OPT-13B", 40, 40, 12853473280);
export const QWEN3_32B = model("Qwen3-32B", 64, 8, 32762106880);
export const CODELLAMA_34B = model("CodeLlama-34B", 48, 8, 33743970304);
export const QWEN25_14B = model("Qwen2.5-14B", 48, 8, 14769689600);
export const LLAMA31_8B = model("Llama-3.1-8B", 32, 8, 8030261248);
