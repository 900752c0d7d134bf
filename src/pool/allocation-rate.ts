/**
 * The highest rate at which an engine allocated KV memory within the last minute.
 *
 * Fed by an engine's arena, read for headroom (headroom.ts). It does not know slices or blocks.
 * Bytes fall into buckets of one second on a ring of sixty; the peak is the fullest bucket.
 *
 *    second   ... 118  119 | 120  121 ...      bucket of second s: s mod 60
 *
 * Invariants (check()): every bucket is of the last sixty seconds and holds no negative bytes.
 */

import { assert, NS_PER_SECOND } from "../base/index.ts";

const BUCKET_COUNT = 60;

/** Times must not go backwards. */
export class AllocationRate {
  readonly #bytes = new Float64Array(BUCKET_COUNT);
  #second = 0;

  record(bytes: number, nowNs: number): void {
    assert(bytes >= 0, () => `allocation rate: ${bytes} bytes allocated`);
    this.#advance(nowNs);
    this.#bytes[this.#second % BUCKET_COUNT]! += bytes;
  }

  /** The second that is not over counts with what it has; 0 after a minute without allocation. */
  peakBytesPerSecond(nowNs: number): number {
    this.#advance(nowNs);
    let peak = 0;
    for (const bytes of this.#bytes) if (bytes > peak) peak = bytes;
    return peak;
  }

  check(): void {
    const isSound = this.#bytes.every((bytes) => bytes >= 0 && Number.isFinite(bytes));
    assert(isSound, () => `allocation rate: buckets hold [${this.#bytes}]`);
  }

  /** Empties the buckets of the seconds that began since the last call. */
  #advance(nowNs: number): void {
    const second = Math.floor(nowNs / NS_PER_SECOND);
    const passed = second - this.#second;
    assert(
      passed >= 0,
      () => `allocation rate: time went back from ${this.#second} s to ${second} s`,
    );
    if (passed >= BUCKET_COUNT) this.#bytes.fill(0);
    else for (let step = 1; step <= passed; step++) {
      this.#bytes[(this.#second + step) % BUCKET_COUNT] = 0;
    }
    this.#second = second;
  }
}
