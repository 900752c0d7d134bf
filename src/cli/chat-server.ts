/**
 * The server that `ema chat` brings along when it is not given one.
 *
 * Loaded by the chat's run when it is needed: talking to a running server needs none of it. It
 * listens on a free port of loopback, with a key that nobody else knows.
 */

import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { HttpServer } from "../server/index.ts";
import { startEngines, type EngineChoice } from "./serve-engines.ts";
import { serverContextOf } from "./serve-run.ts";

export interface ChatServer {
  readonly url: string;
  readonly apiKey: string;
  close(): Promise<void>;
}

/** @throws EmaError when the model cannot be read or served. */
export async function startChatServer(choice: EngineChoice): Promise<ChatServer> {
  const engines = await startEngines(choice);
  try {
    const apiKey = randomUUID();
    const log = pino({ level: "error" }, pino.destination(2));
    const context = serverContextOf(engines, apiKey, {}, log);
    const server = await HttpServer.listen(context, "127.0.0.1", 0);
    const close = async (): Promise<void> => {
      await server.close(0);
      await engines.close();
    };
    return { url: `http://127.0.0.1:${server.port}`, apiKey, close };
  } catch (error) {
    await engines.close();
    throw error;
  }
}
