/** Chat completions through the openai client: streams, stop strings, usage, log probabilities. */

import fc from "fast-check";
import type { ChatCompletionChunk } from "openai/resources/chat";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "./test-server.ts";

const TEXT = "Hello, 你好 🚀 the END of it.\n\nécole 世界";
const LONG = "\u{FEFF}é🚀".repeat(60);
const base = { model: "fake", messages: [{ role: "user" as const, content: "Hi 🚀" }] };

let server: TestServer;
beforeAll(async () => {
  const text = (prompt: string) => (prompt.includes("at length") ? LONG : TEXT);
  server = await startTestServer({ models: [{ text }] });
});
afterAll(() => server.close());

type Options = Record<string, unknown>;

async function whole(options: Options = {}) {
  return await server.client.chat.completions.create({ ...base, ...options, stream: false });
}

async function chunksOf(options: Options = {}): Promise<ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = [];
  const stream = await server.client.chat.completions.create({ ...base, ...options, stream: true });
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks: readonly ChatCompletionChunk[], index = 0) =>
  chunks
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ delta }) => delta.content ?? "")
    .join("");

const reasonOf = (chunks: readonly ChatCompletionChunk[]) =>
  chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).filter(Boolean);

describe("a whole answer", () => {
  it("has OpenAI's form", async () => {
    const { choices, usage, ...rest } = await whole({ seed: 1 });
    expect(rest).toMatchObject({ object: "chat.completion", model: "fake" });
    expect(rest.id).toMatch(/^chatcmpl-/);
    expect(choices).toEqual([
      {
        index: 0,
        message: { role: "assistant", content: TEXT, refusal: null },
        logprobs: null,
        finish_reason: "stop",
      },
    ]);
    expect(usage!.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens);
    // The template's text and one token that begins it.
    expect(usage!.prompt_tokens).toBeGreaterThan(10);
  });

  it("ends at max_tokens, under either name", async () => {
    for (const key of ["max_tokens", "max_completion_tokens"]) {
      const { choices, usage } = await whole({ [key]: 3 });
      expect(choices[0]!.finish_reason).toBe("length");
      expect(usage!.completion_tokens).toBe(3);
    }
  });

  it("takes content in parts, and a developer's message as the system's", async () => {
    const told = (messages: unknown[]) =>
      whole({ messages }).then(({ usage }) => usage!.prompt_tokens);
    const parts = [
      { type: "text", text: "Hi " },
      { type: "text", text: "🚀" },
    ];
    expect(await told([{ role: "user", content: parts }])).toEqual(await told(base.messages));
    expect(await told([{ role: "developer", content: "x" }])).toEqual(
      await told([{ role: "system", content: "x" }]),
    );
  });

  it("has n choices that differ by seed and can be repeated one by one", async () => {
    const options = { seed: 7, max_tokens: 20, logprobs: true };
    const { choices, usage } = await whole({ ...options, n: 3 });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(usage!.completion_tokens).toBe(60);
    const tokens = choices.map(({ logprobs }) => JSON.stringify(logprobs));
    expect(new Set(tokens).size).toBe(3);
    const third = await whole({ ...options, seed: 9 });
    expect(JSON.stringify(third.choices[0]!.logprobs)).toBe(tokens[2]);
  });

  it("of temperature 0, or of top_p 0, draws nothing", async () => {
    const greedy = await whole({ temperature: 0, max_tokens: 4, logprobs: true });
    for (const seed of [1, 2, 3]) {
      const again = await whole({ top_p: 0, seed, max_tokens: 4, logprobs: true });
      expect(again.choices).toEqual(greedy.choices);
    }
  });
});

describe("a stream", () => {
  it("put together is the whole answer, whatever tokens cut its characters", async () => {
    const isLong = fc.boolean();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 1e6 }), isLong, async (seed, long) => {
        const content = long ? "at length" : "in short";
        const options = { seed, messages: [{ role: "user", content }] };
        const chunks = await chunksOf(options);
        const { choices } = await whole(options);
        expect(textOf(chunks)).toBe(choices[0]!.message.content);
        if (!long) expect(textOf(chunks)).toBe(TEXT);
        expect(reasonOf(chunks)).toEqual([choices[0]!.finish_reason]);
      }),
      { numRuns: 25 },
    );
  });

  it("opens with the role, and tells its finish reason last", async () => {
    const chunks = await chunksOf({ seed: 1 });
    expect(chunks[0]!.choices[0]!.delta).toEqual({ role: "assistant", content: "" });
    expect(chunks.at(-1)!.choices[0]).toMatchObject({ delta: {}, finish_reason: "stop" });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.every((chunk) => !("usage" in chunk))).toBe(true);
  });

  it("asked for it tells its usage in a last chunk without choices", async () => {
    const options = { seed: 1, stream_options: { include_usage: true } };
    const chunks = await chunksOf(options);
    const last = chunks.at(-1)!;
    expect(last.choices).toEqual([]);
    expect(last.usage).toEqual((await whole({ seed: 1 })).usage);
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  });

  it("carries n choices side by side", async () => {
    const options = { n: 4, seed: 3, max_tokens: 9 };
    const [chunks, { choices }] = [await chunksOf(options), await whole(options)];
    for (const { index, message } of choices) expect(textOf(chunks, index)).toBe(message.content);
    expect(reasonOf(chunks)).toHaveLength(4);
  });
});

/** Character by character: the text before the stop string that is complete first. */
function cutAtFirst(text: string, stops: readonly string[]): string {
  for (let length = 1; length <= text.length; length++) {
    const ends = stops.filter((stop) => text.slice(0, length).endsWith(stop));
    if (ends.length > 0) return text.slice(0, length - Math.max(...ends.map((s) => s.length)));
  }
  return text;
}

describe("a stop string", () => {
  /** Any part of the text, and beginnings of it that go on otherwise. */
  const characters = [...TEXT];
  const stop = fc
    .tuple(fc.nat(characters.length - 1), fc.integer({ min: 1, max: 6 }), fc.boolean())
    .map(([from, length, isWrong]) => {
      return characters.slice(from, from + length).join("") + (isWrong ? "?" : "");
    });

  const stops = fc.array(stop, { minLength: 1, maxLength: 4 });

  it("cuts the answer before it, streamed and whole, wherever tokens split it", async () => {
    await fc.assert(
      fc.asyncProperty(stops, fc.nat(1000), async (all, seed) => {
        const options = { stop: all, seed };
        const expected = cutAtFirst(TEXT, all);
        const chunks = await chunksOf(options);
        expect(textOf(chunks)).toBe(expected);
        expect(reasonOf(chunks)).toEqual(["stop"]);
        const { choices } = await whole(options);
        expect(choices[0]).toMatchObject({ message: { content: expected }, finish_reason: "stop" });
      }),
      { numRuns: 40 },
    );
  });

  it("may be a single text, and ends the generation behind it", async () => {
    const { choices, usage } = await whole({ stop: "你", seed: 4 });
    expect(choices[0]!.message.content).toBe("Hello, ");
    const submitted = server.models[0]!.submitted.at(-1)!;
    expect(usage!.completion_tokens).toBeLessThan(TEXT.length);
    expect(submitted.state).toBe("aborted");
  });
});

describe("log probabilities", () => {
  it("cover the text, token by token, in a stream as in the whole", async () => {
    const options = { logprobs: true, top_logprobs: 3, seed: 5 };
    const { choices } = await whole(options);
    const tokens = choices[0]!.logprobs!.content!;
    const bytes = Uint8Array.from(tokens.flatMap((token) => token.bytes!));
    expect(new TextDecoder().decode(bytes)).toBe(TEXT);
    expect(tokens.every(({ top_logprobs: top }) => top.length === 3)).toBe(true);
    expect(tokens[0]!.top_logprobs[0]!.token).toBe(tokens[0]!.token);
    const streamed = (await chunksOf(options)).flatMap(
      (chunk) => chunk.choices[0]?.logprobs?.content ?? [],
    );
    expect(streamed).toEqual(tokens);
  });

  it("end where a stop string begins", async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const { choices } = await whole({ logprobs: true, stop: "你好", seed });
      const tokens = choices[0]!.logprobs!.content!;
      expect(tokens.map(({ token }) => token).join("")).toBe("Hello, ");
    }
  });

  it("name a token within a character by its bytes", async () => {
    const { choices } = await whole({ logprobs: true, seed: 2 });
    const names = choices[0]!.logprobs!.content!.map(({ token }) => token);
    expect(names.some((name) => /^bytes:(?:\\x[0-9a-f]{2})+$/.test(name))).toBe(true);
  });
});

describe("ends of text", () => {
  it("of vLLM's kind: ignore_eos goes on, stop_token_ids end", async () => {
    const on = await whole({ ignore_eos: true, max_tokens: 80, seed: 1 });
    expect(on.usage!.completion_tokens).toBe(80);
    expect(on.choices[0]!.message.content!.startsWith(`${TEXT}...`)).toBe(true);
    const id = ".".charCodeAt(0);
    const ended = await whole({ stop_token_ids: [id], seed: 1 });
    expect(ended.choices[0]!.message.content).toBe(TEXT.slice(0, TEXT.indexOf(".")));
  });
});
