/** A server over fake models on a free loopback port, and the openai client that talks to it. */

import OpenAI from "openai";
import { pino } from "pino";
import { afterEach, expect } from "vitest";
import {
  HttpServer,
  SERVER_LIMITS,
  serverContext,
  type Prompter,
  type HostedEngine,
  type ServerContext,
  type ServerLimits,
} from "../../src/server/index.ts";
import { FakeModel, type FakeModelOptions } from "./fake-model.ts";
import { BEGIN_ID } from "./fake-tokenizer.ts";

export interface TestServer {
  readonly server: HttpServer;
  readonly context: ServerContext;
  readonly models: readonly FakeModel[];
  readonly url: string;
  readonly client: OpenAI;
  /** What was logged as an error. */
  readonly failures: readonly string[];
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly models?: readonly FakeModelOptions[];
  readonly limits?: Partial<ServerLimits>;
  readonly hasTemplate?: boolean;
  readonly apiKey?: string;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const models = (options.models ?? [{}]).map((model) => new FakeModel(model));
  const hasTemplate = options.hasTemplate ?? true;
  const engines = models.map((model, index) => engineOf(model, index, hasTemplate));
  const failures: string[] = [];
  let drawn = 0;
  const context = serverContext({
    engines,
    apiKey: options.apiKey ?? null,
    limits: { ...SERVER_LIMITS, ...options.limits },
    version: "0.0.0",
    clockSeconds: () => performance.now() / 1000,
    unixSeconds: () => 1_800_000_000,
    drawSeed: () => ++drawn,
    drawId: () => `test${++drawn}`,
    log: pino({ level: "error" }, { write: (line: string) => failures.push(line) }),
    onBug: (error) => failures.push(`bug: ${error.message}`),
  });
  const server = await HttpServer.listen(context, "127.0.0.1", 0);
  const url = `http://127.0.0.1:${server.port}`;
  const apiKey = options.apiKey ?? "unused";
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  return { server, context, models, url, client, failures, close: () => server.close(0) };
}

/**
 * @returns what starts the server of a test. It is closed when the test is over, and no error may
 * have been logged by then.
 */
export function serverOfEachTest(): (options: TestServerOptions) => Promise<TestServer> {
  let running: TestServer | null = null;
  afterEach(async () => {
    expect(running?.failures ?? []).toEqual([]);
    await running?.close();
    running = null;
  });
  return async (options) => (running = await startTestServer(options));
}

/** Waits for what another task brings about; fails by the test's own time limit. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

function engineOf(model: FakeModel, index: number, hasTemplate: boolean): HostedEngine {
  const { tokenizer } = model;
  const chat: Prompter = {
    promptIds: (messages) => {
      const text = messages.map(({ role, content }) => `${role}: ${content}\n`).join("");
      return Int32Array.from([BEGIN_ID, ...tokenizer.encode(`${text}assistant: `)]);
    },
  };
  return {
    engineName: `${model.name}@gpu${index}`,
    modelName: model.name,
    model,
    tokenizer,
    chat: hasTemplate ? chat : null,
    kvPlaces: ({ tokenCount }) => [{ kind: "local", device: index, bytes: tokenCount * 64 }],
  };
}
