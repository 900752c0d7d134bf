/**
 * The application behind a socket: listening, timeouts, and an orderly end.
 *
 * Made by `ema serve`, `ema chat` and tests.
 *
 *     LISTENING --close--> DRAINING --all answered, or grace over--> CLOSED
 *
 * While draining nothing new is accepted, /health says 503, and what runs may finish until the
 * grace time is over; then it is aborted like generations whose clients have gone.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { EmaError } from "../base/index.ts";
import { application } from "./application.ts";
import type { ServerContext } from "./server-context.ts";

/** Header and body must have come by then; answers may take as long as they take. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_TIMEOUT_MS = 30_000;
const CONNECTIONS_MAX = 1024;

/** A server that has begun to listen. */
export class HttpServer {
  readonly #server: Server;
  readonly #context: ServerContext;
  #closing: Promise<void> | null = null;

  private constructor(server: Server, context: ServerContext) {
    this.#server = server;
    this.#context = context;
  }

  /**
   * @param port 0: any free one
   * @throws EmaError E_LISTEN when the address cannot be had.
   */
  static async listen(context: ServerContext, host: string, port: number): Promise<HttpServer> {
    const { fetch } = application(context);
    const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
    const server = createServer(
      { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
      (incoming, outgoing) => void listener(incoming, outgoing),
    );
    server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
    server.maxConnections = CONNECTIONS_MAX;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        reject(listenError(error, host, port));
      });
      server.listen({ host, port }, resolve);
    });
    return new HttpServer(server, context);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** @param graceMs how long what runs may go on. Idempotent; resolves when all is over. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#drain(graceMs);
    return this.#closing;
  }

  async #drain(graceMs: number): Promise<void> {
    const { desk } = this.#context;
    desk.beginClosing();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const grace = setTimeout(() => desk.abortAll(), graceMs);
    await desk.whenIdle();
    clearTimeout(grace);
    // Answers lie in their sockets; a client that does not read them is not waited for.
    const flush = setTimeout(() => this.#server.closeAllConnections(), FLUSH_MS);
    this.#server.closeIdleConnections();
    await closed;
    clearTimeout(flush);
  }
}

const FLUSH_MS = 1000;

function listenError(error: NodeJS.ErrnoException, host: string, port: number): EmaError {
  const reasons: Record<string, string> = {
    EADDRINUSE: "another program listens there",
    EACCES: "no permission (ports below 1024 need one)",
    EADDRNOTAVAIL: "this machine has no such address",
    ENOTFOUND: "this name has no address",
  };
  const reason = reasons[error.code ?? ""] ?? error.message;
  return new EmaError("E_LISTEN", `cannot listen on ${host}:${port}: ${reason}`);
}
