/** What is refused, with which status, and as which error class of the openai client. */

import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "./test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    models: [{}, { name: "plain" }],
    limits: { bodyBytesMax: 200_000, choicesMax: 8 },
  });
});
afterAll(() => server.close());

const user = (content: unknown) => [{ role: "user", content }];

interface Refusal {
  readonly status: number;
  readonly error: { message: string; type: string; param: string | null; code: string | null };
}

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const { error } = (await response.json()) as Refusal;
  return { status: response.status, error, response };
}

/** Bytes as they are. */
async function send(body: Uint8Array | ReadableStream, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/v1/completions`, {
    ...{ method: "POST", body, headers: { "content-type": "application/json", ...headers } },
    ...({ duplex: "half" } as object),
  });
  return { ...((await response.json()) as Refusal), status: response.status };
}

const many = <T>(item: T, count: number): T[] => Array.from({ length: count }, () => item);

const later = () => new Promise((resolve) => setTimeout(resolve, 2));

const chat = (options: object) =>
  post("/v1/chat/completions", { model: "fake", messages: user("Hi"), ...options });
const completion = (options: object) =>
  post("/v1/completions", { model: "fake", prompt: "Hi", ...options });

describe("a chat request", () => {
  it.each<[string, object, string]>([
    ["no messages", { messages: undefined }, "messages"],
    ["empty messages", { messages: [] }, "messages"],
    ["2049 messages", { messages: many({ role: "user", content: "" }, 2049) }, "messages"],
    ["a role that is none", { messages: [{ role: "robot", content: "x" }] }, "messages[0].role"],
    ["no content", { messages: [{ role: "user" }] }, "messages[0].content"],
    ["content that is a number", { messages: user(3) }, "messages[0].content"],
    ["an image", { messages: user([{ type: "image_url", image_url: {} }]) }, "messages[0].content"],
    ["temperature 3", { temperature: 3 }, "temperature"],
    ["temperature as text", { temperature: "hot" }, "temperature"],
    ["top_p -1", { top_p: -1 }, "top_p"],
    ["n 0", { n: 0 }, "n"],
    ["n beyond the limit", { n: 9 }, "n"],
    ["max_tokens 0", { max_tokens: 0 }, "max_tokens"],
    ["max_tokens beyond the context", { max_tokens: 600 }, "max_completion_tokens"],
    ["a seed with a fraction", { seed: 1.5 }, "seed"],
    ["five stop strings", { stop: ["a", "b", "c", "d", "e"] }, "stop"],
    ["an empty stop string", { stop: "" }, "stop"],
    ["21 top_logprobs", { logprobs: true, top_logprobs: 21 }, "top_logprobs"],
    ["top_logprobs alone", { top_logprobs: 2 }, "top_logprobs"],
    ["tools", { tools: [{ type: "function" }] }, "tools"],
    ["a tool choice", { tool_choice: "required" }, "tool_choice"],
    ["JSON wanted", { response_format: { type: "json_object" } }, "response_format"],
    ["a penalty", { presence_penalty: 0.5 }, "presence_penalty"],
    ["a bias", { logit_bias: { 5: 1 } }, "logit_bias"],
    ["audio", { modalities: ["text", "audio"] }, "modalities"],
    ["a seed that leaves none for its choices", { seed: Number.MAX_SAFE_INTEGER, n: 2 }, "seed"],
  ])("with %s is 400 and names the parameter", async (_, options, param) => {
    const { status, error } = await chat(options);
    expect([status, error.type, error.param]).toEqual([400, "invalid_request_error", param]);
    expect(error.message).toMatch(/^[^\n]+$/);
    expect(error.code).not.toBeNull();
  });

  it("with values that ask for nothing, and with unknown keys, is answered", async () => {
    const { client } = server;
    const answer = await client.chat.completions.create({
      model: "fake",
      messages: [{ role: "user", content: "Hi", name: "me" }],
      ...{ tools: [], tool_choice: "none", response_format: { type: "text" }, logit_bias: {} },
      ...{ presence_penalty: 0, frequency_penalty: 0, stop: null, n: null, user: "me" },
      ...({ nonsense: { deep: [1] }, top_k: 5, modalities: ["text"] } as object),
    });
    expect(answer.choices).toHaveLength(1);
  });
});

describe("a completion request", () => {
  it.each<[string, object, string]>([
    ["no prompt", { prompt: undefined }, "prompt"],
    ["no prompts", { prompt: [] }, "prompt"],
    ["a prompt of mixed kinds", { prompt: ["a", 1] }, "prompt"],
    ["an id that is no token", { prompt: [999_999] }, "prompt"],
    ["a negative id", { prompt: [-1] }, "prompt[0]"],
    ["a suffix", { suffix: "x" }, "suffix"],
    ["best_of", { best_of: 2 }, "best_of"],
    ["logprobs true", { logprobs: true }, "logprobs"],
    ["an echo with logprobs", { echo: true, logprobs: 1 }, "echo"],
    ["too many choices", { prompt: ["a", "b", "c"], n: 3 }, "n"],
    ["too many prompts", { prompt: many("a", 9) }, "prompt"],
    ["more ids than any context holds", { prompt: many(7, 513) }, "prompt"],
    ["such ids as one of its prompts", { prompt: [[7], many(7, 513)] }, "prompt[1]"],
  ])("with %s is 400 and names the parameter", async (_, options, param) => {
    const { status, error } = await completion(options);
    expect([status, error.param]).toEqual([400, param]);
  });

  it.each([
    ["in tokens", "x".repeat(513), /holds 512 tokens; the request has 514 in the prompt/],
    // Not cut into tokens: 64 is the most that one can stand for.
    ["by its bytes alone", "x".repeat(150_000), /holds 512 tokens; 'prompt' has at least 2344$/],
  ])("whose prompt is too long %s is 400", async (_, prompt, expected) => {
    const { status, error } = await completion({ prompt });
    expect([status, error.code]).toEqual([400, "context_length_exceeded"]);
    expect(error.message).toMatch(expected);
  });
});

describe("a body", () => {
  it.each<[string, string, number]>([
    ["that is no JSON", "{", 400],
    ["that is empty", "", 400],
    ["that is an array", "[]", 400],
    ["that is a text", '"x"', 400],
    ["that is null", "null", 400],
    ["that is too large", JSON.stringify({ prompt: "x".repeat(300_000) }), 413],
  ])("%s is refused", async (_, body, status) => {
    const answer = await post("/v1/completions", body);
    expect([answer.status, answer.error.type]).toEqual([status, "invalid_request_error"]);
  });

  it("of another kind than JSON is 415", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", ""]) {
      const { status } = await post("/v1/completions", "{}", { "content-type": type });
      expect(status).toBe(415);
    }
    const utf8 = { "content-type": "Application/JSON; charset=utf-8" };
    expect((await post("/v1/completions", "{}", utf8)).status).toBe(400);
  });

  it("that is not UTF-8, or compressed, is refused", async () => {
    const latin = new Uint8Array([...Buffer.from('{"model":"fake","prompt":"'), 0xe9, 0x22, 0x7d]);
    expect(await send(latin)).toMatchObject({ status: 400, error: { code: "invalid_json" } });
    const zipped = await send(gzipSync("{}"), { "content-encoding": "gzip" });
    expect(zipped).toMatchObject({ status: 415, error: { code: "unsupported_content_encoding" } });
  });

  it("may begin with a byte order mark, whole or in chunks", async () => {
    const bytes = Buffer.from('\ufeff{"model":"gone","prompt":"x"}');
    expect((await send(bytes)).status).toBe(404);
    const chunks = new Blob([bytes]).stream();
    expect((await send(chunks)).status).toBe(404);
  });

  it("that nests deeper than any stack is answered, whatever key it is under", async () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    for (const key of ["modalities", "tools", "logit_bias", "response_format", "prompt", "user"]) {
      const { status } = await post("/v1/completions", `{"model":"gone","${key}":${deep}}`);
      expect([400, 404]).toContain(status);
    }
  });

  it("whose client goes before it has sent all is no failure", async () => {
    const socket = connect(server.server.port, "127.0.0.1");
    const head = "POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n";
    socket.write(`${head}content-type: application/json\r\n\r\n{"mod`);
    while (server.context.desk.requestCount === 0) await later();
    socket.destroy();
    while (server.context.desk.requestCount > 0) await later();
  });

  it("that is too large and comes in chunks is 413", async () => {
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(" ".repeat(50_000))),
    });
    const response = await fetch(`${server.url}/v1/completions`, {
      ...{ method: "POST", body, headers: { "content-type": "application/json" } },
      ...({ duplex: "half" } as object),
    }).catch(() => null);
    // The server may close before the client has sent all; the client then sees no answer.
    expect([413, undefined]).toContain(response?.status);
  });
});

describe("what is no request", () => {
  it.each([
    ["that is not HTTP", "\0\x01\r\n\r\n", 400],
    ["without a host", "GET /health HTTP/1.0\r\n\r\n", 400],
    ["with a host that is none", "GET /health HTTP/1.1\r\nhost: a b\r\n\r\n", 400],
    ["whose headers do not end", `GET /health HTTP/1.1\r\nx: ${"y".repeat(20_000)}`, 431],
  ])("%s has an answer of the same form", async (_, bytes, status) => {
    const socket = connect(server.server.port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk)).end(bytes);
    await once(socket, "close");
    const answer = Buffer.concat(chunks).toString();
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const { error } = JSON.parse(/\{.*\}/s.exec(answer)![0]) as Refusal;
    expect(error).toMatchObject({ type: "invalid_request_error", param: null });
  });
});

describe("a path", () => {
  it("that is none is 404, a method that is none 405", async () => {
    expect((await post("/v1/embeddings", {})).status).toBe(404);
    const { status, response } = await post("/v1/models", {});
    expect([status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    const got = await fetch(`${server.url}/v1/completions`);
    expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
    const odd = await fetch(`${server.url}/v1/completions/%ff%00/..;x`);
    expect(odd.status).toBe(404);
    const lines = await fetch(`${server.url}/v1/models/a%0a%1b[2Jb`);
    expect(((await lines.json()) as Refusal).error.message).not.toMatch(/\p{Cc}/u);
  });
});

describe("the openai client", () => {
  it.each([
    ["BadRequestError", { n: 0 }],
    ["NotFoundError", { model: "gone" }],
  ])("throws its %s", async (name, options) => {
    const create = server.client.chat.completions.create({
      ...{ model: "fake", messages: [{ role: "user", content: "Hi" }] },
      ...options,
    });
    await expect(create).rejects.toBeInstanceOf(OpenAI[name as "NotFoundError"]);
    await expect(create).rejects.toMatchObject({ type: "invalid_request_error" });
  });

  it("learns which models there are", async () => {
    const names = [];
    for await (const model of server.client.models.list()) names.push(model.id);
    expect(names).toEqual(["fake", "plain"]);
    expect(await server.client.models.retrieve("plain")).toMatchObject({ id: "plain" });
    expect(await server.client.models.retrieve("plain@gpu1")).toMatchObject({ id: "plain@gpu1" });
    await expect(server.client.models.retrieve("x/y")).rejects.toThrow(/served: fake, plain/);
  });
});

it("a model without a chat template refuses conversations and completes prompts", async () => {
  const other = await startTestServer({ hasTemplate: false });
  const messages = [{ role: "user" as const, content: "Hi" }];
  await expect(other.client.chat.completions.create({ model: "fake", messages })).rejects.toThrow(
    /no chat template; use \/v1\/completions/,
  );
  const { choices } = await other.client.completions.create({ model: "fake", prompt: "Hi" });
  expect(choices).toHaveLength(1);
  await other.close();
});

it("nothing of this was a failure of the server", () => {
  expect(server.failures).toEqual([]);
});
