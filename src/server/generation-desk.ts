/**
 * Where generations are handed to engines, watched, and ended when nobody wants them any more.
 *
 * One a server, used by both routes. It knows requests by the id that their answers carry, so that
 * others can ask where a request's KV lies. Routes do not submit by themselves: what is counted
 * here is what shutting down has to wait for.
 *
 * Invariant: `requestCount` is the number of requests that hold a place; a place is given back
 * exactly once, however the request ends.
 */

import { assert } from "../base/index.ts";
import type { Generation, GenerationRequest } from "../serving/index.ts";
import { badRequest, tooManyRequests, unavailable, type ApiError } from "./api-error.ts";
import { ChoiceReader, hasEnded } from "./choice-reader.ts";
import { ChoiceSet, type Choice } from "./choice-set.ts";
import type { EngineDirectory } from "./engine-directory.ts";
import type { ServerMetrics } from "./metrics.ts";
import type { HostedEngine } from "./hosted-engine.ts";

/** A request that is being answered. */
export interface OpenRequest {
  readonly engine: HostedEngine;
  readonly choices: ChoiceSet;
}

/** The server's generations. */
export class GenerationDesk {
  readonly directory: EngineDirectory;
  readonly #metrics: ServerMetrics;
  readonly #requestsMax: number;
  readonly #open = new Map<string, OpenRequest>();
  #requestCount = 0;
  #isClosing = false;

  constructor(directory: EngineDirectory, metrics: ServerMetrics, requestsMax: number) {
    this.directory = directory;
    this.#metrics = metrics;
    this.#requestsMax = requestsMax;
  }

  get requestCount(): number {
    return this.#requestCount;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** From now on every request is refused; those that run go on. */
  beginClosing(): void {
    this.#isClosing = true;
  }

  /** Ends every generation, as if all clients had gone. */
  abortAll(): void {
    for (const generation of this.directory.live()) generation.abort();
  }

  /**
   * Takes one of the places for requests.
   * @returns what gives it back; calling it again does nothing.
   * @throws ApiError 429 or 503
   */
  enter(): () => void {
    if (this.#isClosing) throw unavailable("The server is shutting down", "shutting_down");
    if (this.#requestCount >= this.#requestsMax) {
      const message = `The server answers ${this.#requestsMax} requests at a time and is full`;
      throw tooManyRequests(message, 1);
    }
    this.#requestCount++;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#requestCount--;
      assert(this.#requestCount >= 0, () => `${this.#requestCount} requests are open`);
    };
  }

  /** @throws ApiError when the engine does not take all of them; it has none of them then. */
  open(
    id: string,
    engine: HostedEngine,
    requests: readonly GenerationRequest[],
    stops: readonly string[],
  ): ChoiceSet {
    const choices: Choice[] = [];
    for (const request of requests) {
      const answer = engine.model.submit(request);
      if ("reason" in answer) {
        for (const { generation } of choices) generation.abort();
        throw rejectionError(answer.reason, answer.retryAfterSeconds);
      }
      const reader = new ChoiceReader(choices.length, engine, answer, stops);
      choices.push({ reader, generation: answer });
      void this.#watch(engine, answer, reader);
    }
    const set = new ChoiceSet(choices);
    this.#open.set(id, { engine, choices: set });
    return set;
  }

  /** The request's answer has been written, or will not be. */
  close(id: string): void {
    this.#open.get(id)?.choices.abort();
    this.#open.delete(id);
  }

  /** Ids of the requests that are being answered, oldest first. */
  openIds(): string[] {
    return [...this.#open.keys()];
  }

  /** @returns the request that `id` names while it is being answered. */
  find(id: string): OpenRequest | null {
    return this.#open.get(id) ?? null;
  }

  /** Follows a generation at the engine's pace, not at the client's. */
  async #watch(engine: HostedEngine, generation: Generation, reader: ChoiceReader): Promise<void> {
    this.directory.begin(engine, generation);
    const times = this.#metrics.begin(engine.modelName);
    let seen = 0;
    for (;;) {
      await generation.waitBeyond(seen);
      const { tokenCount } = generation;
      if (tokenCount > seen) times.tokens(tokenCount - seen);
      else if (hasEnded(generation)) break;
      seen = tokenCount;
    }
    this.directory.end(engine, generation);
    times.end(reader.hasMetStop ? "stop" : outcomeOf(generation));
  }
}

/** How a generation ended, as a metric's label. */
export type Outcome = "stop" | "length" | "abort" | "error";

function outcomeOf({ state, finishReason }: Generation): Outcome {
  if (state === "finished") return finishReason ?? "length";
  return state === "failed" ? "error" : "abort";
}

function rejectionError(reason: string, retryAfterSeconds: number): ApiError {
  switch (reason) {
    case "queue-full":
      return tooManyRequests("The engine's queue is full", Math.max(1, retryAfterSeconds));
    case "engine-lost":
      return unavailable("The engine that would serve the request was lost", "engine_lost");
    case "shutting-down":
      return unavailable("The server is shutting down", "shutting_down");
    default: {
      const message = "The request is longer than the model's context";
      return badRequest(message, null, "context_length_exceeded");
    }
  }
}
