/**
 * Answers to what never became a request: bytes that are no HTTP, headers without end, no host.
 *
 * Hooked in by the HTTP server. Node's parser and the adapter to fetch would answer these without a
 * body; here they have OpenAI's form of an error like everything else.
 */

import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { RequestError } from "@hono/node-server";
import { ApiError } from "./api-error.ts";

/** For `clientError`: the parser has given up, and no request can follow on the connection. */
export function answerParserError(error: NodeJS.ErrnoException, socket: Socket): void {
  // Behind the first byte of an answer another one would be part of it.
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const refusal = refusalOf(error.code, "This is not HTTP");
  const { status } = refusal;
  const text = JSON.stringify(refusal.body());
  const head =
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`;
  socket.end(head + text, () => socket.destroy());
}

/** For the adapter: the address or the host of a request is none. */
export function answerAddressError(error: unknown): Response {
  const refusal =
    error instanceof RequestError
      ? refusalOf(undefined, `${error.message} in the request`)
      : new ApiError(500, "server_error", "The server failed to answer");
  return Response.json(refusal.body(), { status: refusal.status });
}

function refusalOf(code: string | undefined, otherwise: string): ApiError {
  const refused = (status: number, message: string, name: string): ApiError =>
    new ApiError(status, "invalid_request_error", message, { code: name });
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return refused(431, "The headers are too large", "headers_too_large");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return refused(408, "The request took too long to arrive", "request_timeout");
    default:
      return refused(400, otherwise, "invalid_request");
  }
}
