/**
 * The scheduler's memory port over cache, arena and moves.
 *
 * Built by the engine. It answers "is there a local block" in the order of what costs least: free
 * blocks, own slices nobody uses yet, own slices lent to others (a DEMAND recall), sealed blocks
 * moved out to borrowed slices. Only when all of that fails somebody has to give way.
 */

import { LOCAL_SOURCE, type Arena, type KvCache } from "../kvcache/index.ts";
import type { MemoryAnswer, MemoryPort, Sequences } from "../scheduler/index.ts";
import type { Residency } from "./residency.ts";
import type { StepPlanner } from "./step-planner.ts";

export interface EngineMemoryOptions {
  readonly ownSlices: number;
  /** Slices it could borrow at the very most: its limit, and what all others lend when idle. */
  readonly borrowSlicesMax: number;
}

export class EngineMemory implements MemoryPort {
  readonly #options: EngineMemoryOptions;
  readonly #kv: KvCache;
  readonly #arena: Arena;
  readonly #planner: StepPlanner;
  #residency: Residency | null = null;
  #sequences: Sequences | null = null;

  constructor(
    options: EngineMemoryOptions,
    kv: KvCache,
    arena: Arena,
    planner: StepPlanner,
  ) {
    this.#options = options;
    this.#kv = kv;
    this.#arena = arena;
    this.#planner = planner;
  }

  /** The parts that need the scheduler, which needs this port. */
  connect(residency: Residency, sequences: Sequences): void {
    this.#residency = residency;
    this.#sequences = sequences;
  }

  get isElastic(): boolean {
    return this.#arena.isElastic;
  }

  get chunkReserveBlocks(): number {
    const count = this.#sequences?.count ?? 0;
    // A lone sequence has nobody to leave room for, and may need the last block.
    if (this.#arena.borrowedSlices === 0 || count <= 1) return 0;
    return Math.ceil(count / this.#kv.layout.blockTokens) + 1;
  }

  obtainLocal(blocks: number, nowNs: number): MemoryAnswer {
    const { slices, layout } = this.#kv;
    if (slices.freeBlocks[LOCAL_SOURCE]! >= blocks) return "ready";
    if (!this.#arena.isElastic) return "none";
    if (this.#arena.offeredSlices > 0) {
      if (this.#arena.withdrawFor(blocks, nowNs)) return "ready";
      const short = blocks - slices.freeBlocks[LOCAL_SOURCE]!;
      const rows = Math.ceil(short / layout.blocksPerSlice);
      if (this.#arena.recall(rows, "demand", nowNs)) return "coming";
    }
    if (this.#arena.isAwaitingReturn) return "coming";
    const residency = this.#residency!;
    residency.makeLocalRoom(blocks, nowNs);
    if (residency.outgoingBlocks > 0) return "coming";
    return this.#yieldRing(blocks) ? "ready" : "none";
  }

  /** A lone sequence that has outgrown the rest gets the ring too, and is read in place. */
  #yieldRing(blocks: number): boolean {
    if (this.#sequences!.count > 1) return false;
    this.#planner.ring.release();
    return this.#kv.slices.freeBlocks[LOCAL_SOURCE]! >= blocks;
  }

  capacityBlocks(): number {
    const own = this.#options.ownSlices - this.#planner.ring.slices;
    return (own + this.#arena.borrowedSlices) * this.#kv.layout.blocksPerSlice;
  }

  capacityMaxBlocks(): number {
    const { ownSlices, borrowSlicesMax } = this.#options;
    const borrowable = this.#arena.isElastic ? borrowSlicesMax : 0;
    return (ownSlices + borrowable) * this.#kv.layout.blocksPerSlice;
  }

  freeBlocks(): number {
    const { freeBlocks } = this.#kv.slices;
    let free = freeBlocks[LOCAL_SOURCE]!;
    for (let source = 1; source < this.#arena.hostSource; source++) free += freeBlocks[source]!;
    return free + this.#arena.offeredSlices * this.#kv.layout.blocksPerSlice;
  }

  freeLocalBlocks(): number {
    return this.#kv.slices.freeBlocks[LOCAL_SOURCE]!;
  }
}
