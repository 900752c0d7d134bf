/**
 * From the bytes of a request to what its schema promises, or to a refusal that says what is wrong.
 *
 * Called first by every route that has a body. It knows no route; the schema is an argument.
 */

import type { z } from "@hono/zod-openapi";
import type { HonoRequest } from "hono";
import { ApiError, badRequest } from "./api-error.ts";
import { refuseLongArrays } from "./array-limits.ts";
import { refuseUnsupported } from "./refuse-unsupported.ts";
import type { ServerContext } from "./server-context.ts";

/** @throws ApiError 415, 413 or 400. */
export async function readBody<T>(
  request: HonoRequest,
  schema: z.ZodType<T>,
  server: ServerContext,
): Promise<T> {
  const mediaType = (request.header("content-type") ?? "").split(";")[0]!.trim();
  if (mediaType.toLowerCase() !== "application/json") {
    const message = "Send the body as JSON, with Content-Type: application/json";
    const detail = { code: "unsupported_media_type" };
    throw new ApiError(415, "invalid_request_error", message, detail);
  }
  const coding = request.header("content-encoding") ?? "identity";
  if (coding.toLowerCase() !== "identity") {
    const detail = { code: "unsupported_content_encoding" };
    throw new ApiError(415, "invalid_request_error", "Send the body uncompressed", detail);
  }
  const text = textOf(await readBytes(request, server.limits.bodyBytesMax));
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw badRequest("The body is not JSON", null, "invalid_json");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badRequest("The body must be a JSON object", null, "invalid_type");
  }
  refuseUnsupported(body as Record<string, unknown>);
  refuseLongArrays(body as Record<string, unknown>, server);
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw invalidValue(parsed.error);
}

/** JSON is UTF-8 (RFC 8259, section 8.1); a byte order mark in front of it is passed over. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badRequest("The body is not UTF-8", null, "invalid_json");
  }
}

/** Reads no more than is allowed, whatever the length that the client announced. */
async function readBytes(request: HonoRequest, bytesMax: number): Promise<Uint8Array> {
  const announced = request.header("content-length");
  if (announced !== undefined && Number(announced) > bytesMax) throw tooLarge(bytesMax);
  try {
    if (announced !== undefined) return new Uint8Array(await request.arrayBuffer());
    return await readChunks(request, bytesMax);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // The client has gone, or what it sent was no chunk: nothing here has failed.
    throw badRequest("The body ended early", null, "incomplete_body");
  }
}

async function readChunks(request: HonoRequest, bytesMax: number): Promise<Uint8Array> {
  const reader = request.raw.body?.getReader() ?? null;
  if (reader === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > bytesMax) {
      await reader.cancel();
      throw tooLarge(bytesMax);
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks);
}

function tooLarge(bytesMax: number): ApiError {
  const message = `The body is larger than ${bytesMax} bytes`;
  return new ApiError(413, "invalid_request_error", message, { code: "request_too_large" });
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
