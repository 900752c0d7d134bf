/** A server over fake models on a free loopback port, and the openai client that talks to it. */

import OpenAI from "openai";
import { pino } from "pino";
import {
  EngineDirectory,
  GenerationDesk,
  HttpServer,
  SERVER_LIMITS,
  ServerMetrics,
  type ChatTemplate,
  type ServedEngine,
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
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly models?: readonly FakeModelOptions[];
  readonly limits?: Partial<ServerLimits>;
  readonly hasTemplate?: boolean;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const models = (options.models ?? [{}]).map((model) => new FakeModel(model));
  const engines = models.map((model, index) => engineOf(model, index, options.hasTemplate ?? true));
  const directory = new EngineDirectory(engines);
  const metrics = new ServerMetrics(directory, () => performance.now() / 1000);
  const limits = { ...SERVER_LIMITS, ...options.limits };
  let drawn = 0;
  const context: ServerContext = {
    desk: new GenerationDesk(directory, metrics, limits.requestsMax),
    limits,
    unixSeconds: () => 1_800_000_000,
    drawSeed: () => ++drawn,
    drawId: () => `test${++drawn}`,
    log: pino({ level: "silent" }),
  };
  const server = await HttpServer.listen(context, "127.0.0.1", 0);
  const url = `http://127.0.0.1:${server.port}`;
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "unused", maxRetries: 0 });
  return { server, context, models, url, client, close: () => server.close(0) };
}

function engineOf(model: FakeModel, index: number, hasTemplate: boolean): ServedEngine {
  const { tokenizer } = model;
  const chat: ChatTemplate = {
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
