/**
 * How fast borrowers read each lender now, and what that leaves to each of them.
 *
 * Used by the pool: borrowers report what their steps read, lenders' ports are shared by all who
 * read there. It does not know slices. A lender's port is as fast as the fastest path out of it; a
 * reader finds what the others leave of it, and at least half: ports serve readers in turns.
 *
 * Invariant: `readable` follows from `reads`; nobody reads itself.
 */

import { assert, type EngineId } from "../base/index.ts";

/** Of a port: what others read counts in whole steps of this, or equal lenders never stay equal. */
const STEP_SHARE = 1 / 8;
/** Of a port, left to a reader in any case. */
const LEAST_SHARE = 1 / 2;

export class ReadRates {
  readonly #engineCount: number;
  /** (lenders, borrowers) */
  readonly #path: Float64Array;
  readonly #reads: Float64Array;
  readonly #readable: Float64Array;
  /** (lenders) */
  readonly #port: Float64Array;

  constructor(engineCount: number, pathBytesPerSecond: Float64Array) {
    this.#engineCount = engineCount;
    this.#path = pathBytesPerSecond;
    this.#reads = new Float64Array(pathBytesPerSecond.length);
    this.#readable = Float64Array.from(pathBytesPerSecond);
    this.#port = new Float64Array(engineCount);
    for (let lender = 0; lender < engineCount; lender++) {
      for (let borrower = 0; borrower < engineCount; borrower++) {
        if (borrower === lender) continue;
        const path = pathBytesPerSecond[lender * engineCount + borrower]!;
        this.#port[lender] = Math.max(this.#port[lender]!, path);
      }
    }
  }

  /** @returns bytes/s at which `borrower` can read `lender` beside the others; 0 without a path. */
  readable(lender: EngineId, borrower: EngineId): number {
    return this.#readable[lender * this.#engineCount + borrower]!;
  }

  report(lender: EngineId, borrower: EngineId, bytesPerSecond: number): void {
    const isRate = Number.isFinite(bytesPerSecond) && bytesPerSecond >= 0;
    assert(isRate && lender !== borrower, () => `pool: ${borrower} reads ${bytesPerSecond} B/s`);
    const pair = lender * this.#engineCount + borrower;
    if (this.#reads[pair] === bytesPerSecond) return;
    this.#reads[pair] = bytesPerSecond;
    this.#share(lender);
  }

  check(): void {
    for (let pair = 0; pair < this.#reads.length; pair++) {
      const [path, readable] = [this.#path[pair]!, this.#readable[pair]!];
      const isFair = readable <= path && readable >= LEAST_SHARE * path;
      assert(isFair, () => `pool: pair ${pair} reads at ${readable} of ${path} B/s`);
    }
  }

  #share(lender: number): void {
    const first = lender * this.#engineCount;
    const port = this.#port[lender]!;
    let all = 0;
    for (let other = 0; other < this.#engineCount; other++) all += this.#reads[first + other]!;
    for (let borrower = 0; borrower < this.#engineCount; borrower++) {
      const others = all - this.#reads[first + borrower]!;
      const taken = STEP_SHARE * port * Math.round(others / (STEP_SHARE * port));
      const left = Math.max(port - taken, LEAST_SHARE * port);
      this.#readable[first + borrower] = Math.min(this.#path[first + borrower]!, left);
    }
  }
}
