/**
 * Gives out whole pages of one device's memory.
 *
 * Used by the emulated memory. It knows offsets and no bytes: clearing is its user's.
 *
 * First fit over free runs in the order of their offsets; a run that comes back joins its
 * neighbours. Engines allocate a few large pieces once, so that a list is enough.
 *
 * Invariants: runs are apart, in order and not empty; free and given bytes add up to the capacity.
 */

import { assert } from "../../base/index.ts";
import { PAGE_BYTES, wholePages } from "./window.ts";

interface Run {
  readonly offset: number;
  readonly bytes: number;
}

export class PageAllocator {
  readonly #capacityBytes: number;
  #free: Run[];
  /** Bytes of what was given out, by offset. */
  readonly #given = new Map<number, number>();

  /** @param capacityBytes whole pages; 0 for memory that is another's to give out */
  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
    this.#free = capacityBytes > 0 ? [{ offset: 0, bytes: capacityBytes }] : [];
  }

  get freeBytes(): number {
    return this.#free.reduce((sum, run) => sum + run.bytes, 0);
  }

  /** @returns the offset of at least `bytes`, or `null`: no free run is as long. */
  allocate(bytes: number): number | null {
    assert(Number.isSafeInteger(bytes) && bytes > 0, `cannot allocate ${bytes} B`);
    const wanted = wholePages(bytes);
    const index = this.#free.findIndex((run) => run.bytes >= wanted);
    if (index === -1) return null;
    const { offset, bytes: found } = this.#free[index]!;
    const rest = { offset: offset + wanted, bytes: found - wanted };
    this.#free.splice(index, 1, ...(rest.bytes > 0 ? [rest] : []));
    this.#given.set(offset, wanted);
    return offset;
  }

  /** @returns how many bytes came back. */
  free(offset: number): number {
    const bytes = this.#given.get(offset);
    assert(bytes !== undefined, `nothing was allocated at offset ${offset}`);
    this.#given.delete(offset);
    const found = this.#free.findIndex((run) => run.offset > offset);
    const index = found === -1 ? this.#free.length : found;
    let run: Run = { offset, bytes };
    let [first, count] = [index, 0];
    const before = this.#free[index - 1];
    if (before !== undefined && before.offset + before.bytes === offset) {
      run = { offset: before.offset, bytes: before.bytes + bytes };
      [first, count] = [index - 1, 1];
    }
    const after = this.#free[index];
    if (after !== undefined && after.offset === offset + bytes) {
      run = { offset: run.offset, bytes: run.bytes + after.bytes };
      count++;
    }
    this.#free.splice(first, count, run);
    return bytes;
  }

  /** Asserts the invariants. */
  check(): void {
    let given = 0;
    for (const bytes of this.#given.values()) given += bytes;
    const total = given + this.freeBytes;
    assert(total === this.#capacityBytes, `${total} B of ${this.#capacityBytes} B`);
    let end = -1;
    for (const run of this.#free) {
      assert(run.bytes > 0 && run.bytes % PAGE_BYTES === 0, `a free run of ${run.bytes} B`);
      assert(run.offset > end, `free runs touch at ${run.offset}`);
      for (const [offset, bytes] of this.#given) {
        const isApart = offset + bytes <= run.offset || offset >= run.offset + run.bytes;
        assert(isApart, `offset ${offset} is both free and given`);
      }
      end = run.offset + run.bytes;
    }
  }
}
