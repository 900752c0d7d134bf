/**
 * The HTTP application: routes, checks in front of them, and where failures become answers.
 *
 * Made by the HTTP server and by tests; it listens to nothing by itself.
 *
 * Invariant: every answer with a status of 400 or more has OpenAI's form of an error, and none
 * tells where in the source it came from.
 */

import { OpenAPIHono } from "@hono/zod-openapi";
import { bodyLimit } from "hono/body-limit";
import { ApiError, shortened } from "./api-error.ts";
import { chatCompletions } from "./chat-route.ts";
import type { ServerContext } from "./server-context.ts";

/** @returns an application that answers requests through `server`. */
export function application(server: ServerContext): OpenAPIHono {
  const app = new OpenAPIHono();
  const { bodyBytesMax } = server.limits;
  app.onError((error) => errorResponse(error, server));
  app.notFound((c) => {
    const message = `There is no ${c.req.method} ${shortened(c.req.path)} here`;
    return errorResponse(new ApiError(404, "invalid_request_error", message), server);
  });
  app.use(
    bodyLimit({
      maxSize: bodyBytesMax,
      onError: () => {
        const message = `The body is larger than ${bodyBytesMax} bytes`;
        const detail = { code: "request_too_large" };
        throw new ApiError(413, "invalid_request_error", message, detail);
      },
    }),
  );
  app.post("/v1/chat/completions", (c) => chatCompletions(c, server));
  return app;
}

function errorResponse(error: unknown, server: ServerContext): Response {
  if (!(error instanceof ApiError)) {
    server.log.error({ err: error }, "a request failed");
    return errorResponse(new ApiError(500, "server_error", "The server failed to answer"), server);
  }
  const headers = new Headers({ "content-type": "application/json" });
  if (error.retryAfterSeconds !== null) headers.set("retry-after", `${error.retryAfterSeconds}`);
  return new Response(JSON.stringify(error.body()), { status: error.status, headers });
}
