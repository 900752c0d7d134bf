/** What operators ask: metrics, health, the OpenAPI document, where KV lies, who gets a request. */

import { afterEach, describe, expect, it } from "vitest";
import { startTestServer, until, type TestServer, type TestServerOptions } from "./test-server.ts";

let running: TestServer | null = null;
afterEach(async () => {
  await running?.close();
  running = null;
});

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  return (running = await startTestServer(options));
}

const text = async (path: string) => (await fetch(`${running!.url}${path}`)).text();

describe("metrics", () => {
  it("have vLLM's names, and what they count adds up", async () => {
    const { client } = await start();
    const { usage } = await client.completions.create({
      ...{ model: "fake", prompt: "Hi", max_tokens: 5, n: 2 },
      ...({ ignore_eos: true } as object),
    });
    const lines = (await text("/metrics")).split("\n");
    const value = (name: string, labels = "") =>
      Number(lines.find((line) => line.startsWith(`${name}{${labels}`))!.split(" ").at(-1));
    expect(value("vllm:prompt_tokens_total")).toBe(2 * usage!.prompt_tokens);
    expect(value("vllm:generation_tokens_total")).toBe(10);
    const ended = 'model_name="fake",finished_reason="length"';
    expect(value("vllm:request_success_total", ended)).toBe(2);
    expect(value("vllm:time_to_first_token_seconds_count")).toBe(2);
    expect(value("vllm:inter_token_latency_seconds_count")).toBe(8);
    expect(value("vllm:time_per_output_token_seconds_count")).toBe(8);
    expect(value("vllm:e2e_request_latency_seconds_count")).toBe(2);
    for (const gauge of ["vllm:num_requests_running", "vllm:num_requests_waiting"]) {
      expect(value(gauge)).toBe(0);
    }
    for (const name of ["vllm:kv_cache_usage_perc", "vllm:num_preemptions_total"]) value(name);
    for (const kind of ["local", "borrowed", "lent", "host"]) value(`ema_kv_${kind}_bytes`);
  });

  it("have series for what is served, whatever clients ask for", async () => {
    const { client } = await start();
    const names = () => text("/metrics").then((all) => all.replaceAll(/ [\d.e+-]+$/gm, ""));
    await client.completions.create({ model: "fake", prompt: "Hi" });
    const before = await names();
    for (let i = 0; i < 5; i++) {
      const model = `made-up-${i}`;
      await client.completions.create({ model, prompt: "Hi" }).catch(() => {});
    }
    expect(await names()).toBe(before);
    expect(before).not.toContain("made-up");
  });
});

describe("an OpenAPI document", () => {
  it("names every route, and the schemas that requests are checked with", async () => {
    await start();
    const document = JSON.parse(await text("/openapi.json")) as {
      openapi: string;
      paths: Record<string, object>;
      components: { schemas: Record<string, { required?: string[] }> };
    };
    expect(document.openapi).toBe("3.1.0");
    expect(Object.keys(document.paths)).toEqual([
      ...["/v1/models", "/v1/models/{id}", "/v1/completions", "/v1/chat/completions"],
      ...["/v1/ema/requests/{id}/kv", "/health", "/metrics"],
    ]);
    const { schemas } = document.components;
    expect(schemas["ChatCompletionRequest"]!.required).toEqual(["model", "messages"]);
    expect(schemas["CompletionRequest"]!.required).toEqual(["model", "prompt"]);
    // Every reference leads somewhere.
    for (const [, name] of JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      expect(schemas).toHaveProperty(name!);
    }
  });
});

it("health is ok while the server takes requests", async () => {
  await start();
  const response = await fetch(`${running!.url}/health`);
  expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
});

describe("engines that serve one model", () => {
  const two = [
    { name: "m", isManual: true },
    { name: "m", isManual: true },
  ];

  it("get what is asked of the model by outstanding tokens, not by requests", async () => {
    const { client, models } = await start({ models: two });
    const ask = (max_tokens: number) =>
      client.completions.create({ model: "m", prompt: "x", max_tokens });
    const counts = () => models.map(({ submitted }) => submitted.length);
    const answers = [ask(100)];
    await until(() => counts()[0] === 1);
    for (let count = 1; count <= 3; count++) {
      answers.push(ask(20));
      await until(() => counts()[1] === count);
    }
    // 100 against 60 and the three prompts: the next is still for the second engine.
    answers.push(ask(50));
    await until(() => counts()[1] === 4);
    answers.push(ask(1));
    await until(() => counts()[0] === 2);
    for (let i = 0; i < 100; i++) for (const model of models) model.step();
    await Promise.all(answers);
    expect(running!.context.desk.directory.live()).toEqual([]);
  });

  it("are addressed by their own names, and listed behind their model", async () => {
    const { client, models, url } = await start({ models: two });
    const names = (await client.models.list()).data.map(({ id }) => id);
    expect(names).toEqual(["m", "m@gpu0", "m@gpu1"]);
    const pending = fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m@gpu1", prompt: "x", max_tokens: 1 }),
    });
    await until(() => models[1]!.submitted.length === 1);
    models[1]!.step();
    const response = await pending;
    expect(response.headers.get("x-ema-engine")).toBe("m@gpu1");
    expect(await response.json()).toMatchObject({ model: "m@gpu1" });
  });
});

it("where a request's KV lies can be asked while it is answered", async () => {
  const { client, models, url } = await start({ models: [{ isManual: true }] });
  const { data: stream } = await client.completions
    .create({ model: "fake", prompt: "x", max_tokens: 2, stream: true })
    .withResponse();
  models[0]!.step();
  const chunks = stream[Symbol.asyncIterator]();
  const { value } = await chunks.next();
  const path = `${url}/v1/ema/requests/${value!.id}/kv`;
  expect(await (await fetch(path)).json()).toEqual({
    id: value!.id,
    object: "ema.kv",
    engine: "fake@gpu0",
    choices: [
      {
        index: 0,
        state: "running",
        tokens: 3,
        places: [{ kind: "local", device: 0, bytes: 64 }],
      },
    ],
  });
  models[0]!.step();
  while ((await chunks.next()).done !== true);
  await until(() => running!.context.desk.requestCount === 0);
  expect((await fetch(path)).status).toBe(404);
});
