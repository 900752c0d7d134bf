/** Any body gets an answer of OpenAI's form or an error of OpenAI's form, and never a 500. */

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startTestServer, type TestServer } from "./test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ limits: { choicesMax: 16 } });
});
afterAll(() => server.close());

const ERROR = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1).regex(/^[^\n]*$/),
    type: z.literal(["invalid_request_error", "rate_limit_error"]),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});
const USAGE = z.strictObject({
  prompt_tokens: z.int().min(1),
  completion_tokens: z.int().min(0),
  total_tokens: z.int().min(1),
});
const HEAD = { id: z.string(), created: z.int(), model: z.string(), system_fingerprint: z.null() };
const REASON = z.literal(["stop", "length"]);
const TOKEN = { token: z.string(), logprob: z.number(), bytes: z.array(z.int()) };
const CHAT_LOGPROBS = z.strictObject({
  content: z.array(z.strictObject({ ...TOKEN, top_logprobs: z.array(z.strictObject(TOKEN)) })),
  refusal: z.null(),
});
const CHAT = z.strictObject({
  ...HEAD,
  object: z.literal("chat.completion"),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      message: z.strictObject({
        role: z.literal("assistant"),
        content: z.string(),
        refusal: z.null(),
      }),
      logprobs: CHAT_LOGPROBS.nullable(),
      finish_reason: REASON,
    }),
  ),
  usage: USAGE,
});
const COMPLETION = z.strictObject({
  ...HEAD,
  object: z.literal("text_completion"),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      text: z.string(),
      logprobs: z
        .strictObject({
          tokens: z.array(z.string()),
          token_logprobs: z.array(z.number()),
          top_logprobs: z.array(z.record(z.string(), z.number())),
          text_offset: z.array(z.int()),
        })
        .nullable(),
      finish_reason: REASON,
    }),
  ),
  usage: USAGE,
});

const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(null));
const text = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 20 }),
  fc.constant("你好 🚀\ud800"),
);
const content = fc.oneof(text, fc.array(fc.record({ type: fc.constant("text"), text })));
const message = fc.record({
  role: fc.constantFrom("system", "user", "assistant", "developer"),
  content,
});
const sampling = {
  temperature: fc.double({ min: 0, max: 2, noNaN: true }),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }),
  seed: fc.integer(),
  n: fc.integer({ min: 1, max: 3 }),
  stop: fc.oneof(text, fc.array(text, { maxLength: 4 })),
  stream: fc.boolean(),
  stream_options: fc.record({ include_usage: fc.boolean() }),
  ignore_eos: fc.boolean(),
  stop_token_ids: fc.array(fc.nat(300), { maxLength: 3 }),
};
const chat = fc.record(
  {
    ...sampling,
    model: fc.constant("fake"),
    messages: fc.array(message, { minLength: 1, maxLength: 3 }),
    max_tokens: fc.integer({ min: 1, max: 40 }),
    max_completion_tokens: fc.integer({ min: 1, max: 40 }),
    logprobs: fc.constant(true),
    top_logprobs: fc.integer({ min: 0, max: 20 }),
  },
  { requiredKeys: ["model", "messages", "logprobs"] },
);
const ids = fc.array(fc.nat(250), { minLength: 1, maxLength: 5 });
const completion = fc.record(
  {
    ...sampling,
    model: fc.constant("fake"),
    prompt: fc.oneof(
      ...[text, ids, fc.array(text, { minLength: 1, maxLength: 3 })],
      fc.array(ids, { minLength: 1, maxLength: 3 }),
    ),
    max_tokens: fc.integer({ min: 0, max: 40 }),
    echo: fc.boolean(),
    logprobs: fc.integer({ min: 0, max: 20 }),
  },
  { requiredKeys: ["model", "prompt"] },
);

const REFUSED = ["tools", "response_format", "logit_bias", "suffix", "best_of", "__proto__"];

/** A body that is right, and every third time one with something else for one or two options. */
function withFaults<T extends object>(right: fc.Arbitrary<T>, keys: readonly string[]) {
  const key = fc.constantFrom(...keys, ...Object.keys(sampling), ...REFUSED, "model");
  const changes = fc.array(fc.tuple(key, odd), { minLength: 1, maxLength: 2 });
  const wrong = fc.option(changes, { freq: 2 });
  return fc.tuple(right, wrong).map(([options, changed]) => {
    const entries = [...Object.entries(options), ...(changed ?? [])].map((e) => e.map(toJson));
    // Written by hand: an object of ours could not have a key like __proto__ twice.
    return `{${entries.map(([name, value]) => `${name}:${value}`).join(",")}}`;
  });
}

function toJson(value: unknown): string {
  return JSON.stringify(value);
}

const chatBody = withFaults(chat, ["messages", "max_tokens", "logprobs", "top_logprobs"]);
const completionBody = withFaults(completion, ["prompt", "max_tokens", "echo", "logprobs"]);

const statuses = new Map<string, number>();

async function check(path: string, body: string, answer: z.ZodType): Promise<void> {
  const response = await fetch(`${server.url}${path}`, {
    ...{ method: "POST", body },
    headers: { "content-type": "application/json" },
  });
  const said = await response.text();
  const key = `${path} ${response.status}`;
  statuses.set(key, (statuses.get(key) ?? 0) + 1);
  expect([200, 400, 404]).toContain(response.status);
  if (response.status !== 200) ERROR.parse(JSON.parse(said));
  else if (!response.headers.get("content-type")!.startsWith("text/event-stream")) {
    answer.parse(JSON.parse(said));
  } else {
    expect(said.endsWith("data: [DONE]\n\n")).toBe(true);
    const events = said.split("\n\n").filter((line) => line.startsWith("data: {"));
    for (const event of events) expect(JSON.parse(event.slice(6))).toHaveProperty("choices");
  }
  expect(server.failures).toEqual([]);
}

describe("any body", () => {
  it.each<[string, fc.Arbitrary<string>, z.ZodType]>([
    ["/v1/chat/completions", chatBody, CHAT],
    ["/v1/completions", completionBody, COMPLETION],
  ])("to %s is answered in form, whatever its options", async (path, bodies, answer) => {
    await fc.assert(
      fc.asyncProperty(bodies, (drawn) => check(path, drawn, answer)),
      { numRuns: 200 },
    );
    // Both kinds of answers occurred, or the property says nothing.
    expect(statuses.get(`${path} 200`)).toBeGreaterThan(20);
    expect(statuses.get(`${path} 400`)).toBeGreaterThan(20);
  });

  it("that is any JSON, or none, is answered in form", async () => {
    const bodies = fc.oneof(fc.json(), fc.string(), fc.constant(`${"[".repeat(50_000)}`));
    await fc.assert(
      fc.asyncProperty(bodies, (body) => check("/v1/completions", body, COMPLETION)),
      { numRuns: 100 },
    );
  });

  it("leaves nothing behind", () => {
    expect(server.context.desk.requestCount).toBe(0);
    expect(server.context.desk.directory.live()).toEqual([]);
  });
});
