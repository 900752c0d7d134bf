/**
 * Keeps the planner's read set in step with the blocks: which borrowed slices a step reads, in how
 * many contiguous copies.
 *
 * Used by KvCache, which marks the rows whose blocks or readers changed; a sync costs those rows
 * alone. It does not know sequences: it asks for every slot whether it is read.
 *
 * A hole of a few blocks between two that are read is copied along where a copy of its own would
 * cost more than the hole's bytes:
 *
 *     slots   R R . R . . . R        bridging 1:  [R R . R]  [R]  = 2 runs of 5 blocks
 *
 * Invariant: after a sync the read set says of every row what a count of its slots says.
 */

import { assert } from "../base/index.ts";
import type { ReadSet } from "../prefetch/index.ts";
import type { KvLayout } from "./layout.ts";
import type { SliceTable } from "./slice-table.ts";

export interface RowReads {
  readonly runs: number;
  /** Bridged holes counted in. */
  readonly blocks: number;
}

/** Rows of the engine's own device are never marked: what is local crosses no link. */
export class RemoteReads {
  readonly #slices: SliceTable;
  readonly #layout: KvLayout;
  readonly #readSet: ReadSet;
  readonly #bridgedBlocksMax: number;
  readonly #isRead: (handle: number) => boolean;
  readonly #isMarked: Uint8Array; // (rows)
  readonly #marked: number[] = [];

  /** @param isRead whether the next step reads the block in a slot. */
  constructor(
    slices: SliceTable,
    layout: KvLayout,
    readSet: ReadSet,
    bridgedBlocksMax: number,
    isRead: (handle: number) => boolean,
  ) {
    this.#slices = slices;
    this.#layout = layout;
    this.#readSet = readSet;
    this.#bridgedBlocksMax = bridgedBlocksMax;
    this.#isRead = isRead;
    this.#isMarked = new Uint8Array(slices.source.length);
  }

  /** Something about the row's blocks or their readers is about to change, or has changed. */
  mark(row: number): void {
    if (this.#slices.source[row] === 0 || this.#isMarked[row] === 1) return;
    this.#isMarked[row] = 1;
    this.#marked.push(row);
  }

  sync(): void {
    if (this.#marked.length === 0) return;
    for (const row of this.#marked) {
      this.#isMarked[row] = 0;
      const { runs, blocks } = this.#count(row);
      if (blocks === 0) this.#readSet.delete(row);
      else {
        const bytes = blocks * this.#layout.blockLayerBytes;
        this.#readSet.set(row, this.#slices.source[row]!, runs, bytes);
      }
    }
    this.#marked.length = 0;
  }

  /** Counts every row again that is not marked. */
  check(): void {
    const readSet = this.#readSet;
    readSet.check();
    const sourceCount = this.#slices.sourceCount;
    const runs = new Float64Array(sourceCount);
    const bytes = new Float64Array(sourceCount);
    if (this.#marked.length > 0) return;
    for (let row = 0; row < this.#isMarked.length; row++) {
      const source = this.#slices.source[row]!;
      const found = source === 0 ? { runs: 0, blocks: 0 } : this.#count(row);
      const isThere = readSet.has(row);
      assert(isThere === found.blocks > 0, () => `remote reads: row ${row} kept ${isThere}`);
      runs[source]! += found.runs;
      bytes[source]! += found.blocks * this.#layout.blockLayerBytes;
    }
    for (let source = 0; source < sourceCount; source++) {
      const keptRuns = readSet.stagedRuns[source]! + readSet.directRuns[source]!;
      const keptBytes = readSet.stagedBytes[source]! + readSet.directBytes[source]!;
      const isSame = keptRuns === runs[source] && keptBytes === bytes[source];
      assert(isSame, () => `remote reads: source ${source} kept ${keptRuns} runs, ${keptBytes} B`);
    }
  }

  #count(row: number): RowReads {
    const { blocksPerSlice } = this.#layout;
    const first = row * blocksPerSlice;
    let runs = 0;
    let blocks = 0;
    let lastRead = -Infinity;
    for (let slot = 0; slot < blocksPerSlice; slot++) {
      if (!this.#isRead(first + slot)) continue;
      const hole = slot - lastRead - 1;
      if (hole > this.#bridgedBlocksMax) runs++;
      else blocks += hole;
      blocks++;
      lastRead = slot;
    }
    return { runs, blocks };
  }
}
