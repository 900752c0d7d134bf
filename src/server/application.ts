/**
 * The HTTP application: routes, checks in front of them, and where failures become answers.
 *
 * Made by the HTTP server and by tests; it listens to nothing by itself.
 *
 * Invariant: every answer with a status of 400 or more has OpenAI's form of an error, and none
 * tells where in the source it came from.
 */

import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { requireKey, requireLoopbackName } from "./access-checks.ts";
import { ApiError, shortened, unavailable } from "./api-error.ts";
import { chatCompletions } from "./chat-route.ts";
import { completions } from "./completion-route.ts";
import { kvOfRequest, listModels, oneModel } from "./model-routes.ts";
import { describeRoutes } from "./openapi-document.ts";
import { reportFailure, type ServerContext } from "./server-context.ts";

type Handler = (c: Context, server: ServerContext) => Response | Promise<Response>;

const ROUTES: readonly (readonly ["get" | "post", string, Handler])[] = [
  ["get", "/v1/models", listModels],
  // A model's name may have slashes in it.
  ["get", "/v1/models/:id{.+}", oneModel],
  ["post", "/v1/completions", completions],
  ["post", "/v1/chat/completions", chatCompletions],
  ["get", "/v1/ema/requests/:id/kv", kvOfRequest],
  ["get", "/health", health],
  ["get", "/metrics", metrics],
];

/** @returns an application that answers requests through `server`. */
export function application(server: ServerContext): OpenAPIHono {
  const app = new OpenAPIHono();
  app.onError((error, c) => errorResponse(error, c, server));
  app.notFound((c) => {
    const message = `There is no ${c.req.method} ${shortened(c.req.path)} here`;
    const error = new ApiError(404, "invalid_request_error", message, { code: "not_found" });
    return errorResponse(error, c, server);
  });
  app.use(async (c, next) => {
    const beganAt = server.clockSeconds();
    await next();
    const ms = Math.round((server.clockSeconds() - beganAt) * 1000);
    const { method, path } = c.req;
    server.log.info({ method, path, status: c.res.status, ms }, "answered");
  });
  if (server.apiKey === null) app.use(requireLoopbackName());
  else app.use("/v1/*", requireKey(server.apiKey));
  for (const [method, path, handler] of ROUTES) app[method](path, (c) => handler(c, server));
  describeRoutes(app, server.version, server.apiKey !== null);
  refuseOtherMethods(app);
  return app;
}

/** A path that exists and a method that does not is 405 and says which one does. */
function refuseOtherMethods(app: OpenAPIHono): void {
  for (const [method, path] of [...ROUTES, ["get", "/openapi.json"] as const]) {
    app.all(path, (c) => {
      const allowed = method === "get" ? "GET, HEAD" : "POST";
      const message = `${c.req.method} is not allowed here; allowed: ${allowed}`;
      c.header("allow", allowed);
      throw new ApiError(405, "invalid_request_error", message, { code: "method_not_allowed" });
    });
  }
}

function health(c: Context, server: ServerContext): Response {
  if (server.desk.isClosing) throw unavailable("The server is shutting down", "shutting_down");
  const { engines } = server.desk.directory;
  const lost = engines.filter(({ model }) => model.isLost).map(({ engineName }) => engineName);
  if (lost.length === engines.length) throw unavailable("All engines were lost", "engine_lost");
  return c.json(lost.length === 0 ? { status: "ok" } : { status: "degraded", lost });
}

async function metrics(_c: Context, server: ServerContext): Promise<Response> {
  const headers = { "content-type": server.metrics.contentType };
  return new Response(await server.metrics.text(), { headers });
}

function errorResponse(error: unknown, c: Context, server: ServerContext): Response {
  if (!(error instanceof ApiError)) {
    reportFailure(error, server);
    const failed = new ApiError(500, "server_error", "The server failed to answer");
    return errorResponse(failed, c, server);
  }
  if (error.retryAfterSeconds !== null) c.header("retry-after", `${error.retryAfterSeconds}`);
  // What of the body was not read is still on its way; another request cannot follow it.
  if (error.status === 413) c.header("connection", "close");
  c.header("content-type", "application/json");
  return c.newResponse(JSON.stringify(error.body()), error.status as 400);
}
