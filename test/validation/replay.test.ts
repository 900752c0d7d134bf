/**
 * Replays on the production engine against a plain model of vLLM's scheduling: equal to the
 * nanosecond, with and without a step in flight, also where memory is short.
 */

import { expect, it } from "vitest";
import fc from "fast-check";
import { findGpu, findModel, type CostModel } from "../../src/hardware/index.ts";
import { replay } from "../../src/validation/replay.ts";
import type { RealLog } from "../../src/validation/request-log.ts";
import type { RunMeta } from "../../src/validation/run-meta.ts";
import { naiveVllm, type NaiveRequest } from "./naive-vllm.ts";

const MODEL = findModel("Llama-3.1-8B");
const TOKEN_NS = 10_007;
const SEQUENCE_NS = 1_003;
const STEP_NS = 2_000_000;

/** A step costs its query tokens, its sampled sequences and a constant. */
const COST: CostModel = {
  hbmBytesPerSecond: 1e12,
  hostNs: STEP_NS,
  linearLayerNs: (tokens) => (tokens * TOKEN_NS) / MODEL.layers,
  headNs: (sequences) => sequences * SEQUENCE_NS,
  decodeAttentionLayerNs: () => 0,
  prefillAttentionLayerNs: () => 0,
  sources: [],
};

const META: RunMeta = {
  modelName: MODEL.name,
  maxSequences: 4,
  maxBatchTokens: 64,
  contextTokensMax: null,
  blockTokens: 4,
  blockCount: null,
  memoryShare: 0.9,
  isPrefixCached: true,
  isAsync: true,
  graphTokensMax: 0,
  reservesPrompt: true,
  deviceName: null,
  deviceBytes: null,
};

const REQUESTS = fc.array(
  fc.record({
    gapNs: fc.integer({ min: 0, max: 8e6 }),
    prompt: fc.integer({ min: 1, max: 90 }),
    output: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 1, maxLength: 25 },
);

function logOf(requests: readonly NaiveRequest[]): RealLog {
  const none = new Float64Array(requests.length);
  return {
    count: requests.length,
    queuedNs: Float64Array.from(requests, (request) => request.queuedNs),
    firstTokenNs: none,
    lastTokenNs: none,
    promptTokens: Int32Array.from(requests, (request) => request.prompt),
    outputTokens: Int32Array.from(requests, (request) => request.output),
  };
}

interface Drawn {
  readonly gapNs: number;
  readonly prompt: number;
  readonly output: number;
}

function bothWays(drawn: readonly Drawn[], blocks: number, meta: RunMeta) {
  let queuedNs = 0;
  const requests = drawn.map(({ gapNs, prompt, output }, at) => {
    queuedNs += at === 0 ? 0 : gapNs;
    return { queuedNs, prompt, output };
  });
  const naive = naiveVllm(requests, {
    blocks,
    blockTokens: meta.blockTokens,
    sequencesMax: meta.maxSequences,
    tokensMax: meta.maxBatchTokens,
    isAsync: meta.isAsync,
    isCached: meta.isPrefixCached,
    stepNs: (tokens, sampled) => STEP_NS + tokens * TOKEN_NS + sampled * SEQUENCE_NS,
  });
  const setup = { gpu: findGpu("h100"), model: MODEL, meta, cost: COST, blockCount: blocks + 1 };
  return { naive, real: replay(logOf(requests), setup) };
}

let preempted = 0;
let restored = 0;

it.each([
  ["async scheduling, prefix caching", true, true],
  ["async scheduling alone", true, false],
  ["neither", false, false],
])("is vLLM's schedule to the nanosecond: %s", (_name, isAsync, isPrefixCached) => {
  fc.assert(
    // 33 blocks of 4 tokens hold any one request, and no more than a few of them.
    fc.property(REQUESTS, fc.integer({ min: 33, max: 80 }), (drawn, blocks) => {
      const { naive, real } = bothWays(drawn, blocks, { ...META, isAsync, isPrefixCached });
      expect(Array.from(real.queuedNs)).toEqual(naive.taken);
      expect(Array.from(real.firstTokenNs)).toEqual(naive.first);
      expect(Array.from(real.lastTokenNs)).toEqual(naive.last);
      expect(real.preemptions).toBe(naive.preemptions);
      expect(real.restoredTokens).toBe(naive.restored);
      preempted += naive.preemptions;
      restored += naive.restored;
    }),
    { numRuns: 300 },
  );
});

it("the drawn runs preempted, and found blocks again", () => {
  expect(preempted).toBeGreaterThan(100);
  expect(restored).toBeGreaterThan(100);
});
