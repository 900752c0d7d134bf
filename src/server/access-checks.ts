/**
 * Who may ask: the key, and the name by which the server was reached.
 *
 * Middleware in front of the routes. A server that listens on loopback without a key is open to
 * every program of this machine, and a browser is one: a page can let its own name point to
 * 127.0.0.1 and would then be of the same origin as the server (DNS rebinding; CVE-2024-28224 was
 * of this kind). So without a key only loopback's own names are answered. That a page of another
 * origin cannot send JSON without asking first is the browser's rule, and nobody is told yes.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { ApiError, shortened } from "./api-error.ts";

/** Refuses what does not carry `Authorization: Bearer <key>`, in time that tells nothing of it. */
export function requireKey(apiKey: string): MiddlewareHandler {
  const expected = digest(apiKey);
  return async (c, next) => {
    const header = c.req.header("authorization") ?? "";
    const given = /^Bearer +(.+)$/i.exec(header)?.[1] ?? "";
    // Digests have one length, which is what the comparison wants of both sides.
    if (!timingSafeEqual(digest(given), expected)) {
      const message = "Send the server's key as 'Authorization: Bearer KEY'";
      throw new ApiError(401, "authentication_error", message, { code: "invalid_api_key" });
    }
    await next();
  };
}

/** Refuses requests to a host name that loopback does not have. */
export function requireLoopbackName(): MiddlewareHandler {
  return async (c, next) => {
    const name = new URL(c.req.url).hostname;
    if (!isLoopback(name)) {
      const message =
        `Without a key this server answers to loopback's names alone, not '${shortened(name)}'; ` +
        "start it with --api-key to reach it by others";
      throw new ApiError(403, "permission_error", message, { code: "unknown_host" });
    }
    await next();
  };
}

/** @param name a host name or an address, IPv6 with or without brackets */
export function isLoopback(name: string): boolean {
  const plain = name.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return plain === "localhost" || plain === "::1" || /^127(?:\.\d{1,3}){3}$/.test(plain);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
