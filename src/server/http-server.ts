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
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { EmaError } from "../base/index.ts";
import { application } from "./application.ts";
import { answerAddressError, answerParserError } from "./protocol-errors.ts";
import type { ServerContext } from "./server-context.ts";

/** Header and body must have come by then; answers may take as long as they take. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_TIMEOUT_MS = 30_000;
const CONNECTIONS_MAX = 1024;
/** What an answer that is complete may still take to leave its socket. */
const FLUSH_MS = 1000;

/** A server that has begun to listen. */
export class HttpServer {
  readonly #server: Server;
  readonly #context: ServerContext;
  readonly #sockets = new Set<Socket>();
  #closing: Promise<void> | null = null;

  private constructor(server: Server, context: ServerContext) {
    this.#server = server;
    this.#context = context;
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /**
   * @param port 0: any free one
   * @throws EmaError E_LISTEN when the address cannot be had.
   */
  static async listen(context: ServerContext, host: string, port: number): Promise<HttpServer> {
    const { fetch } = application(context);
    const listener = getRequestListener(fetch, {
      overrideGlobalObjects: false,
      errorHandler: answerAddressError,
    });
    const timeouts = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS };
    const server = createServer(timeouts, (incoming, outgoing) => {
      // A connection becomes idle behind its answer; while draining, that is its end.
      outgoing.once("close", () => {
        if (context.desk.isClosing) setImmediate(() => server.closeIdleConnections());
      });
      void listener(incoming, outgoing);
    });
    server.on("clientError", answerParserError);
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
    // Clients open connections ahead of need; Node counts those that said nothing yet as busy.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    const endAll = () => this.#server.closeAllConnections();
    let flush: NodeJS.Timeout | undefined;
    const grace = setTimeout(() => {
      desk.abortAll();
      // Answers are complete now; a client that does not read its own is not waited for.
      flush = setTimeout(endAll, FLUSH_MS);
    }, graceMs);
    await closed;
    clearTimeout(grace);
    clearTimeout(flush);
  }
}

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
