/**
 * What both generating routes do around their own forms: take a place, answer whole or as a
 * stream, and end the generations when the client has gone.
 *
 * Called by the routes, which say how a request becomes choices and how choices become an answer.
 *
 * Invariant: whatever happens, the place and the generations are given back exactly once.
 */

import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { WholeChoice } from "./chat-answer.ts";
import type { ChoiceSet } from "./choice-set.ts";
import { eventStream } from "./event-stream.ts";
import type { PlacedLogprob } from "./logprob-queue.ts";
import type { HostedEngine } from "./hosted-engine.ts";
import { reportFailure, type ServerContext } from "./server-context.ts";

/** A request that engines have taken, and the forms of its answer. */
export interface Answering {
  readonly id: string;
  readonly choices: ChoiceSet;
  readonly engine: HostedEngine;
  readonly isStream: boolean;
  readonly events: () => AsyncGenerator<object>;
  readonly whole: (choices: readonly WholeChoice[]) => object;
}

/** @throws what `begin` throws, and what a generation fails with before its first byte is sent. */
export async function answerRequest(
  c: Context,
  server: ServerContext,
  begin: () => Promise<Answering>,
): Promise<Response> {
  const leave = server.desk.enter();
  let answering: Answering;
  try {
    answering = await begin();
  } catch (error) {
    leave();
    throw error;
  }
  const { id, choices, engine } = answering;
  const { signal } = c.req.raw;
  const disconnect = (): void => {
    (c.env as Partial<HttpBindings>).outgoing?.destroy();
  };
  const close = (): void => {
    signal.removeEventListener("abort", close);
    server.desk.close(id);
    leave();
  };
  signal.addEventListener("abort", close);
  if (signal.aborted) close();
  const headers = { "x-request-id": id, "x-ema-engine": engine.engineName };
  if (!answering.isStream) {
    try {
      return c.json(answering.whole(await readWhole(choices)), 200, headers);
    } finally {
      // Nobody waits for the answer; writing one would keep half a connection open.
      if (signal.aborted) disconnect();
      close();
    }
  }
  const events = answering.events();
  const report = (error: unknown): void => reportFailure(error, server);
  const body = eventStream({ events, close, disconnect, report }, server.limits.stallMs);
  return c.body(body, 200, {
    ...headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    // Reverse proxies of nginx's kind hold events back unless told.
    "x-accel-buffering": "no",
  });
}

async function readWhole(set: ChoiceSet): Promise<WholeChoice[]> {
  const texts: string[] = set.choices.map(() => "");
  const logprobs: PlacedLogprob[][] = set.choices.map(() => []);
  const reasons: ("stop" | "length")[] = set.choices.map(() => "length");
  for (;;) {
    const piece = await set.next();
    if (piece === null) break;
    texts[piece.index] += piece.text;
    logprobs[piece.index]!.push(...piece.logprobs);
    if (piece.finishReason !== null) reasons[piece.index] = piece.finishReason;
  }
  return texts.map((text, index) => {
    return { index, text, logprobs: logprobs[index]!, finishReason: reasons[index]! };
  });
}
