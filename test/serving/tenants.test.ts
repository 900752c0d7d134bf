// A slice that goes to another tenant holds nothing of the last one: looked for in its bytes.

import { expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";
import { VirtualServer } from "../../src/serving/index.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";
import { tinyCheckpoint, TINY_SERVER } from "./tiny-server.ts";

const SECOND = 1e9;
const config = { ...tinyConfig(2), kvHeads: 4, headDim: 16, contextTokensMax: 512 };

/** @param tenants of each engine, in order */
async function createServer(tenants: readonly string[]): Promise<VirtualServer> {
  return VirtualServer.create({
    ...TINY_SERVER,
    deviceBytes: tenants.map(() => 2 << 20),
    checkpoint: tinyCheckpoint(config, tinyWeights(5)),
    engines: tenants.map((tenant, device) => ({ name: `engine-${device}`, device, tenant })),
    limits: { maxBatchTokens: 128, maxSequences: 32 },
  });
}

/** Bytes that are not zero in the slices that borrowers are granted, grant by grant. */
function watchGrants(server: VirtualServer): number[] {
  const remains: number[] = [];
  const { pool } = server.loop;
  const poll = pool.poll.bind(pool);
  pool.poll = (engine) => {
    const event = poll(engine);
    if (event?.type !== "LeaseGranted") return event;
    for (const slice of event.slices) {
      remains.push(server.sliceBytes(slice).reduce((sum, byte) => sum + (byte === 0 ? 0 : 1), 0));
    }
    return event;
  };
  return remains;
}

function submit(server: VirtualServer, engine: number, count: number): void {
  const prng = new Prng(engine, 9);
  for (let index = 0; index < count; index++) {
    server.engines[engine]!.submit({
      promptIds: Int32Array.from({ length: 100 }, () => prng.nextBelow(config.vocab)),
      outputTokensMax: 30,
      sampling: { temperature: 0, topP: 1, seed: 0 },
      stopIds: [],
      topLogprobs: null,
    });
  }
}

/** Each engine in turn fills its memory, is idle and lends to the next. */
async function remainsOf(tenants: readonly string[]): Promise<readonly number[]> {
  const server = await createServer(tenants);
  const remains = watchGrants(server);
  for (let round = 0; round < 2; round++) {
    tenants.forEach((_, engine) => {
      submit(server, engine, 40);
      server.runOut();
      server.runUntil(server.nowNs + 5 * SECOND);
      server.loop.check();
    });
  }
  await server.close();
  return remains;
}

it("a slice that another tenant borrows is clear", async () => {
  const remains = await remainsOf(["a", "b", "c"]);
  expect(remains.length).toBeGreaterThan(20);
  expect(Math.max(...remains)).toBe(0);
});

it("nothing is cleared for a borrower of the same tenant", async () => {
  const remains = await remainsOf(["a", "a", "a"]);
  expect(remains.length).toBeGreaterThan(20);
  expect(Math.max(...remains)).toBeGreaterThan(0);
});
