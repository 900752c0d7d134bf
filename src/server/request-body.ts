/**
 * From the bytes of a request to what its schema promises, or to a refusal that says what is wrong.
 *
 * Called first by every route that has a body. It knows no route; the schema is an argument.
 */

import type { z } from "@hono/zod-openapi";
import type { HonoRequest } from "hono";
import { ApiError, badRequest } from "./api-error.ts";
import { refuseUnsupported } from "./refuse-unsupported.ts";

/** @throws ApiError 415 or 400. */
export async function readBody<T>(request: HonoRequest, schema: z.ZodType<T>): Promise<T> {
  const mediaType = (request.header("content-type") ?? "").split(";")[0]!.trim();
  if (mediaType.toLowerCase() !== "application/json") {
    const message = "Send the body as JSON, with Content-Type: application/json";
    const detail = { code: "unsupported_media_type" };
    throw new ApiError(415, "invalid_request_error", message, detail);
  }
  let body: unknown;
  try {
    body = JSON.parse(await request.text());
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw badRequest("The body is not JSON", null, "invalid_json");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badRequest("The body must be a JSON object", null, "invalid_type");
  }
  refuseUnsupported(body as Record<string, unknown>);
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw invalidValue(parsed.error);
}

/** The first thing that is wrong, with its place as OpenAI writes it: `messages[0].content`. */
function invalidValue(error: z.ZodError): ApiError {
  const issue = error.issues[0]!;
  const place = issue.path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "");
  const text = issue.message.replace(/^Invalid input: /, "");
  return badRequest(`Invalid '${place}': ${text}`, place, "invalid_value");
}
