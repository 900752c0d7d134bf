/** Conversations with a server over a fake model, on a screen that notes what it is shown. */

import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { ChatClient } from "../../src/cli/chat-client.ts";
import { ChatPipe } from "../../src/cli/chat-pipe.ts";
import { ChatSession, type AnswerSummary, type ChatScreen } from "../../src/cli/chat-session.ts";
import { createPaint } from "../../src/report/index.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../server/test-server.ts";

let running: TestServer | null = null;
afterEach(async () => {
  await running?.close();
  running = null;
});

interface Seen {
  readonly answers: string[];
  readonly notes: string[];
  readonly failures: string[];
  readonly summaries: AnswerSummary[];
  readonly kv: number[];
}

/**
 * Says `lines` one after the other to a model that repeats the last of them.
 * @param during called when an answer begins; null: answers may fill the context
 */
async function converse(
  lines: readonly string[],
  options: TestServerOptions = {},
  during: ((interrupt: () => void, seen: Seen) => void) | null = () => {},
): Promise<Seen> {
  const text = (prompt: string) => `you said ${/user: ([^\n]*)\nassistant: $/.exec(prompt)?.[1]}`;
  running = await startTestServer({ models: [{ text }], ...options });
  const seen: Seen = { answers: [], notes: [], failures: [], summaries: [], kv: [] };
  const rest = [...lines];
  const screen: ChatScreen = {
    ask: () => Promise.resolve(rest.shift() ?? null),
    beginAnswer: (interrupt) => {
      seen.answers.push("");
      during?.(interrupt, seen);
    },
    write: (piece) => (seen.answers[seen.answers.length - 1] += piece),
    showKv: (report) => seen.kv.push(report!.tokens),
    endAnswer: (summary) => seen.summaries.push(summary),
    note: (note) => seen.notes.push(note),
    fail: (failure) => seen.failures.push(failure),
  };
  const clock = { seconds: () => 0, every: () => () => {} };
  const outputTokensMax = during === null ? null : 60;
  const wanted = { model: "fake", temperature: 0.7, outputTokensMax, seed: 1 };
  const client = new ChatClient(`${running.url}/v1/`, null);
  await new ChatSession(client, screen, clock, wanted, null).run();
  return seen;
}

const promptTokens = () => running!.models[0]!.submitted.map((g) => g.request.promptIds.length);

describe("a conversation", () => {
  it("answers line by line, and remembers what was said", async () => {
    const { answers, summaries } = await converse(["one 🚀", "  two  ", "", "/quit", "three"]);
    expect(answers).toEqual(["you said one 🚀", "you said two"]);
    const [first, second] = promptTokens();
    expect(second).toBeGreaterThan(first! + "you said one".length);
    expect(summaries[0]).toMatchObject({ isInterrupted: false, isCut: false });
    expect(summaries[0]!.tokens).toBeGreaterThan(5);
  });

  it("is forgotten by /reset, and other commands are told from words", async () => {
    const { answers, notes } = await converse(["one", "/reset", "one", "/help", "/nonsense"]);
    expect(answers).toHaveLength(2);
    const [first, second] = promptTokens();
    expect(second).toBe(first);
    expect(notes[0]).toBe("forgotten");
    expect(notes[1]).toContain("/reset");
    expect(notes[2]).toBe("/nonsense is no command; /help lists them");
  });

  it("forgets its oldest messages when not all of them fit", async () => {
    const lines = Array.from({ length: 8 }, (_, i) => `line ${i} ${"x".repeat(30)}`);
    const models = [{ contextTokensMax: 250, text: "yes" }];
    const { answers, notes, failures } = await converse(lines, { models });
    expect([answers, failures]).toEqual([Array(8).fill("yes"), []]);
    expect(notes.at(-1)).toMatch(/oldest messages did not fit and were forgotten/);
  });

  it("makes room for more than a few tokens once an answer has filled the context", async () => {
    const models = [{ contextTokensMax: 200, text: "Hello, world the END".repeat(50) }];
    const { answers, summaries, notes } = await converse(["one", "two"], { models }, null);
    expect(summaries[0]!.isCut).toBe(true);
    expect(notes).toEqual(["the 2 oldest messages did not fit and were forgotten"]);
    expect(answers[1]!.length).toBeGreaterThan(answers[0]!.length / 2);
  });

  it("keeps an answer that outgrew the engine's memory, and makes room for the next", async () => {
    const failure = { reason: "larger-than-memory", at: 6 } as const;
    const models = [{ text: "long and longer and longer", failure }];
    const seen = await converse(["one", "two"], { models });
    expect(seen.failures).toEqual([]);
    expect(seen.answers).toEqual([seen.answers[0], seen.answers[0]]);
    expect(seen.summaries.map(({ isCut }) => isCut)).toEqual([true, true]);
    expect(seen.notes).toEqual(["the 2 oldest messages did not fit and were forgotten"]);
    expect(promptTokens()[1]).toBe(promptTokens()[0]);
  });

  it("goes on after a message that fits in no way", async () => {
    const { answers, failures } = await converse(["x".repeat(600), "short"]);
    expect(failures[0]).toMatch(/context holds 512 tokens/);
    expect(answers).toEqual(["you said short"]);
  });

  it("keeps what an interrupted answer said, and the engine stops making more", async () => {
    const models = [{ isManual: true, text: "long and longer and longer" }];
    const { answers, summaries } = await converse(["go"], { models }, (interrupt) => {
      const [model] = running!.models;
      for (let i = 0; i < 4; i++) model!.step();
      setTimeout(interrupt, 20);
    });
    expect("long and longer and longer".startsWith(answers[0]!)).toBe(true);
    expect(summaries[0]!.isInterrupted).toBe(true);
    const [generation] = running!.models[0]!.submitted;
    while (generation!.state !== "aborted") await new Promise((resolve) => setTimeout(resolve, 2));
  });

  it("says what a server says that refuses, and goes on", async () => {
    const { failures } = await converse(["one", "two"], { hasTemplate: false });
    expect(failures).toHaveLength(2);
    expect(failures[0]).toMatch(/no chat template/);
  });

  it("sees where its KV lies", async () => {
    const models = [{ isManual: true, text: "Hello" }];
    const { kv, summaries } = await converse(["go"], { models }, (_, seen) => {
      const [model] = running!.models;
      model!.step();
      // The answer goes on when the first report has come, however long that takes.
      const timer = setInterval(() => {
        if (seen.kv.length === 0) return;
        model!.step();
        if (model!.submitted[0]!.state === "finished") clearInterval(timer);
      }, 10);
    });
    expect(kv.length).toBeGreaterThan(0);
    expect(summaries[0]!.kv).toMatchObject({ engine: "fake@gpu0" });
  });
});

it("an answer that is interrupted when all of it has come ends", async () => {
  running = await startTestServer();
  const client = new ChatClient(running.url, null);
  const wanted = { model: "fake", temperature: 0, outputTokensMax: null, seed: null };
  for (let pieces = 1; pieces <= 8; pieces++) {
    const abort = new AbortController();
    const answer = client.answer([{ role: "user", content: "x" }], wanted, abort.signal);
    for (let i = 0; i < pieces; i++) await answer.next();
    while (running.context.desk.requestCount > 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    abort.abort();
    const rest = async () => {
      for await (const _ of answer);
    };
    await rest().catch((error: unknown) => expect(error).toMatchObject({ name: "AbortError" }));
  }
});

it("a server that is not there, or wants a key, is said in one line", async () => {
  const nobody = new ChatClient("http://127.0.0.1:1", null);
  await expect(nobody.models()).rejects.toMatchObject({ code: "E_CONNECT" });
  running = await startTestServer({ apiKey: "k" });
  await expect(new ChatClient(running.url, "x").models()).rejects.toThrow(/Send the server's key/);
  expect(await new ChatClient(running.url, "k").models()).toEqual(["fake"]);
});

it("a pipe has answers on stdout, one a line, and everything else on stderr", async () => {
  running = await startTestServer({ models: [{ text: "Hi 🚀" }] });
  const [input, output, messages] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const screen = new ChatPipe(input, output, messages, createPaint(false));
  const clock = { seconds: () => 0, every: () => () => {} };
  const wanted = { model: "fake", temperature: 0, outputTokensMax: null, seed: null };
  input.end("one\n/nonsense\ntwo");
  await new ChatSession(new ChatClient(running.url, null), screen, clock, wanted, null).run();
  expect(output.read().toString()).toBe("Hi 🚀\nHi 🚀\n");
  expect(messages.read().toString()).toContain("/nonsense is no command");
  expect([screen.hasFailed, screen.interrupt()]).toEqual([false, false]);
});
