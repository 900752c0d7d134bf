/**
 * One generation while it is served: its tokens, its state, and who waits for more of it.
 *
 * Made and driven by ServedEngine; readers see it through the Generation port. It knows no engine.
 *
 * Invariant: tokens only grow, and only while the state is waiting or running; an ended generation
 * wakes all that wait and keeps nobody waiting afterwards.
 */

import { assert } from "../base/index.ts";
import type { EngineFailure } from "../engine/index.ts";
import type {
  FinishReason,
  Generation,
  GenerationRequest,
  GenerationState,
  TokenLogprob,
} from "./generation.ts";
import type { SampledToken } from "./step-execution.ts";

interface Waiter {
  readonly beyond: number;
  readonly wake: () => void;
}

export class GenerationRecord implements Generation {
  readonly request: GenerationRequest;
  /** Under which the engine knows it. */
  readonly id: number;
  state: GenerationState = "waiting";
  finishReason: FinishReason | null = null;
  failure: EngineFailure | null = null;
  readonly #abort: (record: GenerationRecord) => void;
  #ids = new Int32Array(16);
  readonly #logprobs: TokenLogprob[] = [];
  #count = 0;
  #waiters: Waiter[] = [];

  /** @param abort tells the engine; called at most once, while the generation has not ended. */
  constructor(id: number, request: GenerationRequest, abort: (record: GenerationRecord) => void) {
    this.id = id;
    this.request = request;
    this.#abort = abort;
  }

  get hasEnded(): boolean {
    return this.state !== "waiting" && this.state !== "running";
  }

  get tokenCount(): number {
    return this.#count;
  }

  tokenAt(index: number): number {
    assert(index >= 0 && index < this.#count, () => `generation: token ${index} of ${this.#count}`);
    return this.#ids[index]!;
  }

  logprobAt(index: number): TokenLogprob | null {
    assert(index >= 0 && index < this.#count, () => `generation: token ${index} of ${this.#count}`);
    return this.#logprobs[index] ?? null;
  }

  waitBeyond(count: number): Promise<void> {
    if (this.#count > count || this.hasEnded) return Promise.resolve();
    return new Promise((wake) => this.#waiters.push({ beyond: count, wake }));
  }

  abort(): void {
    if (this.hasEnded) return;
    this.#abort(this);
    this.#end("aborted");
  }

  // What the engine tells.

  admitted(): void {
    this.state = "running";
  }

  add({ id, logprob }: SampledToken): void {
    if (this.#count === this.#ids.length) {
      const grown = new Int32Array(this.#count * 2);
      grown.set(this.#ids);
      this.#ids = grown;
    }
    this.#ids[this.#count++] = id;
    if (logprob !== null) this.#logprobs.push(logprob);
    this.#wake((waiter) => this.#count > waiter.beyond);
  }

  finish(reason: FinishReason): void {
    this.finishReason = reason;
    this.#end("finished");
  }

  fail(failure: EngineFailure): void {
    this.failure = failure;
    this.#end("failed");
  }

  #end(state: GenerationState): void {
    this.state = state;
    this.#wake(() => true);
  }

  #wake(isDue: (waiter: Waiter) => boolean): void {
    if (this.#waiters.length === 0) return;
    const due = this.#waiters.filter(isDue);
    this.#waiters = this.#waiters.filter((waiter) => !isDue(waiter));
    for (const { wake } of due) wake();
  }
}
