/** Clients that do not read: what their answers cost, that nothing is lost, and when it ends. */

import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { serverOfEachTest, until } from "./test-server.ts";

const start = serverOfEachTest();

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
