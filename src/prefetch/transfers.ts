/**
 * The queue in front of one ingress port: which bytes are sent for next.
 *
 * Used by runners that move real bytes, one queue a port: the runner submits a chunk, and asks for
 * the next when the port has room. It knows lenders by index, bytes and deadlines; no copy engine.
 *
 * The idea: earliest deadline first, and copy engines do not preempt (docs/METHOD.md: one bulk
 * copy blocks the small ones behind it), so everything is cut into chunks and an urgent transfer
 * waits for at most the chunk under way. Each lender is paced by a debt: a chunk adds its bytes,
 * time pays them off at the lender's rate, and a lender in debt is passed over. A new rate is that
 * of all time since the last `next`, so a faster pace counts within one chunk.
 *
 * Invariants: each queued transfer is in its lender's heap once; every byte of a transfer is given
 * out once, in order; among lenders without debt the earliest deadline goes first, ties in order
 * of arrival.
 */

import { assert } from "../base/index.ts";

export interface Transfer {
  /** The caller's; unique among those queued. */
  readonly id: number;
  readonly source: number;
  readonly bytes: number;
  /** Infinity for bulk that nobody waits for. */
  readonly deadlineNs: number;
}

export interface Chunk {
  readonly id: number;
  readonly source: number;
  readonly offsetBytes: number;
  readonly bytes: number;
  /** With it the transfer has left the queue. */
  readonly isLast: boolean;
}

interface Queued {
  readonly transfer: Transfer;
  readonly order: number;
  sentBytes: number;
  /** Index in its lender's heap. */
  place: number;
}

export class TransferQueue {
  readonly #chunkBytes: number;
  readonly #transfersMax: number;
  readonly #heaps: Queued[][] = [];
  readonly #byId = new Map<number, Queued>();
  /** (sourceCount) Infinity: not paced; 0: not read. */
  readonly #bytesPerSecond: Float64Array;
  readonly #debtBytes: Float64Array;
  #nowNs = 0;
  #nextOrder = 0;

  constructor(sourceCount: number, chunkBytes: number, transfersMax = 65536) {
    assert(chunkBytes > 0, "transfer queue: chunks of nothing");
    this.#chunkBytes = chunkBytes;
    this.#transfersMax = transfersMax;
    for (let source = 0; source < sourceCount; source++) this.#heaps.push([]);
    this.#bytesPerSecond = new Float64Array(sourceCount).fill(Infinity);
    this.#debtBytes = new Float64Array(sourceCount);
  }

  get size(): number {
    return this.#byId.size;
  }

  /** @returns false, and takes nothing, when the queue is full. */
  push(transfer: Transfer): boolean {
    assert(!this.#byId.has(transfer.id), () => `transfer queue: ${transfer.id} is queued already`);
    assert(transfer.bytes > 0, () => `transfer queue: ${transfer.id} has no bytes`);
    if (this.#byId.size >= this.#transfersMax) return false;
    const heap = this.#heaps[transfer.source]!;
    const queued: Queued = { transfer, order: this.#nextOrder++, sentBytes: 0, place: heap.length };
    this.#byId.set(transfer.id, queued);
    heap.push(queued);
    this.#rise(heap, queued);
    return true;
  }

  /** @returns the bytes that were not given out, or `null` when no such transfer is queued. */
  cancel(id: number): number | null {
    const queued = this.#byId.get(id);
    if (queued === undefined) return null;
    this.#remove(queued);
    return queued.transfer.bytes - queued.sentBytes;
  }

  /** How fast a lender may be read from now on. Infinity: not paced; 0: not at all. */
  setRate(source: number, bytesPerSecond: number): void {
    assert(bytesPerSecond >= 0, () => `transfer queue: rate ${bytesPerSecond}`);
    this.#bytesPerSecond[source] = bytesPerSecond;
  }

  /** @returns what to send for now, or `null`: nothing is queued, or its lenders are in debt. */
  next(nowNs: number): Chunk | null {
    this.#payOff(nowNs);
    let first: Queued | null = null;
    for (let source = 0; source < this.#heaps.length; source++) {
      const head = this.#heaps[source]![0];
      if (head === undefined || this.#waitNs(source) > 0) continue;
      if (first === null || isBefore(head, first)) first = head;
    }
    if (first === null) return null;
    const { id, source, bytes } = first.transfer;
    const offsetBytes = first.sentBytes;
    const chunkBytes = Math.min(this.#chunkBytes, bytes - offsetBytes);
    first.sentBytes += chunkBytes;
    if (this.#bytesPerSecond[source]! < Infinity) {
      this.#debtBytes[source] = this.#debtBytes[source]! + chunkBytes;
    }
    const isLast = first.sentBytes === bytes;
    if (isLast) this.#remove(first);
    return { id, source, offsetBytes, bytes: chunkBytes, isLast };
  }

  /** @returns the first time, not before that of the last `next`, at which one is not in vain. */
  nextDueNs(): number {
    let dueNs = Infinity;
    for (let source = 0; source < this.#heaps.length; source++) {
      if (this.#heaps[source]!.length === 0) continue;
      dueNs = Math.min(dueNs, this.#nowNs + Math.ceil(this.#waitNs(source)));
    }
    return dueNs;
  }

  #payOff(nowNs: number): void {
    assert(nowNs >= this.#nowNs, () => `transfer queue: time went from ${this.#nowNs} to ${nowNs}`);
    const passedNs = nowNs - this.#nowNs;
    this.#nowNs = nowNs;
    for (let source = 0; source < this.#debtBytes.length; source++) {
      // Compared as times, so that what `nextDueNs` promised is kept to the nanosecond.
      const rate = this.#bytesPerSecond[source]!;
      const isPaid = this.#waitNs(source) <= passedNs;
      const leftBytes = this.#debtBytes[source]! - (passedNs * rate) / 1e9;
      this.#debtBytes[source] = isPaid ? 0 : leftBytes;
    }
  }

  #waitNs(source: number): number {
    const rate = this.#bytesPerSecond[source]!;
    if (rate === 0) return Infinity;
    return rate === Infinity ? 0 : (this.#debtBytes[source]! * 1e9) / rate;
  }

  #remove(queued: Queued): void {
    this.#byId.delete(queued.transfer.id);
    const heap = this.#heaps[queued.transfer.source]!;
    const last = heap.pop()!;
    if (last === queued) return;
    last.place = queued.place;
    heap[last.place] = last;
    this.#sink(heap, last);
    this.#rise(heap, last);
  }

  #rise(heap: Queued[], queued: Queued): void {
    while (queued.place > 0) {
      const parent = heap[(queued.place - 1) >> 1]!;
      if (!isBefore(queued, parent)) return;
      swap(heap, parent, queued);
    }
  }

  #sink(heap: Queued[], queued: Queued): void {
    for (;;) {
      const left = heap[2 * queued.place + 1];
      const right = heap[2 * queued.place + 2];
      if (left === undefined) return;
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (!isBefore(child, queued)) return;
      swap(heap, child, queued);
    }
  }

  /** @throws AssertionFailure where a heap, the index and the transfers disagree. */
  check(): void {
    let queuedCount = 0;
    this.#heaps.forEach((heap, source) => {
      queuedCount += heap.length;
      assert(this.#debtBytes[source]! >= 0, () => `transfer queue: negative debt at ${source}`);
      heap.forEach((queued, place) => {
        const { id, bytes } = queued.transfer;
        assert(queued.place === place, () => `transfer queue: ${id} is not at its place`);
        assert(queued.transfer.source === source, () => `transfer queue: ${id} in another's heap`);
        assert(this.#byId.get(id) === queued, () => `transfer queue: ${id} is not indexed`);
        assert(queued.sentBytes < bytes, () => `transfer queue: ${id} is sent and still queued`);
        const parent = heap[(place - 1) >> 1];
        assert(place === 0 || isBefore(parent!, queued), () => `transfer queue: ${id} too low`);
      });
    });
    assert(queuedCount === this.#byId.size, "transfer queue: a transfer is in no heap");
  }
}

function isBefore(queued: Queued, other: Queued): boolean {
  const deadlineNs = queued.transfer.deadlineNs;
  const otherNs = other.transfer.deadlineNs;
  return deadlineNs < otherNs || (deadlineNs === otherNs && queued.order < other.order);
}

function swap(heap: Queued[], parent: Queued, child: Queued): void {
  const place = parent.place;
  parent.place = child.place;
  child.place = place;
  heap[parent.place] = parent;
  heap[child.place] = child;
}
