/**
 * The ids of every open request: its prompt and what it has generated.
 *
 * Written by whoever submits (prompts) and by the sink of an engine (generated tokens); read when a
 * step's tables are built, so that a sequence that lost its KV is computed again from its own ids.
 *
 * Invariant: a request's ids only grow, and are kept until it is forgotten.
 */

import { assert } from "../base/index.ts";
import type { SampleOrder } from "./step-tables.ts";
import type { GenerationRequest } from "./generation.ts";

interface Entry {
  readonly request: GenerationRequest;
  ids: Int32Array;
  count: number;
}

/** Requests are named by the numbers under which an engine knows them. */
export class TokenStore {
  readonly #entries = new Map<number, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  add(id: number, request: GenerationRequest): void {
    assert(!this.#entries.has(id), () => `token store: request ${id} is there`);
    const ids = new Int32Array(request.promptIds.length + 16);
    ids.set(request.promptIds);
    this.#entries.set(id, { request, ids, count: request.promptIds.length });
  }

  append(id: number, token: number): void {
    const entry = this.#entry(id);
    if (entry.count === entry.ids.length) {
      const grown = new Int32Array(entry.count * 2);
      grown.set(entry.ids);
      entry.ids = grown;
    }
    entry.ids[entry.count++] = token;
  }

  forget(id: number): void {
    this.#entries.delete(id);
  }

  /** Fills `target` with the ids from position `first` on. */
  copyIds(id: number, first: number, target: Int32Array): void {
    const { ids, count } = this.#entry(id);
    const end = first + target.length;
    assert(end <= count, () => `token store: ids to ${end} of ${count} of request ${id}`);
    target.set(ids.subarray(first, end));
  }

  /** What the request generated, for whoever compares. */
  generated(id: number): Int32Array {
    const { ids, count, request } = this.#entry(id);
    return ids.slice(request.promptIds.length, count);
  }

  sampleOrder(id: number, position: number): SampleOrder {
    const { sampling, topLogprobs } = this.#entry(id).request;
    const { temperature, topP, seed } = sampling;
    return { temperature, topP, seed, position, topLogprobs };
  }

  #entry(id: number): Entry {
    const entry = this.#entries.get(id);
    assert(entry !== undefined, () => `token store: request ${id} is unknown`);
    return entry;
  }
}
