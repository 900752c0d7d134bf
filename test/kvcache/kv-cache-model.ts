/**
 * A naive KV cache: every block in a Map by its handle, everything counted anew.
 *
 * Oracle of kv-cache.test.ts. Which slot a new block gets is left open: the model takes it from the
 * real cache and checks that it was free and allowed.
 */

import { strict as assert } from "node:assert";
import { createKvLayout, KvCache, RowState } from "../../src/kvcache/index.ts";
import { ReadSet } from "../../src/prefetch/index.ts";

export const LOCAL_ROWS = [0, 1, 2];
/** By row: three of its own, two of one lender, one of another, one of the host. */
export const SOURCE_OF_ROW = [0, 0, 0, 1, 1, 2, 3];
export const SOURCE_COUNT = 4;
export const BLOCK_TOKENS = 4;
export const BLOCKS_PER_SLICE = 6;
const BRIDGED_BLOCKS_MAX = 1;
/** The last one is beyond the first capacity of the cache's columns. */
export const SEQUENCES = [0, 1, 2, 130];

const BYTES_PER_TOKEN = 24;
const LAYERS = 3;

export interface ModelSequence {
  /** Handles of its blocks, in order. */
  blocks: number[];
  sealed: number;
  isActive: boolean;
}

export interface ModelMove {
  readonly sequence: number;
  readonly firstBlock: number;
  readonly targetRow: number;
  readonly targets: number[];
  isOrphaned: boolean;
  isTargetLost: boolean;
}

export function newCache(): KvCache {
  // One slot's worth of bytes is left over in every slice.
  const sliceBytes = BYTES_PER_TOKEN * BLOCK_TOKENS * BLOCKS_PER_SLICE + 7;
  const kv = new KvCache({
    layout: createKvLayout(BYTES_PER_TOKEN, LAYERS, BLOCK_TOKENS, sliceBytes),
    sourceOfRow: Int16Array.from(SOURCE_OF_ROW),
    sourceCount: SOURCE_COUNT,
    readSet: new ReadSet(SOURCE_COUNT, 2),
    bridgedBlocksMax: BRIDGED_BLOCKS_MAX,
  });
  SOURCE_OF_ROW.forEach((_, row) => kv.slices.admit(row));
  return kv;
}

export class KvModel {
  readonly sequences = new Map<number, ModelSequence>();
  readonly moves = new Map<number, ModelMove>();
  readonly rowStates = SOURCE_OF_ROW.map(() => RowState.Usable as RowState);
  allocated = 0;

  sequence(id: number): ModelSequence {
    const known = this.sequences.get(id);
    if (known !== undefined) return known;
    const fresh = { blocks: [], sealed: 0, isActive: false };
    this.sequences.set(id, fresh);
    return fresh;
  }

  /** Every slot that is taken, with what it holds. */
  taken(): Map<number, string> {
    const slots = new Map<number, string>();
    const put = (handle: number, text: string): void => {
      assert.equal(slots.has(handle), false);
      slots.set(handle, text);
    };
    for (const [id, { blocks }] of this.sequences) {
      blocks.forEach((handle, block) => put(handle, `${id}.${block}`));
    }
    for (const { sequence, firstBlock, targets, isTargetLost } of this.moves.values()) {
      if (isTargetLost) continue;
      targets.forEach((handle, offset) => put(handle, `${sequence}.${firstBlock + offset}`));
    }
    return slots;
  }

  isRowEmpty(row: number): boolean {
    return ![...this.taken().keys()].some((handle) => rowOf(handle) === row);
  }

  /** Free slots in rows that take new blocks. */
  free(rows: readonly number[]): number[] {
    const taken = this.taken();
    return rows
      .filter((row) => this.rowStates[row] === RowState.Usable)
      .flatMap((row) => Array.from({ length: BLOCKS_PER_SLICE }, (_, slot) =>
        row * BLOCKS_PER_SLICE + slot))
      .filter((handle) => !taken.has(handle));
  }

  /** Whether a move that has not been given up copies from this block. */
  isMoving(id: number, block: number): boolean {
    return [...this.moves.values()].some(
      ({ sequence, firstBlock, targets, isOrphaned }) =>
        sequence === id && !isOrphaned && block >= firstBlock &&
        block < firstBlock + targets.length,
    );
  }

  isMovable(id: number, block: number, source: number): boolean {
    const { blocks, sealed } = this.sequence(id);
    const isThere = SOURCE_OF_ROW[rowOf(blocks[block] ?? 0)] === source;
    return block < sealed && isThere && !this.isMoving(id, block);
  }

  /** First run of movable blocks from `from` on. */
  findMovable(id: number, source: number, from: number, max: number): number[] {
    const found: number[] = [];
    for (let block = from; block < this.sequence(id).sealed; block++) {
      const isNext = this.isMovable(id, block, source) && found.length < max;
      if (isNext) found.push(block);
      else if (found.length > 0) break;
    }
    return found;
  }

  /** By source: copies and bytes of one layer that a step reads, small holes copied along. */
  reads(): { rows: number[]; runs: number[]; bytes: number[] } {
    const slots = new Map<number, number[]>();
    for (const { blocks, isActive } of this.sequences.values()) {
      for (const handle of isActive ? blocks : []) {
        const row = rowOf(handle);
        if (SOURCE_OF_ROW[row] === 0) continue;
        slots.set(row, [...(slots.get(row) ?? []), handle % BLOCKS_PER_SLICE]);
      }
    }
    const runs = SOURCE_OF_ROW.slice(0, SOURCE_COUNT).map(() => 0);
    const bytes = [...runs];
    for (const [row, read] of slots) {
      const ends = copies(read.sort((a, b) => a - b));
      const source = SOURCE_OF_ROW[row]!;
      runs[source]! += ends.length;
      for (const [first, last] of ends) {
        bytes[source]! += ((last - first + 1) * BYTES_PER_TOKEN * BLOCK_TOKENS) / LAYERS;
      }
    }
    return { rows: [...slots.keys()].sort((a, b) => a - b), runs, bytes };
  }

  compare(kv: KvCache): void {
    kv.check();
    const taken = this.taken();
    kv.slices.slotOwner.forEach((owner, handle) => {
      const text = owner < 0 ? undefined : `${owner}.${kv.slices.slotIndex[handle]}`;
      assert.equal(text, taken.get(handle));
    });
    assert.deepEqual([...kv.slices.state], this.rowStates);
    assert.equal(kv.allocatedBlocks, this.allocated);
    assert.deepEqual([...kv.moves.keys()].sort(), [...this.moves.keys()].sort());
    for (const id of SEQUENCES) this.#compareSequence(kv, id);
    for (let source = 0; source < SOURCE_COUNT; source++) {
      const there = [...taken.keys()].filter((at) => SOURCE_OF_ROW[rowOf(at)] === source);
      assert.equal(kv.usedBlocks(source), there.length);
    }
  }

  #compareSequence(kv: KvCache, id: number): void {
    const { blocks, sealed, isActive } = this.sequence(id);
    assert.equal(kv.blockCount(id), blocks.length);
    assert.equal(kv.sealedBlocks(id), sealed);
    assert.equal(kv.isActive(id), isActive);
    blocks.forEach((handle, block) => {
      assert.equal(kv.handleOf(id, block), handle);
      assert.equal(kv.liveOwner(handle), id);
    });
    let movable = 0;
    for (let block = 0; block < sealed; block++) if (this.isMovable(id, block, 0)) movable++;
    assert.equal(kv.movableLocalBlocks(id), movable);
    const going = [...this.moves.values()].filter(
      (move) => move.sequence === id && !move.isOrphaned,
    );
    const rows = blocks.map(rowOf);
    assert.equal(kv.touches(id, new Set([3, 4])), rows.includes(3) || rows.includes(4));
    for (let source = 0; source < SOURCE_COUNT; source++) {
      const there = blocks.filter((handle) => SOURCE_OF_ROW[rowOf(handle)] === source);
      assert.equal(kv.blocksAt(id, source), there.length);
      const isGoing = going.some(({ targetRow }) => SOURCE_OF_ROW[targetRow] === source);
      assert.equal(kv.isBoundFor(id, source), there.length > 0 || isGoing);
    }
  }

  /** Only after syncReadSet: until then the read set is that of the last one. */
  compareReads(kv: KvCache): void {
    const { rows, runs, bytes } = this.reads();
    const { readSet } = kv;
    assert.deepEqual(SOURCE_OF_ROW.map((_, row) => row).filter((row) => readSet.has(row)), rows);
    for (let source = 0; source < SOURCE_COUNT; source++) {
      assert.equal(readSet.stagedRuns[source]! + readSet.directRuns[source]!, runs[source]);
      assert.equal(readSet.stagedBytes[source]! + readSet.directBytes[source]!, bytes[source]);
    }
  }
}

/** First and last slot of every copy. */
function copies(slots: readonly number[]): [number, number][] {
  const ends: [number, number][] = [];
  for (const slot of slots) {
    const last = ends.at(-1);
    if (last !== undefined && slot - last[1] - 1 <= BRIDGED_BLOCKS_MAX) last[1] = slot;
    else ends.push([slot, slot]);
  }
  return ends;
}

export function rowOf(handle: number): number {
  return Math.floor(handle / BLOCKS_PER_SLICE);
}
