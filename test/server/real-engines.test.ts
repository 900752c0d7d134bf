/** The server over engines in real time with little memory: borrowing, clients that go, the end. */

import OpenAI from "openai";
import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";
import { startEngines, type RunningEngines } from "../../src/cli/serve-engines.ts";
import { HttpServer, SERVER_LIMITS, serverContext } from "../../src/server/index.ts";

/** Weights take 2.5 MB of it: about one megabyte is left for KV. */
const DEVICE_BYTES = 4 * 1024 ** 2;

let engines: RunningEngines;
let server: HttpServer;
let client: OpenAI;
let drawn = 0;
const failures: string[] = [];

beforeAll(async () => {
  engines = await startEngines({
    ...{ deviceBytes: [DEVICE_BYTES, DEVICE_BYTES], modelPath: null, modelName: "m" },
    isElastic: true,
  });
  const context = serverContext({
    ...{ engines: engines.engines, apiKey: null, limits: SERVER_LIMITS, version: "0.0.0" },
    unixSeconds: () => 0,
    clockSeconds: () => performance.now() / 1000,
    drawSeed: () => ++drawn,
    drawId: () => `${++drawn}`,
    log: pino({ level: "error" }, { write: (line: string) => failures.push(line) }),
    onBug: (error) => failures.push(error.message),
  });
  server = await HttpServer.listen(context, "127.0.0.1", 0);
  const baseURL = `http://127.0.0.1:${server.port}/v1`;
  client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
});
afterAll(async () => {
  await server.close(0);
  await engines.close();
});

const loads = () => engines.engines.map(({ model }) => model.load());

it("says the same alone, beside others, and to a stream that is cut by a stop string", async () => {
  const ask = { model: "m", prompt: "Once there was", temperature: 0.8, seed: 5, max_tokens: 60 };
  const alone = (await client.completions.create(ask)).choices[0]!.text;
  const others = Array.from({ length: 6 }, (_, seed) =>
    client.completions.create({ ...ask, prompt: `The ${seed}`, seed, max_tokens: 100 }),
  );
  for (const model of ["m@gpu0", "m@gpu1"]) {
    const stream = await client.completions.create({ ...ask, model, stream: true });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? "";
    expect(text).toBe(alone);
  }
  const stop = alone.slice(9, 13);
  const cut = await client.completions.create({ ...ask, stop });
  expect(cut.choices[0]!.text).toBe(alone.slice(0, alone.indexOf(stop)));
  await Promise.all(others);
});

it("is empty again after clients that go at random", async () => {
  const chance = new Prng(11);
  const one = async (index: number): Promise<void> => {
    const pieces = chance.nextBelow(3) === 0 ? Infinity : chance.nextBelow(25);
    const ask = {
      ...{ model: "m", prompt: `${index} `.repeat(1 + chance.nextBelow(40)), seed: index },
      ...{ max_tokens: 1 + chance.nextBelow(60), n: 1 + chance.nextBelow(2) },
    };
    const stream = await client.completions.create({ ...ask, stream: true });
    let seen = 0;
    // Leaving the loop closes the connection; an abort behind the last byte hangs Node 20.
    for await (const _ of stream) if (++seen > pieces) break;
  };
  for (let batch = 0; batch < 5; batch++) {
    const ended = Array.from({ length: 12 }, (_, i) => one(batch * 12 + i));
    // An aborted stream ends early and throws nothing; whatever else is thrown is a failure.
    await Promise.all(ended);
  }
  const isEmpty = () =>
    loads().every(
      (load) =>
        load.running + load.waiting + load.kvUsedShare + load.kvLocalBytes === 0 &&
        load.kvBorrowedBytes + load.kvHostBytes === 0,
    );
  while (!isEmpty()) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(failures).toEqual([]);
});
