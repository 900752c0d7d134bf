/**
 * Models by name: the dense ones with their dimensions, the others with why they are refused.
 *
 * Read by find-model.ts. Dimensions are those of the models' published config.json files.
 * Parameters follow the convention of the published sizes these rows were checked against: biases
 * of queries, keys and values (Qwen 1 and 2.5) and norms of queries and keys (Qwen3, but for
 * Qwen3-4B) are not counted, less than 0.003 % of the weights.
 *
 * Invariant: names are unique, blind to case, over both lists.
 */

import type { ModelShape } from "./model-shape.ts";
import { shapeFrom, type ModelDimensions } from "./model-params.ts";

type Row = readonly [
  name: string,
  layers: number,
  hidden: number,
  heads: number,
  kvHeads: number,
  ffn: number,
  vocab: number,
  contextTokensMax: number,
];

/** All have heads of 128, gated FFNs and their own output matrix. */
const UNTIED_GATED: readonly Row[] = [
  ["Llama-3-8B", 32, 4096, 32, 8, 14336, 128256, 8192],
  ["Llama-3.1-8B", 32, 4096, 32, 8, 14336, 128256, 131072],
  ["Llama-3.1-70B", 80, 8192, 64, 8, 28672, 128256, 131072],
  ["Llama-3.1-405B", 126, 16384, 128, 8, 53248, 128256, 131072],
  ["Llama-2-7B", 32, 4096, 32, 32, 11008, 32000, 4096],
  ["Llama-2-13B", 40, 5120, 40, 40, 13824, 32000, 4096],
  ["Llama-2-70B", 80, 8192, 64, 8, 28672, 32000, 4096],
  ["CodeLlama-34B", 48, 8192, 64, 8, 22016, 32000, 16384],
  ["Mistral-7B-v0.2", 32, 4096, 32, 8, 14336, 32000, 32768],
  ["Qwen3-8B", 36, 4096, 32, 8, 12288, 151936, 40960],
  ["Qwen3-32B", 64, 5120, 64, 8, 25600, 151936, 40960],
  ["Qwen-72B", 80, 8192, 64, 64, 24576, 152064, 32768],
  ["Qwen2.5-7B", 28, 3584, 28, 4, 18944, 152064, 32768],
  ["Qwen2.5-14B", 48, 5120, 40, 8, 13824, 152064, 32768],
  ["Qwen2.5-32B", 64, 5120, 40, 8, 27648, 152064, 32768],
  ["Qwen2.5-72B", 80, 8192, 64, 8, 29568, 152064, 32768],
];

/** As above, but the output matrix is the embedding. */
const TIED_GATED: readonly Row[] = [
  ["Qwen3-0.6B", 28, 1024, 16, 8, 3072, 151936, 40960],
  ["Qwen3-1.7B", 28, 2048, 16, 8, 6144, 151936, 40960],
  ["Qwen3-4B", 36, 2560, 32, 8, 9728, 151936, 40960],
];

const OPT: readonly Row[] = [
  ["OPT-13B", 40, 5120, 40, 40, 20480, 50272, 2048],
  ["OPT-30B", 48, 7168, 56, 56, 28672, 50272, 2048],
  ["OPT-66B", 64, 9216, 72, 72, 36864, 50272, 2048],
];

const MOE = "it is a mixture of experts, and only dense models are built";
const MLA = "it uses multi-head latent attention, whose KV cache is not built";
const SLIDING = "it uses sliding-window attention, which is not built";

/** Known by name so that the refusal says why. */
export const REFUSED_MODELS: ReadonlyMap<string, string> = new Map([
  ["Mixtral-8x7B", MOE],
  ["Mixtral-8x22B", MOE],
  ["Qwen3-30B-A3B", MOE],
  ["Qwen3-235B-A22B", MOE],
  ["gpt-oss-20b", `${MOE}; besides, half its layers use a sliding window`],
  ["gpt-oss-120b", `${MOE}; besides, half its layers use a sliding window`],
  ["DeepSeek-V2", `${MLA}; besides, it is a mixture of experts`],
  ["DeepSeek-V3", `${MLA}; besides, it is a mixture of experts`],
  ["Kimi-K2", `${MLA}; besides, it is a mixture of experts`],
  ["Gemma-3-27B", SLIDING],
  ["Mistral-7B-v0.1", SLIDING],
]);

export const MODEL_CATALOGUE: readonly ModelShape[] = [
  ...UNTIED_GATED.map((row) => fromRow(row, { family: "llama", isFfnGated: true, isTied: false })),
  ...TIED_GATED.map((row) => fromRow(row, { family: "llama", isFfnGated: true, isTied: true })),
  ...OPT.map((row) => fromRow(row, { family: "opt", isFfnGated: false, isTied: true })),
];

function fromRow(
  row: Row,
  kind: Pick<ModelDimensions, "family" | "isFfnGated" | "isTied">,
): ModelShape {
  const [name, layers, hidden, heads, kvHeads, ffn, vocab, contextTokensMax] = row;
  return shapeFrom({
    ...kind,
    name,
    layers,
    hidden,
    heads,
    kvHeads,
    headDim: 128,
    ffn,
    vocab,
    contextTokensMax,
    layerVectorParams: name === "Qwen3-4B" ? 2 * 128 : 0,
  });
}
