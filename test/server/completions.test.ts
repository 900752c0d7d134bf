/** Completions through the openai client: forms of prompts, echo, n, log probabilities, streams. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BEGIN_ID } from "./fake-tokenizer.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ models: [{ text: (prompt) => `<${prompt}> 你好 🚀 END` }] });
});
afterAll(() => server.close());

const base = { model: "fake", max_tokens: 64, seed: 1 };
type Prompt = string | string[] | number[] | number[][];

async function whole(prompt: Prompt, options: Record<string, unknown> = {}) {
  return await server.client.completions.create({ ...base, prompt, ...options, stream: false });
}

async function streamed(prompt: Prompt, options: Record<string, unknown> = {}) {
  const stream = await server.client.completions.create({
    ...{ ...base, prompt, ...options },
    stream: true,
  });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const texts: string[] = [];
  for (const { index, text } of chunks.flatMap(({ choices }) => choices)) {
    texts[index] = (texts[index] ?? "") + text;
  }
  return { chunks, texts };
}

const ids = (text: string) => [BEGIN_ID, ...server.models[0]!.tokenizer.encode(text)];

describe("a prompt", () => {
  it.each<[string, () => Prompt]>([
    ["a text", () => "a"],
    ["token ids", () => ids("a")],
  ])("of %s has one choice", async (_, prompt) => {
    const { choices, usage, object } = await whole(prompt());
    expect(choices).toEqual([
      { index: 0, text: "<a> 你好 🚀 END", logprobs: null, finish_reason: "stop" },
    ]);
    expect([usage!.prompt_tokens, object]).toEqual([2, "text_completion"]);
  });

  it.each<[string, () => Prompt]>([
    ["texts", () => ["a", "b"]],
    ["arrays of token ids", () => [ids("a"), ids("b")]],
  ])("of several %s has n choices for each, in order", async (_, prompt) => {
    const { choices, usage } = await whole(prompt(), { n: 2 });
    const texts = choices.map(({ text }) => text[1]);
    expect([texts, usage!.prompt_tokens]).toEqual([["a", "a", "b", "b"], 4]);
    expect((await streamed(prompt(), { n: 2 })).texts).toEqual(choices.map(({ text }) => text));
  });

  it("without max_tokens is answered by 16 tokens", async () => {
    const { usage } = await whole("a", { max_tokens: null, ignore_eos: true });
    expect(usage!.completion_tokens).toBe(16);
  });

  it("is echoed, in a stream as in the whole", async () => {
    const { choices } = await whole(["é🚀", "b"], { echo: true });
    expect(choices.map(({ text }) => text)).toEqual([
      "é🚀<é🚀> 你好 🚀 END",
      "b<b> 你好 🚀 END",
    ]);
    expect((await streamed(["é🚀", "b"], { echo: true })).texts).toEqual(
      choices.map(({ text }) => text),
    );
    const ofIds = await whole(ids("b"), { echo: true });
    expect(ofIds.choices[0]!.text).toBe("b<b> 你好 🚀 END");
  });

  it("is all of the answer when no tokens are wanted", async () => {
    const submitted = server.models[0]!.submitted.length;
    const { choices, usage } = await whole("abc", { echo: true, max_tokens: 0 });
    expect(choices[0]).toMatchObject({ text: "abc", finish_reason: "length" });
    expect(usage!.completion_tokens).toBe(0);
    expect((await streamed("abc", { echo: true, max_tokens: 0 })).texts).toEqual(["abc"]);
    expect(server.models[0]!.submitted).toHaveLength(submitted);
  });
});

describe("log probabilities", () => {
  it("come as columns with offsets into the text", async () => {
    const { choices } = await whole("a", { logprobs: 2 });
    const { text, logprobs } = choices[0]!;
    const { tokens, token_logprobs: values, top_logprobs: top, text_offset: at } = logprobs!;
    expect([values!.length, top!.length, at!.length]).toEqual(Array(3).fill(tokens!.length));
    tokens!.forEach((token, i) => {
      if (!token.startsWith("bytes:")) expect(text.startsWith(token, at![i])).toBe(true);
      expect(top![i]).toHaveProperty([token]);
    });
    const columns = (await streamed("a", { logprobs: 2 })).chunks
      .flatMap((chunk) => chunk.choices)
      .flatMap((choice) => choice.logprobs?.tokens ?? []);
    expect(columns).toEqual(tokens);
  });

  it("of 0 list the chosen token alone", async () => {
    const { choices } = await whole("a", { logprobs: 0 });
    expect(Object.keys(choices[0]!.logprobs!.top_logprobs![0]!)).toHaveLength(1);
  });
});

it("a stream tells its usage in a last chunk", async () => {
  const { chunks } = await streamed("a", { stream_options: { include_usage: true } });
  const last = chunks.at(-1)!;
  expect(last.choices).toEqual([]);
  expect(last.usage).toEqual((await whole("a")).usage);
});
