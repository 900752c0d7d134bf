/**
 * The OpenAPI document: what the application answers, from the schemas that check it.
 *
 * Registered once by the application. Request bodies are the very schemas that routes parse with;
 * answers are described as loosely as OpenAI's clients read them.
 */

import { z, type OpenAPIHono } from "@hono/zod-openapi";
import { CHAT_REQUEST } from "./chat-schema.ts";
import { COMPLETION_REQUEST } from "./completion-schema.ts";

const ERROR = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
    }),
  })
  .openapi("Error");

const USAGE = z
  .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
  .openapi("Usage");

const FINISH = z.enum(["stop", "length"]);
const HEAD = { id: z.string(), created: z.int(), model: z.string() };

const CHAT_ANSWER = z
  .object({
    ...HEAD,
    object: z.literal("chat.completion"),
    choices: z.array(
      z.looseObject({
        index: z.int(),
        message: z.looseObject({ role: z.literal("assistant"), content: z.string() }),
        finish_reason: FINISH,
      }),
    ),
    usage: USAGE,
  })
  .openapi("ChatCompletion");

const COMPLETION_ANSWER = z
  .object({
    ...HEAD,
    object: z.literal("text_completion"),
    choices: z.array(
      z.looseObject({ index: z.int(), text: z.string(), finish_reason: FINISH.nullable() }),
    ),
    usage: USAGE,
  })
  .openapi("Completion");

const MODEL = z
  .looseObject({ id: z.string(), object: z.literal("model"), max_model_len: z.int() })
  .openapi("Model");

const KV = z
  .object({
    id: z.string(),
    object: z.literal("ema.kv"),
    engine: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        state: z.string(),
        tokens: z.int(),
        places: z.array(
          z.object({
            kind: z.enum(["local", "borrowed", "host"]),
            device: z.int().nullable(),
            bytes: z.int(),
          }),
        ),
      }),
    ),
  })
  .openapi("KvOfRequest");

const EVENTS = z.string().openapi({
  description: "Server-sent events: `data: <chunk>`, and `data: [DONE]` at the end.",
});

const text = (description: string) => ({
  description,
  content: { "text/plain": { schema: z.string() } },
});
const json = (schema: z.ZodType, description: string) => ({
  description,
  content: { "application/json": { schema } },
});
const errors = (...statuses: readonly number[]) =>
  Object.fromEntries(statuses.map((status) => [status, json(ERROR, "refused, and why")]));

/** Adds every route to the application's document, and serves it at /openapi.json. */
export function describeRoutes(app: OpenAPIHono, version: string, hasKey: boolean): void {
  const registry = app.openAPIRegistry;
  const bearer = { type: "http", scheme: "bearer" } as const;
  if (hasKey) registry.registerComponent("securitySchemes", "key", bearer);
  const id = { params: z.object({ id: z.string() }) };
  const get = (path: string, summary: string, schema: z.ZodType, request = {}, refused = {}) =>
    registry.registerPath({
      method: "get",
      path,
      summary,
      request,
      responses: { 200: json(schema, "the answer"), ...refused },
    });
  const post = (path: string, summary: string, body: z.ZodType, answer: z.ZodType) =>
    registry.registerPath({
      method: "post",
      path,
      summary,
      request: { body: { content: { "application/json": { schema: body } }, required: true } },
      responses: {
        200: {
          description: "the whole answer, or events with `stream`",
          content: {
            "application/json": { schema: answer },
            "text/event-stream": { schema: EVENTS },
          },
        },
        ...errors(400, 401, 404, 413, 415, 429, 503),
      },
    });
  const models = z.object({ object: z.literal("list"), data: z.array(MODEL) });
  get("/v1/models", "names that can be asked for", models);
  get("/v1/models/{id}", "one of them", MODEL, id, errors(404));
  post("/v1/completions", "what follows a prompt", COMPLETION_REQUEST, COMPLETION_ANSWER);
  post("/v1/chat/completions", "the next message of a conversation", CHAT_REQUEST, CHAT_ANSWER);
  const kvSummary = "where the KV of a request that is being answered lies";
  get("/v1/ema/requests/{id}/kv", kvSummary, KV, id, errors(404));
  const health = z.object({
    status: z.enum(["ok", "degraded"]),
    lost: z.array(z.string()).optional(),
  });
  get("/health", "whether the server takes requests", health, {}, errors(503));
  registry.registerPath({
    method: "get",
    path: "/metrics",
    summary: "figures for Prometheus",
    responses: { 200: text("Prometheus' text format") },
  });
  app.doc31("/openapi.json", {
    openapi: "3.1.0",
    info: { title: "EMA", version, description: "OpenAI-compatible, over elastic memory." },
    ...(hasKey ? { security: [{ key: [] }] } : {}),
  });
}
