// Engines whose queues begin with requests larger than their own memory serve them all the same,
// one after the other, with each request's own tokens.

import { afterEach, expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";
import { VirtualServer, type Generation, type GenerationRequest } from "../../src/serving/index.ts";
import { SoloDecoder } from "./solo-decoder.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";

const MIB = 1 << 20;
const SECOND = 1e9;
const config = { ...tinyConfig(2), kvHeads: 4, headDim: 16, contextTokensMax: 4096 };
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function serverOf(deviceCount: number, isElastic = true): Promise<VirtualServer> {
  const weights = tinyWeights(5);
  const server = await VirtualServer.create({
    deviceBytes: Array.from({ length: deviceCount }, () => MIB),
    checkpoint: { name: "tiny", config, weights, tokenizer: null as never, chatTemplate: null },
    memory: "shared",
    isElastic,
    limits: { maxBatchTokens: 128, maxSequences: 32 },
    rates: { hostNs: 3e6, flopsPerSecond: 2e9, memoryBytesPerSecond: 1e9 },
  });
  open.push(server);
  return server;
}

function requestOf(promptTokens: number, outputTokensMax: number, seed: number): GenerationRequest {
  const prng = new Prng(seed, promptTokens);
  return {
    promptIds: Int32Array.from({ length: promptTokens }, () => prng.nextBelow(config.vocab)),
    outputTokensMax,
    sampling: { temperature: seed % 2, topP: 1, seed },
    stopIds: [],
    topLogprobs: null,
  };
}

function submit(server: VirtualServer, engine: number, request: GenerationRequest): Generation {
  const got = server.engines[engine]!.submit(request);
  if ("reason" in got) throw new Error(got.reason);
  return got;
}

function ownTokens({ plan }: VirtualServer): number {
  return plan.ownSlices[0]! * plan.layout.blocksPerSlice * plan.layout.blockTokens;
}

async function expectAllServed(generations: readonly Generation[]): Promise<void> {
  const solo = await SoloDecoder.create(config, tinyWeights(5), 4096);
  open.push(solo);
  for (const generation of generations) {
    expect(generation).toMatchObject({ state: "finished", failure: null });
    const ids = Array.from({ length: generation.tokenCount }, (_, i) => generation.tokenAt(i));
    expect(ids).toStrictEqual(solo.tokensOf(generation.request).map(({ id }) => id));
  }
}

it.each([2, 4])("%i engines that all wait for each other's memory take turns", async (count) => {
  const server = await serverOf(count);
  const own = ownTokens(server);
  const generations = Array.from({ length: 2 * count }, (_, index) =>
    submit(server, index % count, requestOf(Math.floor(own * 1.3) + index, 12, index)),
  );
  server.runOut();
  // The wait for memory that fails a request is ten minutes.
  expect(server.nowNs).toBeLessThan(120 * SECOND);
  await expectAllServed(generations);
});

it("sequences that outgrow all memory at once wait for more of it, and do not fail", async () => {
  const server = await serverOf(3);
  const own = ownTokens(server);
  const generations = Array.from({ length: 6 }, (_, index) =>
    submit(server, index % 3, requestOf(Math.floor(own * 0.8), Math.floor(own * 0.5), index)),
  );
  server.runOut();
  await expectAllServed(generations);
});

it("no request is taken in that memory could never hold, lent by others or not", async () => {
  for (const [isElastic, times] of [[true, 2], [false, 1]] as const) {
    const server = await serverOf(3, isElastic);
    const most = times * ownTokens(server);
    expect(server.engines[0]!.contextTokensMax).toBe(most);
    const refused = server.engines[0]!.submit(requestOf(most, 1, 1));
    expect(refused).toMatchObject({ reason: "beyond-context" });
    const longest = submit(server, 0, requestOf(most - 3, 9, 2));
    server.runOut();
    expect(longest).toMatchObject({ state: "finished", tokenCount: 3 });
    await server.close();
    open.pop();
  }
});
