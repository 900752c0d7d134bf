/**
 * A binary min-heap of (time, payload) on typed arrays: the calendar of a simulated cluster.
 *
 * Called by whoever keeps many deadlines. It does not know what a payload means. Equal times come
 * out in the order they went in, so that runs are reproducible.
 *
 * Invariant: no entry comes after its children, by (time, order of arrival).
 */

import { assert } from "./assert.ts";

/** Times are integers of nanoseconds; payloads are 32-bit integers. Grows by doubling. */
export class EventHeap {
  #timeNs: Float64Array;
  #order: Float64Array;
  #payload: Int32Array;
  #size = 0;
  #nextOrder = 0;

  /** @param initialCapacity entries before it grows for the first time; at least one. */
  constructor(initialCapacity = 64) {
    assert(initialCapacity >= 1, () => `event heap: capacity ${initialCapacity}`);
    this.#timeNs = new Float64Array(initialCapacity);
    this.#order = new Float64Array(initialCapacity);
    this.#payload = new Int32Array(initialCapacity);
  }

  get size(): number {
    return this.#size;
  }

  /** @returns the least time, or Infinity when empty. */
  peekTimeNs(): number {
    return this.#size === 0 ? Infinity : this.#timeNs[0]!;
  }

  /** What the earliest entry carries. The caller has read `peekTimeNs` first. */
  peekPayload(): number {
    assert(this.#size > 0, "event heap: peek into an empty heap");
    return this.#payload[0]!;
  }

  /** Takes O(log size). The time is no NaN: it would never come out in order. */
  push(timeNs: number, payload: number): void {
    assert(timeNs >= 0, () => `event heap: time ${timeNs}`);
    if (this.#size === this.#timeNs.length) this.#grow();
    let index = this.#size++;
    const order = this.#nextOrder++;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isAfter(parent, timeNs, order)) break;
      this.#move(parent, index);
      index = parent;
    }
    this.#set(index, timeNs, order, payload);
  }

  /** Removes the earliest entry. The caller has read `peekTimeNs` first. */
  pop(): number {
    assert(this.#size > 0, "event heap: pop of an empty heap");
    const result = this.#payload[0]!;
    this.#size--;
    if (this.#size > 0) this.#sink(this.#size);
    return result;
  }

  /** Walks the whole heap. */
  check(): void {
    for (let index = 1; index < this.#size; index++) {
      const isInOrder = !this.#isAfter((index - 1) >> 1, this.#timeNs[index]!, this.#order[index]!);
      assert(isInOrder, () => `event heap: entry ${index} comes before its parent`);
    }
  }

  #sink(last: number): void {
    const timeNs = this.#timeNs[last]!;
    const order = this.#order[last]!;
    const payload = this.#payload[last]!;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= this.#size) break;
      const right = child + 1;
      if (right < this.#size && this.#isAfter(child, this.#timeNs[right]!, this.#order[right]!)) {
        child = right;
      }
      if (this.#isAfter(child, timeNs, order)) break;
      this.#move(child, index);
      index = child;
    }
    this.#set(index, timeNs, order, payload);
  }

  /** Whether the entry at `index` comes after (timeNs, order). */
  #isAfter(index: number, timeNs: number, order: number): boolean {
    const own = this.#timeNs[index]!;
    return own > timeNs || (own === timeNs && this.#order[index]! > order);
  }

  #move(source: number, target: number): void {
    this.#set(target, this.#timeNs[source]!, this.#order[source]!, this.#payload[source]!);
  }

  #set(index: number, timeNs: number, order: number, payload: number): void {
    this.#timeNs[index] = timeNs;
    this.#order[index] = order;
    this.#payload[index] = payload;
  }

  #grow(): void {
    const grow = <T extends Float64Array | Int32Array>(source: T, target: T): T => {
      target.set(source as never);
      return target;
    };
    const capacity = this.#timeNs.length * 2;
    this.#timeNs = grow(this.#timeNs, new Float64Array(capacity));
    this.#order = grow(this.#order, new Float64Array(capacity));
    this.#payload = grow(this.#payload, new Int32Array(capacity));
  }
}
