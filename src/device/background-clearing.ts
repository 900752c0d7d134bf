/**
 * Clears memory a chunk at a time, between other work.
 *
 * Called by an engine that lends slices to another tenant: what its own requests left in them must
 * be gone before anybody else can read it. It knows ranges of one device and no slices or leases.
 *
 *     submit(id, range) -> advance(bytes) ... advance(bytes) -> poll() gives the id
 *
 * First in, first out. Nothing happens by itself, so that clearing costs time only where its caller
 * has some. Invariant: an id is given out only when every byte of its range is zero.
 */

import { assert } from "../base/index.ts";
import type { DeviceMemory } from "./ports.ts";

interface ClearingRange {
  readonly id: number;
  readonly address: number;
  readonly bytes: number;
}

export class BackgroundClearing {
  readonly #memory: DeviceMemory;
  readonly #waiting: ClearingRange[] = [];
  readonly #ended: number[] = [];
  /** Of the first range that waits. */
  #clearedBytes = 0;

  constructor(memory: DeviceMemory) {
    this.#memory = memory;
  }

  /** What `advance` has left to do. */
  get pendingBytes(): number {
    const bytes = this.#waiting.reduce((sum, range) => sum + range.bytes, 0);
    return bytes - this.#clearedBytes;
  }

  /** Nobody else may write the range until its id has been polled. */
  submit(id: number, address: number, bytes: number): void {
    assert(bytes > 0, `cannot clear ${bytes} B`);
    this.#waiting.push({ id, address, bytes });
  }

  /**
   * @param bytesMax how much to clear now; some 50 us for 256 KiB
   * @returns how much was cleared
   */
  advance(bytesMax: number): number {
    let left = bytesMax;
    while (left > 0 && this.#waiting.length > 0) {
      const { id, address, bytes } = this.#waiting[0]!;
      const chunkBytes = Math.min(left, bytes - this.#clearedBytes);
      this.#memory.clear(address + this.#clearedBytes, chunkBytes);
      this.#clearedBytes += chunkBytes;
      left -= chunkBytes;
      if (this.#clearedBytes < bytes) break;
      this.#waiting.shift();
      this.#ended.push(id);
      this.#clearedBytes = 0;
    }
    return bytesMax - left;
  }

  /** The range is wanted for something else: it is not written any more, and its id not given. */
  cancel(id: number): void {
    const index = this.#waiting.findIndex((range) => range.id === id);
    if (index === 0) this.#clearedBytes = 0;
    if (index >= 0) this.#waiting.splice(index, 1);
    const ended = this.#ended.indexOf(id);
    if (ended >= 0) this.#ended.splice(ended, 1);
  }

  /** @returns the id of a range that is clear, or -1. */
  poll(): number {
    return this.#ended.shift() ?? -1;
  }
}
