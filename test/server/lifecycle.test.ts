/** How generations end: clients that go, are too many; failures; shutdown. */

import OpenAI, { type APIError } from "openai";
import { describe, expect, it } from "vitest";
import { AssertionFailure } from "../../src/base/index.ts";
import { serverOfEachTest, startTestServer, until } from "./test-server.ts";

const start = serverOfEachTest();

const messages = [{ role: "user" as const, content: "Hi" }];
const ask = { model: "fake", messages };

describe("a client that goes", () => {
  it.each([
    ["a stream", true],
    ["a whole answer", false],
  ])("ends the generations of %s, and KV is free a step later", async (_, stream) => {
    const { client, models, context, url } = await start({ models: [{ isManual: true }] });
    const [model] = models;
    const abort = new AbortController();
    const { signal } = abort;
    const request = client.chat.completions.create({ ...ask, n: 2, stream }, { signal });
    const read = async () => {
      const answer = await request;
      if (Symbol.asyncIterator in answer) for await (const chunk of answer) void chunk;
    };
    const settled = read().catch(() => {});
    await until(() => model!.submitted.length === 2);
    model!.step();
    model!.step();
    expect(model!.usedBlocks()).toBeGreaterThan(0);
    abort.abort();
    await until(() => model!.submitted.every(({ state }) => state === "aborted"));
    model!.step();
    expect(model!.usedBlocks()).toBe(0);
    await settled;
    await until(() => context.desk.requestCount === 0);
    expect(context.desk.directory.live()).toEqual([]);
    expect(await metric(url, "vllm:request_success_total")).toContain('finished_reason="abort"} 2');
  });

  it("while it waits in the queue ends its place there", async () => {
    const { client, models } = await start({ models: [{ isManual: true, runningMax: 1 }] });
    const [model] = models;
    const abort = new AbortController();
    const first = client.chat.completions.create({ ...ask, max_tokens: 2 });
    await until(() => model!.submitted.length === 1);
    const second = client.chat.completions.create(ask, { signal: abort.signal });
    second.catch(() => {});
    await until(() => model!.submitted.length === 2);
    model!.step();
    expect(model!.load().waiting).toBe(1);
    abort.abort();
    await until(() => model!.submitted[1]!.state === "aborted");
    model!.step();
    expect((await first).choices[0]!.finish_reason).toBe("length");
    expect(model!.load()).toMatchObject({ running: 0, waiting: 0 });
  });
});

it("a choice that meets its stop string frees its KV while others run on", async () => {
  const text = (prompt: string) => (prompt === "a" ? "Hello" : "no such word");
  const { client, models } = await start({ models: [{ isManual: true, text }] });
  const [model] = models;
  const both = client.completions.create({
    ...{ model: "fake", prompt: ["a", "b"], stop: "Hello", max_tokens: 100 },
    ...({ ignore_eos: true } as object),
  });
  await until(() => model!.submitted.length === 2);
  const [first, second] = model!.submitted;
  // The word has five letters, and no token less than one of them.
  for (let i = 0; i < 5; i++) model!.step();
  await until(() => first!.state === "aborted");
  expect(second!.state).toBe("running");
  model!.step();
  expect(model!.load().running).toBe(1);
  for (let i = 0; i < 100; i++) model!.step();
  const { choices } = await both;
  expect(choices.map((choice) => choice.finish_reason)).toEqual(["stop", "length"]);
});

describe("too many requests", () => {
  it("for the server are 429 with Retry-After, and the client's RateLimitError", async () => {
    const limits = { requestsMax: 1 };
    const { client, models } = await start({ models: [{ isManual: true }], limits });
    const first = client.chat.completions.create({ ...ask, max_tokens: 1 });
    await until(() => models[0]!.submitted.length === 1);
    const refused = client.chat.completions.create(ask);
    await expect(refused).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    const error = (await refused.catch((thrown: unknown) => thrown)) as APIError;
    expect([error.status, error.headers!.get("retry-after"), error.code]).toEqual([
      429,
      "1",
      "rate_limit_exceeded",
    ]);
    models[0]!.step();
    await first;
    const again = client.chat.completions.create({ ...ask, max_tokens: 1 });
    await until(() => models[0]!.submitted.length === 2);
    models[0]!.step();
    expect((await again).choices).toHaveLength(1);
  });

  it("for an engine are 429, and no choice of the request is left behind", async () => {
    const options = { isManual: true, runningMax: 1, waitingMax: 2 };
    const { client, models } = await start({ models: [options] });
    const refused = client.chat.completions.create({ ...ask, n: 3 });
    await expect(refused).rejects.toMatchObject({ status: 429 });
    expect(models[0]!.submitted.map(({ state }) => state)).toEqual(["aborted", "aborted"]);
    const { headers } = (await refused.catch((e: unknown) => e)) as APIError;
    expect(headers!.get("retry-after")).toBe("2");
  });

  it("are retried by the openai client by itself", async () => {
    const limits = { requestsMax: 1 };
    const { url, models } = await start({ models: [{ isManual: true }], limits });
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 3 });
    const first = client.chat.completions.create({ ...ask, max_tokens: 1 });
    await until(() => models[0]!.submitted.length === 1);
    const second = client.chat.completions.create({ ...ask, max_tokens: 1 });
    models[0]!.step();
    await first;
    await until(() => models[0]!.submitted.length === 2);
    models[0]!.step();
    expect((await second).choices).toHaveLength(1);
  });
});

it("a broken assertion is 500 without a word of it, logged, and told to the program", async () => {
  const { url, models, failures, close } = await startTestServer();
  models[0]!.submit = () => {
    throw new AssertionFailure("3 blocks and not 4");
  };
  const response = await fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "fake", prompt: "x" }),
  });
  expect([response.status, await response.json()]).toEqual([
    500,
    {
      error: {
        ...{ message: "The server failed to answer", type: "server_error" },
        ...{ param: null, code: null },
      },
    },
  ]);
  expect(failures).toHaveLength(2);
  expect(failures[0]).toContain("3 blocks and not 4");
  expect(failures[1]).toBe("bug: 3 blocks and not 4");
  await close();
});

describe("a generation that fails", () => {
  it.each([
    ["larger-than-memory", 400],
    ["timeout", 503],
    ["engine-lost", 503],
  ] as const)("by %s is %i, and an event once something was sent", async (reason, status) => {
    const { client, url } = await start({ models: [{ failure: { reason, at: 3 } }] });
    await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ status });
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    let text = "";
    const read = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    };
    await expect(read()).rejects.toBeInstanceOf(OpenAI.APIError);
    expect("Hello, world".startsWith(text)).toBe(true);
    expect(await metric(url, "vllm:request_success_total")).toContain('finished_reason="error"} 2');
  });

  it("takes its request's other choices with it", async () => {
    const failure = { reason: "engine-lost", at: 3 } as const;
    const { client, context } = await start({ models: [{ failure }] });
    await expect(client.chat.completions.create({ ...ask, n: 3 })).rejects.toThrow(/engine/);
    await until(() => context.desk.directory.live().length === 0);
  });
});

describe("shutdown", () => {
  it("refuses what is new, lets what runs finish, and then is over", async () => {
    const { client, models, server, url, context } = await start({ models: [{ isManual: true }] });
    const answer = client.chat.completions.create({ ...ask, max_tokens: 2 });
    await until(() => models[0]!.submitted.length === 1);
    models[0]!.step();
    const closed = server.close(60_000);
    expect(() => context.desk.enter()).toThrow(/shutting down/);
    await expect(fetch(`${url}/health`)).rejects.toThrow(/fetch failed/);
    models[0]!.step();
    expect((await answer).choices[0]!.finish_reason).toBe("length");
    await closed;
  });

  it("aborts what runs once the grace time is over; its client sees an error", async () => {
    const { client, models, server } = await start({ models: [{ isManual: true }] });
    const answer = client.chat.completions.create(ask);
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    await until(() => models[0]!.submitted.length === 2);
    models[0]!.step();
    const closed = server.close(20);
    await expect(answer).rejects.toMatchObject({ status: 503, code: "shutting_down" });
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow(/shutting down/);
    await closed;
    expect(models[0]!.submitted.map(({ state }) => state)).toEqual(["aborted", "aborted"]);
  });
});

async function metric(url: string, name: string): Promise<string> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text
    .split("\n")
    .filter((line) => line.startsWith(name))
    .join("\n");
}

describe("an engine that is lost", () => {
  it("is asked for nothing while others serve its model, and by name says so", async () => {
    const { client, models, url } = await start({ models: [{}, {}] });
    models[0]!.isLost = true;
    for (let count = 0; count < 3; count++) await client.chat.completions.create(ask);
    expect(models.map(({ submitted }) => submitted.length)).toEqual([0, 3]);
    const named = client.chat.completions.create({ ...ask, model: "fake@gpu0" });
    await expect(named).rejects.toMatchObject({ status: 503, code: "engine_lost" });
    const health = await fetch(`${url}/health`);
    expect(health.status).toBe(200);
    expect(await health.json()).toEqual({ status: "degraded", lost: ["fake@gpu0"] });
  });

  it("makes the server unhealthy when it was the last", async () => {
    const { client, models, url } = await start({ models: [{}] });
    models[0]!.isLost = true;
    const asked = client.chat.completions.create(ask);
    await expect(asked).rejects.toMatchObject({ status: 503, code: "engine_lost" });
    expect((await fetch(`${url}/health`)).status).toBe(503);
  });
});
