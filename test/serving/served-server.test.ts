// Engines in real time: threads that compute and copy give the tokens that each prompt has alone,
// under bursts, aborts, recalls and the loss of a lender, and leave nothing behind.

import { afterAll, beforeAll, expect, it } from "vitest";
import { engineId, Prng } from "../../src/base/index.ts";
import {
  ServedServer,
  type Generation,
  type GenerationRequest,
  type ServedServerOptions,
} from "../../src/serving/index.ts";
import { SoloDecoder } from "./solo-decoder.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";
import { submitTo, tinyCheckpoint, TINY_SERVER } from "./tiny-server.ts";

const config = { ...tinyConfig(4), kvHeads: 4, headDim: 8, contextTokensMax: 512 };

const OPTIONS: ServedServerOptions = {
  ...TINY_SERVER,
  memory: "auto",
  deviceBytes: [2 << 20, 2 << 20, 2 << 20],
  checkpoint: tinyCheckpoint(config, tinyWeights(7)),
  limits: { maxBatchTokens: 128, maxSequences: 64 },
  rates: { hostNs: 2e6, flopsPerSecond: 4e9, memoryBytesPerSecond: 2e9 },
  links: { latencyNs: 7500, copyCostNs: 2000, deviceBytesPerSecond: 1e9, hostBytesPerSecond: 3e8 },
};

let solo: SoloDecoder;
beforeAll(async () => {
  solo = await SoloDecoder.create(config, tinyWeights(7), 512);
});
afterAll(() => solo.close());

function request(prng: Prng, index: number, outputMax: number): GenerationRequest {
  const prompt = 10 + prng.nextBelow(150);
  return {
    promptIds: Int32Array.from({ length: prompt }, () => prng.nextBelow(config.vocab)),
    outputTokensMax: 1 + prng.nextBelow(outputMax),
    sampling: { temperature: index % 2, topP: 0.95, seed: index },
    stopIds: index % 5 === 0 ? [5] : [],
    topLogprobs: 0,
  };
}

/** All that was generated is what the prompt has alone; aborted ones have the beginning of it. */
function expectOwnTokens(generation: Generation): void {
  const { request: of, tokenCount, state } = generation;
  const own = solo.tokensOf(of);
  const made = Array.from({ length: tokenCount }, (_, index) => ({
    id: generation.tokenAt(index),
    logprob: generation.logprobAt(index)!.logprob,
  }));
  expect(made).toStrictEqual(own.slice(0, tokenCount));
  if (state === "finished") expect(tokenCount).toBe(own.length);
}

function expectEmpty(server: ServedServer): void {
  server.loop.check();
  server.engines.forEach((served, index) => {
    if (server.loop.isGone(index)) return;
    expect(served.openCount + served.storedRequests).toBe(0);
    const { kvLocalBytes, kvBorrowedBytes, kvHostBytes, running, waiting } = served.load();
    const gauges = [kvLocalBytes, kvBorrowedBytes, kvHostBytes, running, waiting];
    expect(gauges).toStrictEqual([0, 0, 0, 0, 0]);
    expect(server.loop.pool.borrowedSlices(engineId(index))).toBe(0);
  });
}

/** Until nothing is borrowed and no request is known, at the server's own pace. */
async function settle(server: ServedServer): Promise<void> {
  const isBusy = (): boolean =>
    server.engines.some(
      ({ storedRequests }, index) =>
        !server.loop.isGone(index) &&
        storedRequests + server.loop.pool.borrowedSlices(engineId(index)) > 0,
    );
  while (isBusy()) await new Promise((resolve) => setTimeout(resolve, 20));
}

it.each(["staged", "direct", "mixed"] as const)(
  "gives each prompt its own tokens, borrowed KV being %s",
  async (accessMode) => {
    const server = await ServedServer.create({
      ...OPTIONS,
      pool: { ...OPTIONS.pool, accessMode },
    });
    const prng = new Prng(3);
    const [first] = server.engines;
    const generations = Array.from({ length: 50 }, (_, index) =>
      submitTo(first!, request(prng, index, 60)),
    );
    const kinds = new Set<string>();
    for (const generation of generations) {
      const hasEnded = (): boolean => !["waiting", "running"].includes(generation.state);
      for (let count = 0; !hasEnded(); count++) {
        await generation.waitBeyond(count);
        for (const { kind } of first!.kvPlaces(generation)) kinds.add(kind);
      }
    }
    const { counts } = server.runners[0]!;
    expect([...kinds].sort()).toStrictEqual(["borrowed", "local"]);
    if (accessMode === "direct") expect(counts.stagedBlocks).toBe(0);
    else expect(counts.stagedBlocks).toBeGreaterThan(0);
    await server.drain();
    await settle(server);
    expectEmpty(server);
    await server.close();
    for (const generation of generations) {
      expect(generation.state).toBe("finished");
      expectOwnTokens(generation);
    }
  },
);

it("survives bursts, aborts, recalls and the loss of a lender", async () => {
  const server = await ServedServer.create(OPTIONS);
  const prng = new Prng(4);
  const generations: Generation[] = [];
  let isLost = false;
  for (let index = 0; index < 300; index++) {
    const engine = index % 100 < 70 ? 0 : 1;
    generations.push(submitTo(server.engines[engine]!, request(prng, index, 30)));
    if (prng.nextUnit() < 0.3) generations[prng.nextBelow(generations.length)]!.abort();
    if (index % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 10));
    if (index % 40 === 39) {
      for (const [lender, kind] of [[1, "demand"], [2, "refill"]] as const) {
        if (server.loop.isGone(lender)) continue;
        server.engines[lender]!.engine.arena.recall(4, kind, server.nowNs);
        server.touchAll();
      }
    }
    if (!isLost && index > 150 && server.loop.pool.lentSlices(engineId(2)) > 0) {
      isLost = true;
      server.removeEngine(2);
    }
  }
  await server.drain();
  await settle(server);
  expectEmpty(server);
  await server.close();
  const states = new Set(generations.map(({ state }) => state));
  expect([...states].sort()).toStrictEqual(["aborted", "finished"]);
  for (const generation of generations) expectOwnTokens(generation);
});

it("takes nothing in while it drains, and ends what is open when it closes", async () => {
  const server = await ServedServer.create({ ...OPTIONS, deviceBytes: [2 << 20] });
  const prng = new Prng(5);
  const [engine] = server.engines;
  const open = submitTo(engine!, request(prng, 1, 30));
  void server.drain();
  const refused = engine!.submit(request(prng, 2, 30));
  expect(refused).toMatchObject({ reason: "shutting-down" });
  await server.close();
  await server.close();
  expect(open.state).toBe("aborted");
  await open.waitBeyond(1000);
});
