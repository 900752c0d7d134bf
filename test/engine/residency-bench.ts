/**
 * An engine's blocks and moves without an engine: eight slices of its own, two lenders, a host.
 *
 * Tests of what moves blocks put sequences here, let copies end when they like, and look at where
 * blocks lie. Cache, sequences and residency are the real ones; the arena is what they ask of it.
 */

import { EngineCounters } from "../../src/engine/engine-counters.ts";
import { LinkRelief } from "../../src/engine/link-relief.ts";
import type { CopyEngine, CopyRequest } from "../../src/engine/ports.ts";
import { Residency } from "../../src/engine/residency.ts";
import { createKvLayout, KvCache, LOCAL_SOURCE, type Arena } from "../../src/kvcache/index.ts";
import { ReadSet } from "../../src/prefetch/index.ts";
import { Sequences } from "../../src/scheduler/index.ts";

export const OWN_ROWS = [0, 1, 2, 3, 4, 5, 6, 7];
export const BLOCKS_PER_SLICE = 4;
/** Three slices of each lender are borrowed. */
export const [LENDER, OTHER_LENDER, HOST] = [1, 2, 3];
const SOURCE_OF_ROW = [...OWN_ROWS.map(() => LOCAL_SOURCE), 1, 1, 1, 2, 2, 2, 3, 3];
const SOURCE_COUNT = 4;
const BLOCK_TOKENS = 4;
export const LAYERS = 24;
const MIB = 1024 * 1024;

/** Copies that end when a test says so. */
class HeldCopies implements CopyEngine {
  readonly requests: CopyRequest[] = [];
  readonly #ended: number[] = [];
  #endedCount = 0;

  submit(request: CopyRequest): void {
    this.requests.push(request);
  }

  /** @returns whether there was one left to end. */
  endNext(): boolean {
    const request = this.requests[this.#endedCount];
    if (request === undefined) return false;
    this.#endedCount++;
    this.#ended.push(request.id);
    return true;
  }

  poll(): number {
    return this.#ended.shift() ?? -1;
  }

  nextDueNs(): number {
    return Infinity;
  }

  abort(): void {}
}

export class ResidencyBench {
  readonly kv: KvCache;
  readonly sequences = new Sequences(16);
  readonly copies = new HeldCopies();
  readonly residency: Residency;
  readonly relief: LinkRelief;
  /** (engines) of the arena: whether a lender runs. */
  readonly isLenderRunning = new Uint8Array(SOURCE_COUNT - 1);
  #requests = 0;

  /** A block is 1 MiB a layer. */
  constructor() {
    const tokenBytes = (LAYERS * MIB) / BLOCK_TOKENS;
    this.kv = new KvCache({
      layout: createKvLayout(tokenBytes, LAYERS, BLOCK_TOKENS, LAYERS * MIB * BLOCKS_PER_SLICE),
      sourceOfRow: Int16Array.from(SOURCE_OF_ROW),
      sourceCount: SOURCE_COUNT,
      readSet: new ReadSet(SOURCE_COUNT, 4),
      bridgedBlocksMax: 0,
    });
    SOURCE_OF_ROW.forEach((_, row) => this.kv.slices.admit(row));
    const known = { hostSource: HOST, isLenderRunning: this.isLenderRunning };
    const arena = known as unknown as Arena;
    const { kv, copies, sequences } = this;
    this.residency = new Residency(kv, arena, copies, sequences, new EngineCounters());
    this.relief = new LinkRelief(kv, arena, sequences, this.residency);
  }

  /** A sequence of so many full blocks of its own, or -1 where there is no room for it. */
  admit(blocks: number): number {
    const tokens = blocks * BLOCK_TOKENS;
    const row = this.sequences.admit(this.#requests++, tokens, 0, 1);
    if (!this.kv.extend(row, tokens)) {
      this.sequences.remove(row);
      return -1;
    }
    this.kv.seal(row, tokens);
    this.kv.setActive(row, true);
    return row;
  }

  /** It has ended: its blocks are free. */
  end(row: number): void {
    this.kv.release(row);
    this.sequences.remove(row);
  }

  /** Moves so many of its local blocks, or of those at another source, and waits for them. */
  put(row: number, blocks: number, target: number, source = LOCAL_SOURCE): void {
    for (let left = blocks; left > 0; ) {
      const [first, count] = this.kv.findMovable(row, source, 0, left);
      if (count === 0) throw new Error(`bench: ${left} blocks of ${row} stay at ${source}`);
      left -= this.residency.moveBlocks(row, first, count, target, "out", false, 0);
    }
    this.settle();
  }

  /** All copies end, and tables follow. */
  settle(): void {
    while (this.copies.endNext());
    this.residency.poll(0);
    this.residency.settle();
  }

  /** Blocks of a sequence that are on their way to a source. */
  goingTo(row: number, target: number): number {
    let blocks = 0;
    for (const { sequence, targetSource, blockCount } of this.kv.moves.values()) {
      if (sequence === row && targetSource === target) blocks += blockCount;
    }
    return blocks;
  }
}
