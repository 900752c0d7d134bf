// What a served model promises its readers: limits, reasons, ends, log probabilities, places of KV;
// and that a step is not published whose slices were reused.

import { afterEach, describe, expect, it } from "vitest";
import {
  VirtualServer,
  type Generation,
  type GenerationRequest,
  type ServedServerOptions,
} from "../../src/serving/index.ts";
import { SoloDecoder } from "./solo-decoder.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";
import { greedyRequest, submitTo, tinyCheckpoint, TINY_SERVER } from "./tiny-server.ts";

const config = { ...tinyConfig(2), kvHeads: 4, headDim: 16, contextTokensMax: 300 };
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function serverOf(options: Partial<ServedServerOptions> = {}): Promise<VirtualServer> {
  const server = await VirtualServer.create({
    ...TINY_SERVER,
    deviceBytes: [2 << 20],
    checkpoint: tinyCheckpoint(config, tinyWeights(5)),
    limits: { maxBatchTokens: 128, maxSequences: 32, waitingMax: 4 },
    ...options,
  });
  open.push(server);
  return server;
}

const requestOf = (promptTokens: number, outputTokensMax: number, seed = 0): GenerationRequest =>
  greedyRequest(config.vocab, promptTokens, outputTokensMax, seed);

const submit = (server: VirtualServer, request: GenerationRequest, engine = 0): Generation =>
  submitTo(server.engines[engine]!, request);

const idsOf = (generation: Generation): number[] =>
  Array.from({ length: generation.tokenCount }, (_, index) => generation.tokenAt(index));

async function soloIds(request: GenerationRequest): Promise<number[]> {
  const solo = await SoloDecoder.create(config, tinyWeights(5), 512);
  open.push(solo);
  return solo.tokensOf(request).map(({ id }) => id);
}

it("borrows as much as its limit is set to while it runs", async () => {
  const server = await serverOf({
    deviceBytes: [2 << 20, 2 << 20],
    limits: { maxBatchTokens: 128, maxSequences: 32, waitingMax: 1000 },
    pool: { ...TINY_SERVER.pool, borrowLimit: { kind: "share", share: 0 } },
  });
  const { pool } = server.loop;
  const [borrower] = server.engines;
  for (let seed = 0; seed < 100; seed++) submit(server, requestOf(150, 60, seed));
  const mostBorrowed = (steps: number): number => {
    let most = 0;
    for (let step = 0; step < steps && server.step(); step++) {
      most = Math.max(most, pool.borrowedSlices(borrower!.engine.id));
    }
    return most;
  };
  expect(mostBorrowed(300)).toBe(0);
  expect(borrower!.engine.arena.refusals.limit).toBeGreaterThan(0);
  const set = (sliceCount: number): void =>
    pool.apply({ type: "SetBorrowLimit", engine: borrower!.engine.id, sliceCount }, server.nowNs);
  set(5);
  expect(mostBorrowed(600)).toBe(5);
});

describe("a served model", () => {
  it("says when its queue is full, and when to come again", async () => {
    const server = await serverOf();
    const accepted = Array.from({ length: 4 }, () => submit(server, requestOf(20, 5)));
    const refused = server.engines[0]!.submit(requestOf(20, 5));
    expect(refused).toMatchObject({ reason: "queue-full" });
    if ("retryAfterSeconds" in refused) expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    server.runOut();
    expect(accepted.map(({ state }) => state)).toStrictEqual(new Array(4).fill("finished"));
    expect(server.engines[0]!.submit(requestOf(20, 5))).toMatchObject({ state: "waiting" });
  });

  it("refuses prompts that fill the context, and ends at its end", async () => {
    const server = await serverOf();
    const refused = server.engines[0]!.submit(requestOf(300, 5));
    expect(refused).toMatchObject({ reason: "beyond-context" });
    const last = submit(server, requestOf(296, 100));
    server.runOut();
    expect(last).toMatchObject({ state: "finished", finishReason: "length", tokenCount: 4 });
  });

  it("ends with the first of the ids that end it, which is its last token", async () => {
    const server = await serverOf();
    const request = requestOf(30, 40, 3);
    const all = await soloIds(request);
    const stop = all[5]!;
    const first = all.indexOf(stop);
    const stopped = submit(server, { ...request, stopIds: [stop] });
    server.runOut();
    expect(stopped).toMatchObject({ finishReason: "stop", tokenCount: first + 1 });
    expect(idsOf(stopped)).toStrictEqual(all.slice(0, first + 1));
  });

  it("wakes who waits for more, and at the end everybody", async () => {
    const server = await serverOf();
    const generation = submit(server, requestOf(10, 3));
    const woken: number[] = [];
    const waits = [0, 2, 9].map(async (count) => {
      await generation.waitBeyond(count);
      woken.push(count, generation.tokenCount);
    });
    while (generation.tokenCount === 0) server.step();
    await waits[0];
    expect(woken).toStrictEqual([0, 1]);
    server.runOut();
    await Promise.all(waits);
    expect(woken).toStrictEqual([0, 1, 2, 3, 9, 3]);
  });

  it("gives log probabilities that are sorted and sum to less than one", async () => {
    const server = await serverOf();
    const generation = submit(server, { ...requestOf(12, 6), topLogprobs: 5 });
    server.runOut();
    for (let index = 0; index < generation.tokenCount; index++) {
      const { id, logprob, top } = generation.logprobAt(index)!;
      expect(top).toHaveLength(5);
      // Greedy: the token is the likeliest.
      expect(top[0]).toStrictEqual({ id, logprob });
      const values = top.map((each) => each.logprob);
      expect(values).toStrictEqual([...values].sort((a, b) => b - a));
      expect(values.reduce((sum, value) => sum + Math.exp(value), 0)).toBeLessThan(1);
    }
  });

  it("frees an aborted generation's KV within one step, and tells of no more tokens", async () => {
    const server = await serverOf();
    const gone = submit(server, requestOf(50, 40));
    const stays = submit(server, requestOf(50, 40, 1));
    while (gone.tokenCount < 3) server.step();
    const { engine } = server.engines[0]!;
    const steps = engine.counters.steps;
    gone.abort();
    gone.abort();
    while (engine.counters.steps < steps + 1) server.step();
    expect(engine.kv.usedBlocks(0)).toBe(Math.ceil((50 + stays.tokenCount) / 16));
    expect(gone).toMatchObject({ state: "aborted", tokenCount: 3 });
    expect(server.engines[0]!.storedRequests).toBe(1);
    server.runOut();
    expect(stays.state).toBe("finished");
  });

  it("says where the KV of a generation lies, to the byte", async () => {
    const server = await serverOf({ deviceBytes: [1 << 20, 1 << 20], limits: { waitingMax: 99 } });
    const generations = Array.from({ length: 30 }, (_, index) =>
      submit(server, requestOf(60, 30, index)),
    );
    const kinds = new Set<string>();
    while (server.engines[0]!.openCount > 0 && server.step()) {
      const { engine } = server.engines[0]!;
      let bytes = 0;
      for (const generation of generations) {
        for (const place of server.engines[0]!.kvPlaces(generation)) {
          kinds.add(`${place.kind} ${place.device}`);
          bytes += place.bytes;
        }
      }
      let used = 0;
      for (let source = 0; source < engine.kv.sourceCount; source++) {
        used += engine.kv.usedBlocks(source) * engine.kv.layout.blockBytes;
      }
      // Copies under way have blocks at both ends.
      if (engine.kv.moves.size === 0) expect(bytes).toBe(used);
    }
    expect([...kinds].sort()).toStrictEqual(["borrowed 1", "local 0"]);
    expect(server.engines[0]!.kvPlaces(generations[0]!)).toStrictEqual([]);
  });
});

it("tokens of a step are not published when what it read was reused meanwhile", async () => {
  const server = await serverOf({ deviceBytes: [1 << 20, 1 << 20], limits: { waitingMax: 99 } });
  const generations = Array.from({ length: 20 }, (_, index) =>
    submit(server, requestOf(60, 30, index)),
  );
  // Epochs rise under the borrower's steps; the bytes are as they were, so that tokens can be told.
  const { pool } = server.loop;
  const epochOf = pool.epochOf.bind(pool);
  let raised = 0;
  pool.epochOf = (slice) => epochOf(slice) + raised;
  const [{ counts }, { counters }] = [server.runners[0]!, server.engines[0]!.engine];
  for (let event = 0; server.engines[0]!.openCount > 0; event++) {
    const [voidSteps, tokens] = [counts.voidSteps, counters.outputTokens];
    server.step();
    if (counts.voidSteps > voidSteps) expect(counters.outputTokens).toBe(tokens);
    if (event % 7 === 0) raised++;
  }
  expect(counts.voidSteps).toBeGreaterThan(0);
  for (const generation of generations) {
    expect(generation.state).toBe("finished");
    expect(idsOf(generation)).toStrictEqual(await soloIds(generation.request));
  }
});
