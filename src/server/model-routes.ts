/**
 * GET /v1/models and what else can be asked without generating: one model, one request's KV.
 *
 * Mounted by the application; reads the directory and the desk and changes neither.
 */

import type { Context } from "hono";
import { ApiError, shortened, unknownModel } from "./api-error.ts";
import type { ModelCard } from "./engine-directory.ts";
import type { ServerContext } from "./server-context.ts";

/** All names that can be asked for. */
export function listModels(c: Context, server: ServerContext): Response {
  const data = server.desk.directory.cards().map((card) => cardOf(card, server));
  return c.json({ object: "list", data });
}

/** @throws ApiError 404 */
export function oneModel(c: Context, server: ServerContext): Response {
  const { directory } = server.desk;
  const id = c.req.param("id") ?? "";
  const card = directory.cards().find((known) => known.id === id);
  const name = card === undefined ? directory.pick(id)?.modelName : id;
  const same = directory.cards().find((known) => known.id === name);
  if (same === undefined) throw unknownModel(id, directory.names());
  return c.json(cardOf({ ...same, id }, server));
}

/**
 * Where the KV of a request lies while it is being answered, place by place.
 * @throws ApiError 404 before and after.
 */
export function kvOfRequest(c: Context, server: ServerContext): Response {
  const id = c.req.param("id") ?? "";
  const open = server.desk.find(id);
  if (open === null) {
    const message = `No request '${shortened(id)}' is being answered`;
    throw new ApiError(404, "invalid_request_error", message, { code: "request_not_found" });
  }
  const { engine, choices } = open;
  return c.json({
    id,
    object: "ema.kv",
    engine: engine.engineName,
    choices: choices.choices.map(({ reader, generation }) => ({
      index: reader.index,
      state: generation.state,
      tokens: generation.request.promptIds.length + generation.tokenCount,
      places: engine.kvPlaces(generation),
    })),
  });
}

function cardOf({ id, contextTokensMax, parent }: ModelCard, server: ServerContext): object {
  return {
    id,
    object: "model",
    created: server.startedUnixSeconds,
    owned_by: "ema",
    // As in vLLM: how long prompt and answer may be together.
    max_model_len: contextTokensMax,
    parent,
  };
}
