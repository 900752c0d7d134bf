/**
 * What servers of a tiny decoder are made of in tests, but for the sizes that a test is about.
 *
 * Engines lend and give back at once, so that a test of a second sees loans and recalls.
 */

import { Prng } from "../../src/base/index.ts";
import type { Checkpoint, CheckpointWeights, ModelConfig } from "../../src/model/index.ts";
import type {
  Generation,
  GenerationRequest,
  ServedEngine,
  ServedServerOptions,
} from "../../src/serving/index.ts";

const SECOND = 1e9;

export const TINY_SERVER = {
  memory: "shared",
  pool: { headroom: { kind: "none" } },
  roleTimes: { lentQuietNs: 0, shortageNs: 0, keepEmptyNs: 0.1 * SECOND },
  rates: { hostNs: 3e6, flopsPerSecond: 2e9, memoryBytesPerSecond: 1e9 },
  links: {
    latencyNs: 7500,
    copyCostNs: 2000,
    deviceBytesPerSecond: 3e8,
    hostBytesPerSecond: 1e8,
  },
} as const satisfies Partial<ServedServerOptions>;

/** Requests of ids alone: it has no tokenizer and no template. */
export function tinyCheckpoint(config: ModelConfig, weights: CheckpointWeights): Checkpoint {
  return { name: "tiny", config, weights, tokenizer: null as never, chatTemplate: null };
}

/** Ids drawn from the seed; the likeliest token each time, to the last. */
export function greedyRequest(
  vocab: number,
  promptTokens: number,
  outputTokensMax: number,
  seed = 0,
): GenerationRequest {
  const prng = new Prng(seed, promptTokens);
  return {
    promptIds: Int32Array.from({ length: promptTokens }, () => prng.nextBelow(vocab)),
    outputTokensMax,
    sampling: { temperature: 0, topP: 1, seed },
    stopIds: [],
    topLogprobs: null,
  };
}

/** Fails the test when the engine takes it not. */
export function submitTo(engine: ServedEngine, request: GenerationRequest): Generation {
  const got = engine.submit(request);
  if ("reason" in got) throw new Error(got.reason);
  return got;
}
