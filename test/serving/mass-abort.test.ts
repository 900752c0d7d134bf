// Ten thousand requests, many of which are given up at random moments, leave nothing behind.

import { expect, it } from "vitest";
import { engineId, Prng } from "../../src/base/index.ts";
import { VirtualServer, type Generation } from "../../src/serving/index.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";
import { tinyCheckpoint, TINY_SERVER } from "./tiny-server.ts";

const REQUESTS = 10_000;
const SECOND = 1e9;

/** Blocks of 16 KiB in slices of four, so that a device of 1 MiB has some ten slices. */
const config = {
  ...tinyConfig(2),
  hidden: 8,
  heads: 4,
  kvHeads: 4,
  headDim: 16,
  ffn: 8,
  vocab: 17,
  contextTokensMax: 256,
};

async function createServer(): Promise<VirtualServer> {
  return VirtualServer.create({
    ...TINY_SERVER,
    deviceBytes: [1 << 20, 1 << 20, 1 << 20],
    checkpoint: tinyCheckpoint(config, tinyWeights(5)),
    limits: { maxBatchTokens: 512, maxSequences: 64, waitingMax: 100_000 },
  });
}

function submit(server: VirtualServer, prng: Prng, index: number): Generation {
  // Bursts: for a while nearly everything goes to one engine, and its neighbours lend.
  const favourite = Math.floor(index / 2500) % 3;
  const engine = prng.nextUnit() < 0.95 ? favourite : prng.nextBelow(3);
  const prompt = prng.nextUnit() < 0.02 ? 200 : 1 + prng.nextBelow(90);
  const got = server.engines[engine]!.submit({
    promptIds: Int32Array.from({ length: prompt }, () => prng.nextBelow(config.vocab)),
    outputTokensMax: 1 + prng.nextBelow(30),
    sampling: { temperature: index % 2, topP: 1, seed: index },
    stopIds: [3],
    topLogprobs: null,
  });
  if ("reason" in got) throw new Error(got.reason);
  return got;
}

it("ten thousand requests with random aborts leave every block, slice and gauge free", async () => {
  const server = await createServer();
  const prng = new Prng(2026);
  const open: Generation[] = [];
  const ends = new Map<string, number>();
  let borrowedBytesMax = 0;
  for (let index = 0; index < REQUESTS; index++) {
    open.push(submit(server, prng, index));
    server.runUntil(server.nowNs + Math.floor(prng.nextExponential(1.2e6)));
    // Of the latest, some of which wait, some run and some have ended.
    if (prng.nextUnit() < 0.4) open.at(-1 - prng.nextBelow(Math.min(80, open.length)))!.abort();
    if (index % 50 !== 0) continue;
    for (const engine of server.engines) {
      borrowedBytesMax = Math.max(borrowedBytesMax, engine.load().kvBorrowedBytes);
    }
    if (index % 1000 === 0) server.loop.check();
  }
  server.runOut();
  for (const { state } of open) ends.set(state, (ends.get(state) ?? 0) + 1);
  expect([...ends.keys()].sort()).toStrictEqual(["aborted", "finished"]);
  expect(ends.get("aborted")).toBeGreaterThan(1000);
  expect(ends.get("finished")).toBeGreaterThan(5000);
  expect(borrowedBytesMax).toBeGreaterThan(0);
  server.runUntil(server.nowNs + SECOND);
  server.loop.check();
  server.engines.forEach(({ engine, openCount, storedRequests }, index) => {
    expect(openCount + storedRequests).toBe(0);
    expect(engine.kv.moves.size).toBe(0);
    expect(server.loop.pool.lentSlices(engineId(index))).toBe(0);
    const { kvLocalBytes, kvBorrowedBytes, kvLentBytes, kvHostBytes, running, waiting } =
      server.engines[index]!.load();
    const gauges = [kvLocalBytes, kvBorrowedBytes, kvLentBytes, kvHostBytes, running, waiting];
    expect(gauges).toStrictEqual([0, 0, 0, 0, 0, 0]);
  });
  await server.close();
});
