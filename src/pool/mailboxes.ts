/**
 * One queue of events an engine, in the order they happened.
 *
 * Filled by the pool inside `apply`, emptied by each engine at the top of its tick. Events are
 * plain data and belong to the reader once polled. In process nothing is lost, repeated or
 * reordered; the broker's sessions take over where that stops being true.
 *
 * What lies unread is bounded: of a lender's comings and goings the last alone says what is so, and
 * all else is of slices, which an engine has so many of, or answers what it asked. Who does not
 * read what it asked for has a bug, and trips over the limit.
 */

import { assert, type EngineId } from "../base/index.ts";
import type { PoolEvent } from "./commands.ts";

/** Beyond all that the largest server can have to say at once: some 30,000 slices. */
const UNREAD_MAX = 2 ** 18;

/** First in, first out; reading the last event of a queue frees its room. */
export class Mailboxes {
  readonly #queues: PoolEvent[][];
  readonly #heads: Int32Array; // (engines) index of the next event in its queue
  /** Engines with unread events. */
  #readerCount = 0;

  constructor(engineCount: number) {
    this.#queues = Array.from({ length: engineCount }, () => []);
    this.#heads = new Int32Array(engineCount);
  }

  post(engine: EngineId, event: PoolEvent): void {
    if (event.type === "LenderActivity" && this.#replaces(engine, event)) return;
    const count = this.#queues[engine]!.push(event);
    if (count === 1) this.#readerCount++;
    assert(count <= UNREAD_MAX, () => `mailboxes: ${count} events of engine ${engine} lie unread`);
  }

  /** @returns the oldest unread event, or `null` when there is none. */
  poll(engine: EngineId): PoolEvent | null {
    const queue = this.#queues[engine]!;
    const head = this.#heads[engine]!;
    if (head === queue.length) return null;
    const event = queue[head]!;
    if (queue.length === 1) {
      // Mostly there is one: taken off the end, the queue keeps its room for the next.
      queue.pop();
      this.#readerCount--;
    } else if (head + 1 === queue.length) {
      this.clear(engine);
    } else {
      this.#heads[engine] = head + 1;
    }
    return event;
  }

  hasEvents(engine: EngineId): boolean {
    return this.#queues[engine]!.length > 0;
  }

  /** Whether anybody has. */
  get hasAny(): boolean {
    return this.#readerCount > 0;
  }

  /** Forgets what an engine has read, or will never read because it is gone. */
  clear(engine: EngineId): void {
    if (this.#queues[engine]!.length > 0) this.#readerCount--;
    this.#queues[engine]!.length = 0;
    this.#heads[engine] = 0;
  }

  check(): void {
    const readers = this.#queues.filter((queue) => queue.length > 0).length;
    const kept = this.#readerCount;
    assert(readers === kept, () => `mailboxes: ${readers} engines have events, kept ${kept}`);
    this.#queues.forEach((queue, engine) => {
      const head = this.#heads[engine]!;
      const isSound = head < queue.length || (head === 0 && queue.length === 0);
      assert(isSound, () => `mailboxes: engine ${engine} reads event ${head} of ${queue.length}`);
    });
  }

  /** The last word on a lender takes the place of the one that its reader has not read. */
  #replaces(engine: EngineId, event: Extract<PoolEvent, { type: "LenderActivity" }>): boolean {
    const queue = this.#queues[engine]!;
    for (let index = queue.length - 1; index >= this.#heads[engine]!; index--) {
      const earlier = queue[index]!;
      if (earlier.type !== "LenderActivity" || earlier.lender !== event.lender) continue;
      queue[index] = event;
      return true;
    }
    return false;
  }

  /** What lies unread, oldest first; for check(). */
  unread(engine: EngineId): readonly PoolEvent[] {
    return this.#queues[engine]!.slice(this.#heads[engine]!);
  }
}
