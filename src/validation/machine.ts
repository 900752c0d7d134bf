/**
 * The GPU, the model, the number of KV blocks and the cost model of a replay.
 *
 * Called by validate.ts. What the files say counts; what they do not say is computed by the rules
 * of the simulator and listed as assumed. With a profile, steps cost what its tables say; without
 * one, what the catalogue's own model says.
 */

import { EmaError } from "../base/index.ts";
import {
  createCostModel,
  createProfileCostModel,
  findGpu,
  GPU_NAMES,
  HOST_NS,
  RESERVE_BYTES,
  type CostModel,
  type Gpu,
  type ModelShape,
} from "../hardware/index.ts";
import type { Profile } from "./profile-folder.ts";
import type { Assumed, RunMeta } from "./run-meta.ts";

/** Catalogue names, and how drivers and profiles spell the same boards. */
const SPELLINGS: readonly [name: string, pattern: RegExp][] = [
  ["rtx-pro-6000", /rtx ?pro ?6000/i],
  ["rtx-4090", /(rtx ?)?4090/i],
  ["l40s", /l40s/i],
  ["h200", /h200/i],
  ["h100", /h100/i],
  ["a100-40g", /a100.*40/i],
  ["a100-80g", /a100/i],
];
/** What boards are sold as in GB their drivers report in GiB. */
const BYTES_PER_SOLD_BYTE = 1024 ** 3 / 1e9;

/** @param named what --gpu says. @throws EmaError E_GPU, E_ARGUMENT when nothing names one. */
export function gpuOf(
  named: string | null,
  meta: RunMeta,
  profile: Profile | null,
  assumed: Assumed,
): Gpu {
  if (named !== null) return findGpu(named);
  const texts = [meta.deviceName, profile?.name ?? null];
  for (const text of texts) {
    const name = SPELLINGS.find(([, pattern]) => text !== null && pattern.test(text))?.[0];
    if (name === undefined) continue;
    if (text !== meta.deviceName) assumed["gpu"] = name;
    return findGpu(name);
  }
  const known = GPU_NAMES.join(", ");
  throw new EmaError("E_ARGUMENT", `--gpu is missing: the meta file names none; known: ${known}`);
}

/** @param given what --kv-blocks says. @throws EmaError E_MODEL_FIT */
export function blockCountOf(
  given: number | null,
  meta: RunMeta,
  gpu: Gpu,
  model: ModelShape,
  assumed: Assumed,
): number {
  if (given !== null) return given;
  if (meta.blockCount !== null) return meta.blockCount;
  let deviceBytes = meta.deviceBytes;
  if (deviceBytes === null) {
    deviceBytes = Math.floor(gpu.hbmBytes * BYTES_PER_SOLD_BYTE);
    assumed["device_total_memory_bytes"] = deviceBytes;
  }
  const bytes = meta.memoryShare * deviceBytes - model.weightBytes - RESERVE_BYTES;
  const blocks = Math.floor(bytes / (model.kvBytesPerToken * meta.blockTokens));
  if (blocks < 2) {
    const text = `${model.name} leaves no KV memory on ${gpu.name}; give --kv-blocks`;
    throw new EmaError("E_MODEL_FIT", text);
  }
  assumed["num_gpu_blocks"] = blocks;
  assumed["non_kv_bytes"] = RESERVE_BYTES;
  return blocks;
}

/**
 * With a step decided ahead the host works while the GPU does, so a step of decodes, one graph
 * whose inputs follow from the step before, waits for none of it. A step that takes in prompts is
 * launched kernel by kernel and waits for o, the simulator's time of a step that is neither GEMM
 * nor KV. Without a step ahead every step does.
 */
export function costModelOf(
  gpu: Gpu,
  model: ModelShape,
  meta: RunMeta,
  profile: Profile | null,
  assumed: Assumed,
): CostModel {
  const hostNs = meta.isAsync ? 0 : HOST_NS;
  assumed["host_seconds"] = hostNs / 1e9;
  assumed["prompt_host_seconds"] = HOST_NS / 1e9;
  if (profile === null) {
    assumed["cost_model"] = `catalogue: ${gpu.name}`;
    return withHost(createCostModel(gpu, model), hostNs);
  }
  if (profile.texts.skew === null) assumed["skew"] = "none: the profile has no skew_fit";
  return createProfileCostModel(profile.texts, {
    layers: model.layers,
    hbmBytesPerSecond: gpu.hbmBytesPerSecond,
    hostNs,
    promptHostNs: HOST_NS,
    graphTokensMax: meta.graphTokensMax,
  });
}

function withHost(cost: CostModel, hostNs: number): CostModel {
  return {
    hbmBytesPerSecond: cost.hbmBytesPerSecond,
    sources: cost.sources,
    hostNs,
    promptHostNs: HOST_NS,
    linearLayerNs: (tokens) => cost.linearLayerNs(tokens),
    headNs: (sequences) => cost.headNs(sequences),
    decodeAttentionLayerNs: (sequences, tokens) => cost.decodeAttentionLayerNs(sequences, tokens),
    prefillAttentionLayerNs: (chunk, past) => cost.prefillAttentionLayerNs(chunk, past),
  };
}
