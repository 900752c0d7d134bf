/** How generations end: clients that go, read slowly, are too many; failures; shutdown. */

import { connect, type Socket } from "node:net";
import OpenAI, { type APIError } from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer, type TestServerOptions } from "./test-server.ts";

let running: TestServer | null = null;
afterEach(async () => {
  expect(running?.failures ?? []).toEqual([]);
  await running?.close();
  running = null;
});

async function start(options: TestServerOptions): Promise<TestServer> {
  return (running = await startTestServer(options));
}

const messages = [{ role: "user" as const, content: "Hi" }];
const ask = { model: "fake", messages };

/** Waits for what another task brings about; fails by the test's own time limit. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe("a client that goes", () => {
  it.each([
    ["a stream", true],
    ["a whole answer", false],
  ])("ends the generations of %s, and KV is free a step later", async (_, stream) => {
    const { client, models, context } = await start({ models: [{ isManual: true }] });
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
    expect(await metric("vllm:request_success_total")).toContain('finished_reason="abort"} 2');
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

describe("a client that reads slowly", () => {
  /** More than the sockets of a loopback connection take in, nearly all of it before any token. */
  const PROMPT = "é🚀x".repeat(30_000);
  const CHOICES = 100;
  const models = [{ contextTokensMax: 300_000, text: "é🚀".repeat(500) }];
  const body = {
    ...{ model: "fake", prompt: PROMPT, echo: true, n: CHOICES },
    ...{ max_tokens: 800, stream: true, seed: 1 },
  };

  /** A raw socket that does not read until told. */
  function openSlowly(url: string): Socket {
    const text = JSON.stringify(body);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(
      `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Connection: close\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    return socket.pause();
  }

  it("holds up nobody, costs bounded memory, and still gets everything", async () => {
    const { url, models: served, client, context } = await start({ models });
    const socket = openSlowly(url);
    const { submitted } = served[0]!;
    await until(() => submitted.length === CHOICES);
    // The engine goes on at its own pace while nothing of the answer is read.
    await until(() => submitted.every(({ state }) => state === "finished"));
    const other = await client.completions.create({ model: "fake", prompt: "y", max_tokens: 3 });
    expect(other.usage!.completion_tokens).toBe(3);
    const { choices } = context.desk.find(context.desk.openIds()[0]!)!.choices;
    // What is to come waits as token ids: no text has been made of it.
    expect(choices.every(({ reader }) => reader.tokenCount === 0)).toBe(true);
    const texts: string[] = Array(CHOICES).fill("");
    for await (const { index, text } of eventsOf(socket)) texts[index] += text;
    expect(new Set(texts.map((text) => text.slice(0, PROMPT.length)))).toEqual(new Set([PROMPT]));
    for (const text of texts) expect("é🚀".repeat(500)).toContain(text.slice(PROMPT.length, -1));
    expect(choices.map(({ reader }) => reader.tokenCount)).toEqual(
      submitted.slice(0, CHOICES).map(({ tokenCount }) => tokenCount),
    );
  });

  it("and stops reading for good is given up", async () => {
    const { url, context, models: served } = await start({ models, limits: { stallMs: 30 } });
    const socket = openSlowly(url);
    await until(() => served[0]!.submitted.length === CHOICES);
    await until(() => context.desk.requestCount === 0);
    expect(context.desk.directory.live()).toEqual([]);
    socket.destroy();
  });

  it("does not hold up the end of the server", async () => {
    const { url, server, models: served } = await start({ models });
    const socket = openSlowly(url);
    await until(() => served[0]!.submitted.length === CHOICES);
    await server.close(0);
    socket.destroy();
  });
});

/** The choices of a streamed answer, as they come. */
async function* eventsOf(socket: Socket): AsyncGenerator<{ index: number; text: string }> {
  let rest = "";
  for await (const part of socket.setEncoding("utf8")) {
    const lines = (rest + (part as string)).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      yield* (JSON.parse(line.slice(6)) as { choices: { index: number; text: string }[] }).choices;
    }
  }
}

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

describe("a generation that fails", () => {
  it.each([
    ["larger-than-memory", 400],
    ["timeout", 503],
    ["engine-lost", 503],
  ] as const)("by %s is %i, and an event once something was sent", async (reason, status) => {
    const { client } = await start({ models: [{ failure: { reason, at: 3 } }] });
    await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ status });
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    let text = "";
    const read = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    };
    await expect(read()).rejects.toBeInstanceOf(OpenAI.APIError);
    expect("Hello, world".startsWith(text)).toBe(true);
    expect(await metric("vllm:request_success_total")).toContain('finished_reason="error"} 2');
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

async function metric(name: string): Promise<string> {
  const text = await (await fetch(`${running!.url}/metrics`)).text();
  return text
    .split("\n")
    .filter((line) => line.startsWith(name))
    .join("\n");
}
