/**
 * Brings blocks home while links carry less than what is out.
 *
 * Called by the engine between steps. Sequences that steps leave out come home, as far as there is
 * room and until links carry the rest of each; before anybody is admitted to the room, or it would
 * be filled while they wait. Lenders that run are left in a way of their own, which minds what they
 * give (lender-watch.ts). It knows blocks and moves, not rates.
 */

import { LOCAL_SOURCE, type Arena, type KvCache } from "../kvcache/index.ts";
import type { Sequences } from "../scheduler/index.ts";
import type { Residency } from "./residency.ts";

export class LinkRelief {
  readonly #kv: KvCache;
  readonly #arena: Arena;
  readonly #sequences: Sequences;
  readonly #residency: Residency;

  constructor(kv: KvCache, arena: Arena, sequences: Sequences, residency: Residency) {
    this.#kv = kv;
    this.#arena = arena;
    this.#sequences = sequences;
    this.#residency = residency;
  }

  /** The oldest sequence first. */
  relieve(nowNs: number): void {
    const { order, count, skips, isParked } = this.#sequences;
    const { places, sequenceBlocksOut } = this.#residency;
    for (let index = 0; index < count && places.homeBlocks() > 0; index++) {
      const row = order[index]!;
      if (skips[row] === 0 && isParked[row] === 0) continue;
      this.#bringHome(row, this.#blocksStaying(row) - sequenceBlocksOut, nowNs);
    }
  }

  #bringHome(row: number, blocks: number, nowNs: number): void {
    const residency = this.#residency;
    let left = blocks;
    for (let source = 1; source < this.#arena.hostSource && left > 0; source++) {
      if (this.#arena.isLenderRunning[source - 1] === 1) continue;
      while (left > 0) {
        // No more: what lands in the room of the next steps' growth would have to move out again.
        const most = Math.min(left, residency.places.homeBlocks());
        const moved = residency.moveRun(row, source, LOCAL_SOURCE, "home", false, nowNs, most);
        if (moved === 0) break;
        left -= moved;
      }
    }
  }

  /** Blocks of a sequence that are out and not on their way home. */
  #blocksStaying(row: number): number {
    let blocks = blocksOut(this.#kv, row);
    for (const { sequence, targetSource, blockCount, isOrphaned } of this.#kv.moves.values()) {
      if (sequence === row && targetSource === LOCAL_SOURCE && !isOrphaned) blocks -= blockCount;
    }
    return blocks;
  }
}

/** Blocks of a sequence that are not in the engine's own memory. */
export function blocksOut(kv: KvCache, sequence: number): number {
  return kv.blockCount(sequence) - kv.blocksAt(sequence, LOCAL_SOURCE);
}
