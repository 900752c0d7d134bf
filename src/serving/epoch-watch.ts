/**
 * Remembers under which epochs a step reads borrowed slices, and compares before its tokens are
 * published.
 *
 * Used by runners. An owner raises a slice's epoch before it reuses it, so whatever was read under
 * an old one is void, however late the reader is (fencing tokens; docs/GLOSSARY.md, epoch).
 */

import type { StepTables } from "./step-tables.ts";

/** Who knows the epochs: the pool in this process, shared memory between processes. */
export interface EpochSource {
  /** @param row a slice of the server */
  epochOf(row: number): number;
}

export class EpochWatch {
  readonly #epochs: EpochSource;
  readonly #isBorrowed: (row: number) => boolean;
  readonly #blocksPerSlice: number;
  readonly #readUnder = new Map<number, number>();

  constructor(
    epochs: EpochSource,
    isBorrowed: (row: number) => boolean,
    blocksPerSlice: number,
  ) {
    this.#epochs = epochs;
    this.#isBorrowed = isBorrowed;
    this.#blocksPerSlice = blocksPerSlice;
  }

  /** A step, or the rest of one, is about to read. What it read before keeps its epochs. */
  begin(tables: StepTables, isRest: boolean): void {
    const before = isRest ? new Map(this.#readUnder) : null;
    this.#readUnder.clear();
    for (const handle of tables.handles) {
      const row = Math.floor(handle / this.#blocksPerSlice);
      if (this.#readUnder.has(row) || !this.#isBorrowed(row)) continue;
      this.#readUnder.set(row, before?.get(row) ?? this.#epochs.epochOf(row));
    }
  }

  /** @returns whether everything was read under the epochs that still hold. */
  isSound(): boolean {
    for (const [row, epoch] of this.#readUnder) {
      if (this.#epochs.epochOf(row) !== epoch) return false;
    }
    return true;
  }
}
