// A device's thread ends: its engine is lost, whoever waits is told, and the others go on with
// the right tokens.

import { afterEach, expect, it } from "vitest";
import { EmaError, engineId } from "../../src/base/index.ts";
import type { CopyPath, CopyPiece, DeviceCopies } from "../../src/device/index.ts";
import { State } from "../../src/serving/compute-protocol.ts";
import { CopyHub } from "../../src/serving/copy-hub.ts";
import {
  ServedServer,
  type Generation,
  type ServedServerOptions,
} from "../../src/serving/index.ts";
import { SoloDecoder } from "./solo-decoder.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";
import { greedyRequest, submitTo, tinyCheckpoint, TINY_SERVER } from "./tiny-server.ts";

const config = { ...tinyConfig(4), kvHeads: 4, headDim: 8, contextTokensMax: 512 };
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function serverOf(options: Partial<ServedServerOptions>): Promise<ServedServer> {
  const server = await ServedServer.create({
    ...TINY_SERVER,
    deviceBytes: [2 << 20, 2 << 20],
    checkpoint: tinyCheckpoint(config, tinyWeights(7)),
    limits: { maxBatchTokens: 128, maxSequences: 64 },
    ...options,
  });
  open.push(server);
  return server;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** More KV than the first engine has, and nobody but the second to borrow of. */
async function borrowFromSecond(server: ServedServer): Promise<Generation[]> {
  const generations = Array.from({ length: 40 }, (_, seed) =>
    submitTo(server.engines[0]!, greedyRequest(config.vocab, 150, 60, seed)),
  );
  const { pool } = server.loop;
  const isOpen = (): boolean => server.engines[0]!.openCount > 0;
  while (pool.lentSlices(engineId(1)) === 0 && isOpen()) await sleep(1);
  expect(pool.lentSlices(engineId(1))).toBeGreaterThan(0);
  return generations;
}

async function expectOwnTokens(generations: readonly Generation[]): Promise<void> {
  const solo = await SoloDecoder.create(config, tinyWeights(7), 512);
  open.push(solo);
  for (const generation of generations) {
    expect(generation.state).toBe("finished");
    const made = Array.from({ length: generation.tokenCount }, (_, at) => generation.tokenAt(at));
    expect(made).toStrictEqual(solo.tokensOf(generation.request).map(({ id }) => id));
  }
}

it("goes on without a lender whose thread has ended", async () => {
  const lost: string[] = [];
  const onEngineLost = (name: string): number => lost.push(name);
  const server = await serverOf({ onEngineLost });
  const generations = await borrowFromSecond(server);
  const [, lender] = server.engines;
  const asked = submitTo(lender!, greedyRequest(config.vocab, 20, 400));
  await server.threads[1]!.kill();
  await asked.waitBeyond(400);
  expect([asked.state, asked.failure]).toStrictEqual(["failed", "engine-lost"]);
  expect(lost).toStrictEqual([lender!.name]);
  expect(server.engines.map(({ isLost }) => isLost)).toStrictEqual([false, true]);
  expect(lender!.submit(asked.request)).toMatchObject({ reason: "engine-lost" });
  const { running, waiting, kvLocalBytes, kvLentBytes } = lender!.load();
  expect([running, waiting, kvLocalBytes, kvLentBytes]).toStrictEqual([0, 0, 0, 0]);
  await server.drain();
  expect(server.loop.pool.borrowedSlices(engineId(0))).toBe(0);
  server.loop.check();
  await expectOwnTokens(generations);
});

it("goes on without a borrower whose thread has ended, and its lender has its memory", async () => {
  const server = await serverOf({});
  const generations = await borrowFromSecond(server);
  await server.threads[0]!.kill();
  for (const generation of generations) {
    await generation.waitBeyond(60);
    expect(generation.state).toMatch(/failed|finished/);
  }
  const own = Array.from({ length: 20 }, (_, seed) =>
    submitTo(server.engines[1]!, greedyRequest(config.vocab, 150, 20, seed)),
  );
  await server.drain();
  expect(server.loop.pool.lentSlices(engineId(1))).toBe(0);
  server.loop.check();
  await expectOwnTokens(own);
});

it("does not wait for ever for a layer group of a thread that has ended", async () => {
  // A step that sleeps ten seconds before its first layer group is there to be interrupted.
  const server = await serverOf({ rates: { ...TINY_SERVER.rates, hostNs: 10e9 } });
  const generation = submitTo(server.engines[0]!, greedyRequest(config.vocab, 20, 5));
  const [thread] = server.threads;
  while (thread!.state !== State.Running) await sleep(1);
  const ended = thread!.kill();
  // In the same turn: no event can have told of the end.
  expect(() => server.runners[0]!.interrupt(server.nowNs)).toThrow(/compute thread of device 0/);
  await ended;
  await generation.waitBeyond(5);
  expect(generation.failure).toBe("engine-lost");
});

/** Copies that arrive at once, until they fail. */
class FailingCopies implements DeviceCopies {
  readonly arrivals = new Int32Array(16);
  hasFailed = false;
  readonly #ended: number[] = [];

  submit(id: number, _path: CopyPath, _pieces: readonly CopyPiece[]): void {
    this.#ended.push(id);
  }

  poll(): number {
    if (this.hasFailed) throw new EmaError("E_DEVICE", "the copy thread has ended");
    return this.#ended.shift() ?? -1;
  }

  nextDueNs(): number {
    return Infinity;
  }

  waitForArrival(): void {}

  close(): void {}
}

it("a device's copies that fail leave the others', and end nothing before it is given up", () => {
  const copies = [new FailingCopies(), new FailingCopies()];
  const hub = new CopyHub(copies, 3, () => Infinity);
  const ended: number[] = [];
  const transfer = (to: number) => ({
    path: { from: 1 - to, to },
    pieces: [{ sourceAddress: 0, targetAddress: 64, bytes: 8 }],
    deadlineNs: Infinity,
    arrivalCell: 0,
  });
  copies[1]!.hasFailed = true;
  const id = hub.push(1, transfer(1), "write", ended);
  hub.pump(0);
  expect([hub.failureOf(0), hub.failureOf(1)?.code]).toStrictEqual([null, "E_DEVICE"]);
  expect(ended).toStrictEqual([]);
  const other = hub.push(0, transfer(0), "read", ended);
  hub.pump(1);
  hub.pump(2);
  expect(ended).toStrictEqual([other]);
  hub.giveUp(1);
  expect(ended).toStrictEqual([other, id]);
  expect(hub.isOpen(1, id)).toBe(false);
});
