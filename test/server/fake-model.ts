/**
 * A served model without an engine: it says a given text, cut into tokens at random by its seed.
 *
 * A step gives each running generation one token. Steps follow one another by themselves, or come
 * when the test calls `step`. KV is counted in blocks, so that a test sees when it is free.
 */

import { Prng } from "../../src/base/index.ts";
import type {
  Generation,
  GenerationRequest,
  GenerationState,
  Rejection,
  ServedModel,
  ServedModelLoad,
  TokenLogprob,
} from "../../src/serving/index.ts";
import { END_ID, FakeTokenizer } from "./fake-tokenizer.ts";

const BLOCK_TOKENS = 16;

export interface FakeModelOptions {
  readonly name?: string;
  readonly contextTokensMax?: number;
  /** What it says to a prompt; it ends there, or at the limit of output tokens. */
  readonly text?: string | ((prompt: string) => string);
  /** Steps come only when the test calls `step`. */
  readonly isManual?: boolean;
  readonly runningMax?: number;
  readonly waitingMax?: number;
  /** Generations fail once they have so many tokens. */
  readonly failure?: { readonly reason: NonNullable<Generation["failure"]>; readonly at: number };
}

class FakeGeneration implements Generation {
  readonly request: GenerationRequest;
  readonly script: Int32Array;
  state: GenerationState = "waiting";
  finishReason: Generation["finishReason"] = null;
  failure: Generation["failure"] = null;
  tokenCount = 0;
  #wakers: (() => void)[] = [];

  constructor(request: GenerationRequest, script: Int32Array) {
    this.request = request;
    this.script = script;
  }

  tokenAt(index: number): number {
    if (index < 0 || index >= this.tokenCount) throw new Error(`no token ${index}`);
    return this.script[index]!;
  }

  logprobAt(index: number): TokenLogprob | null {
    const { topLogprobs } = this.request;
    if (topLogprobs === null) return null;
    const id = this.tokenAt(index);
    const top = Array.from({ length: topLogprobs }, (_, rank) => ({
      id: rank === 0 ? id : (id + rank) % 256,
      logprob: -0.5 - rank,
    }));
    return { id, logprob: -0.5, top };
  }

  async waitBeyond(count: number): Promise<void> {
    while (this.tokenCount <= count && (this.state === "waiting" || this.state === "running")) {
      await new Promise<void>((resolve) => this.#wakers.push(resolve));
    }
  }

  abort(): void {
    if (this.state === "waiting" || this.state === "running") this.state = "aborted";
    this.wake();
  }

  wake(): void {
    for (const waker of this.#wakers.splice(0)) waker();
  }
}

export class FakeModel implements ServedModel {
  readonly name: string;
  readonly contextTokensMax: number;
  isLost = false;
  readonly tokenizer = new FakeTokenizer();
  readonly submitted: Generation[] = [];
  readonly #options: FakeModelOptions;
  #live: FakeGeneration[] = [];
  #promptTokens = 0;
  #generatedTokens = 0;
  #isStepping = false;

  constructor(options: FakeModelOptions = {}) {
    this.#options = options;
    this.name = options.name ?? "fake";
    this.contextTokensMax = options.contextTokensMax ?? 512;
  }

  submit(request: GenerationRequest): Generation | Rejection {
    const { waitingMax = 1000 } = this.#options;
    if (this.isLost) return { reason: "engine-lost", retryAfterSeconds: 1 };
    if (this.load().waiting >= waitingMax) return { reason: "queue-full", retryAfterSeconds: 2 };
    if (request.promptIds.length + request.outputTokensMax > this.contextTokensMax) {
      return { reason: "beyond-context", retryAfterSeconds: 0 };
    }
    const generation = new FakeGeneration(request, this.#script(request));
    this.submitted.push(generation);
    this.#live.push(generation);
    if (this.#options.isManual !== true) this.#stepOn();
    return generation;
  }

  load(): ServedModelLoad {
    const running = this.#live.filter(({ state }) => state === "running");
    return {
      running: running.length,
      waiting: this.#live.filter(({ state }) => state === "waiting").length,
      kvUsedShare: Math.min(1, this.usedBlocks() / 1000),
      kvLocalBytes: this.usedBlocks() * 1024,
      kvBorrowedBytes: 0,
      kvLentBytes: 0,
      kvHostBytes: 0,
      preemptions: 0,
      promptTokens: this.#promptTokens,
      generatedTokens: this.#generatedTokens,
    };
  }

  /** Blocks that generations hold: those of an aborted one until the step after. */
  usedBlocks(): number {
    return this.#live
      .filter(({ tokenCount, state }) => tokenCount > 0 || state === "running")
      .reduce((sum, g) => sum + blocksOf(g.request.promptIds.length + g.tokenCount), 0);
  }

  step(): void {
    const { runningMax = 64, failure } = this.#options;
    this.#live = this.#live.filter(({ state }) => state === "waiting" || state === "running");
    let running = this.#live.filter(({ state }) => state === "running").length;
    for (const generation of this.#live) {
      if (generation.state === "running" || running >= runningMax) continue;
      running++;
      generation.state = "running";
      this.#promptTokens += generation.request.promptIds.length;
    }
    for (const generation of this.#live) {
      if (generation.state !== "running") continue;
      if (failure?.at === generation.tokenCount) {
        generation.state = "failed";
        generation.failure = failure.reason;
      } else this.#addToken(generation);
      generation.wake();
    }
    this.#live = this.#live.filter(({ state }) => state === "waiting" || state === "running");
  }

  #addToken(generation: FakeGeneration): void {
    const { request, script } = generation;
    const id = script[generation.tokenCount++]!;
    this.#generatedTokens++;
    const isStop = request.stopIds.includes(id);
    if (!isStop && generation.tokenCount < request.outputTokensMax) return;
    generation.state = "finished";
    generation.finishReason = isStop ? "stop" : "length";
  }

  #stepOn(): void {
    if (this.#isStepping) return;
    this.#isStepping = true;
    setImmediate(() => {
      this.#isStepping = false;
      this.step();
      if (this.#live.length > 0) this.#stepOn();
    });
  }

  /** As many tokens as may be asked for: the text, its end, and dots behind it. */
  #script({ promptIds, outputTokensMax, sampling }: GenerationRequest): Int32Array {
    const { text = "Hello, world" } = this.#options;
    const said = typeof text === "string" ? text : text(this.tokenizer.decode(promptIds));
    const seed = sampling.temperature === 0 ? 0 : sampling.seed;
    const ids = [...this.tokenizer.scatter(said, new Prng(seed)), END_ID];
    while (ids.length < outputTokensMax) ids.push(".".charCodeAt(0));
    return Int32Array.from(ids);
  }
}

function blocksOf(tokens: number): number {
  return Math.ceil(tokens / BLOCK_TOKENS);
}
