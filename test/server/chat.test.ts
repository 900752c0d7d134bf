/** Chat completions through the openai client: streams, stop strings, usage, log probabilities. */

import { afterEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer, type TestServerOptions } from "./test-server.ts";

let running: TestServer | null = null;
afterEach(async () => {
  await running?.close();
  running = null;
});

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  running = await startTestServer(options);
  return running;
}

const TEXT = "Hello, 你好 🚀 the END of it.\n\nécole 世界";
const messages = [{ role: "user" as const, content: "Hi 🚀" }];

describe("a stream", () => {
  it("put together is the whole answer", async () => {
    const { client } = await start({ models: [{ text: TEXT }] });
    const whole = await client.chat.completions.create({ model: "fake", messages, seed: 1 });
    expect(whole.choices[0]!.message.content).toBe(TEXT);
    const stream = await client.chat.completions.create({
      ...{ model: "fake", messages, seed: 1 },
      stream: true,
    });
    let text = "";
    let reason = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      reason = chunk.choices[0]?.finish_reason ?? reason;
    }
    expect([text, reason]).toEqual([TEXT, "stop"]);
  });
});
