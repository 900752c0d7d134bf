/**
 * Requests that wait for admission: a deque, because a preempted one goes to the front.
 *
 * Owned by the scheduler. A ring of typed arrays that doubles; a request keeps what it has
 * generated before it was preempted. It does not know why an entry waits.
 *
 *     head                tail
 *      v                   v
 *     [ preempted | oldest ... newest |  free  ]   (indices modulo capacity)
 *
 * Invariant: entries keep their order; a request is in it at most once.
 */

import { assert } from "../base/index.ts";

/** Positions count from the front; a position beyond the size is a bug. */
export class RequestQueue {
  #request = new Int32Array(64);
  #promptTokens = new Int32Array(64);
  #generatedTokens = new Int32Array(64);
  #outputTokensMax = new Int32Array(64);
  #sinceNs = new Float64Array(64);
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Joins the end of the queue. Prompt, generated and the most to generate are tokens. */
  pushBack(request: number, prompt: number, generated: number, max: number, nowNs: number): void {
    this.#ensureRoom();
    const index = (this.#head + this.#size) % this.#request.length;
    this.#size++;
    this.#set(index, request, prompt, generated, max, nowNs);
  }

  /** Is next in line; otherwise as `pushBack`. */
  pushFront(request: number, prompt: number, generated: number, max: number, nowNs: number): void {
    this.#ensureRoom();
    this.#head = (this.#head + this.#request.length - 1) % this.#request.length;
    this.#size++;
    this.#set(this.#head, request, prompt, generated, max, nowNs);
  }

  /** Entry `position` from the front; 0 is next in line. */
  requestAt(position: number): number {
    return this.#request[this.#index(position)]!;
  }

  /** Prompt and what was generated before a preemption: what a prefill must compute. */
  tokensAt(position: number): number {
    const index = this.#index(position);
    return this.#promptTokens[index]! + this.#generatedTokens[index]!;
  }

  promptAt(position: number): number {
    return this.#promptTokens[this.#index(position)]!;
  }

  generatedAt(position: number): number {
    return this.#generatedTokens[this.#index(position)]!;
  }

  outputMaxAt(position: number): number {
    return this.#outputTokensMax[this.#index(position)]!;
  }

  /** When the entry came in; for a preempted one, when it was preempted. */
  sinceNsAt(position: number): number {
    return this.#sinceNs[this.#index(position)]!;
  }

  /** A token that was on its way when the request was preempted. @returns its output tokens now. */
  addGenerated(position: number): number {
    return ++this.#generatedTokens[this.#index(position)]!;
  }

  /** Takes out the entry at `position`; those before it keep their order. */
  removeAt(position: number): void {
    this.#index(position);
    for (let at = position; at > 0; at--) this.#copy(this.#index(at - 1), this.#index(at));
    this.#head = (this.#head + 1) % this.#request.length;
    this.#size--;
  }

  /** @returns the position of a request, or -1. */
  positionOf(request: number): number {
    for (let position = 0; position < this.#size; position++) {
      if (this.requestAt(position) === request) return position;
    }
    return -1;
  }

  check(): void {
    const { length } = this.#request;
    assert(this.#size <= length, () => `queue: ${this.#size} entries in ${length}`);
    const seen = new Set<number>();
    for (let position = 0; position < this.#size; position++) {
      const request = this.requestAt(position);
      assert(!seen.has(request), () => `queue: request ${request} waits twice`);
      seen.add(request);
    }
  }

  #index(position: number): number {
    assert(position >= 0 && position < this.#size, () => `queue: ${position} of ${this.#size}`);
    return (this.#head + position) % this.#request.length;
  }

  #set(at: number, request: number, prompt: number, generated: number, max: number, ns: number) {
    this.#request[at] = request;
    this.#promptTokens[at] = prompt;
    this.#generatedTokens[at] = generated;
    this.#outputTokensMax[at] = max;
    this.#sinceNs[at] = ns;
  }

  #copy(source: number, target: number): void {
    this.#request.copyWithin(target, source, source + 1);
    this.#promptTokens.copyWithin(target, source, source + 1);
    this.#generatedTokens.copyWithin(target, source, source + 1);
    this.#outputTokensMax.copyWithin(target, source, source + 1);
    this.#sinceNs.copyWithin(target, source, source + 1);
  }

  #ensureRoom(): void {
    if (this.#size < this.#request.length) return;
    const unroll = <T extends Int32Array | Float64Array>(from: T, to: T): T => {
      for (let at = 0; at < this.#size; at++) to[at] = from[(this.#head + at) % from.length]!;
      return to;
    };
    const capacity = this.#request.length * 2;
    this.#request = unroll(this.#request, new Int32Array(capacity));
    this.#promptTokens = unroll(this.#promptTokens, new Int32Array(capacity));
    this.#generatedTokens = unroll(this.#generatedTokens, new Int32Array(capacity));
    this.#outputTokensMax = unroll(this.#outputTokensMax, new Int32Array(capacity));
    this.#sinceNs = unroll(this.#sinceNs, new Float64Array(capacity));
    this.#head = 0;
  }
}
