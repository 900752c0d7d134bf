/**
 * Blocks that running sequences have, still need for their prompts, and are expected to grow by.
 *
 * Kept by the scheduler, which surveys a step and adds what it starts; read by the engine's borrow
 * controller. A step with nobody who waits, of an engine that neither lends nor borrows, is not
 * surveyed: nobody reads it. It decides nothing but whether one more request fits (admission.ts).
 *
 * Invariant: after a survey the sums are those of the running sequences; with none they are zero.
 */

import { assert } from "../base/index.ts";
import type { KvCache } from "../kvcache/index.ts";
import { admits, type AdmissionSetting } from "./admission.ts";
import type { MemoryPort } from "./memory-port.ts";
import type { OutputPredictor } from "./output-predictor.ts";
import type { Sequences } from "./sequences.ts";
import { ShareRange } from "./share-range.ts";

/** Sums over the running sequences. */
export class Claims {
  /** Blocks of running sequences. */
  usedBlocks = 0;
  /** Blocks that admitted prompts, and the token after them, need beyond those. */
  claimedBlocks = 0;
  /** Expected further blocks, all of them; a fraction, as it is a sum of expectations. */
  growthBlocks = 0;
  /** Shares of growth under which every start, and every loan ahead of one, would be as it was. */
  readonly sameShares = new ShareRange();
  readonly #sequences: Sequences;
  readonly #kv: KvCache;
  readonly #predictor: OutputPredictor;

  constructor(sequences: Sequences, kv: KvCache, predictor: OutputPredictor) {
    this.#sequences = sequences;
    this.#kv = kv;
    this.#predictor = predictor;
  }

  /** Adds up anew. */
  survey(): void {
    this.clear();
    this.#add(0);
  }

  /** Counts the sequence admitted last too, with the blocks it has by now. */
  addYoungest(): void {
    this.#add(this.#sequences.count - 1);
  }

  /** Counts those from an index of the order on. Sums stay in registers: this is walked a token. */
  #add(from: number): void {
    const { order, count, promptTokens, generatedTokens } = this.#sequences;
    const kv = this.#kv;
    const { blockTokens } = kv.layout;
    let { usedBlocks, claimedBlocks, growthBlocks } = this;
    for (let index = from; index < count; index++) {
      const row = order[index]!;
      const generated = generatedTokens[row]!;
      const blocks = kv.blockCount(row);
      usedBlocks += blocks;
      const missing = promptTokens[row]! + generated + 1 - blocks * blockTokens;
      if (missing > 0) claimedBlocks += Math.ceil(missing / blockTokens);
      growthBlocks += this.#growthOf(generated);
    }
    this.usedBlocks = usedBlocks;
    this.claimedBlocks = claimedBlocks;
    this.growthBlocks = growthBlocks;
  }

  clear(): void {
    this.usedBlocks = 0;
    this.claimedBlocks = 0;
    this.growthBlocks = 0;
  }

  /** Whether a request of `needBlocks` may start next to what is counted. */
  hasRoomFor(
    needBlocks: number,
    generatedTokens: number,
    setting: AdmissionSetting,
    memory: MemoryPort,
  ): boolean {
    if (setting.present !== undefined) return needBlocks <= memory.freeBlocks();
    const state = {
      capacityBlocks: memory.capacityBlocks(),
      usedBlocks: this.usedBlocks,
      claimedBlocks: this.claimedBlocks,
      growthBlocks: this.growthBlocks,
      runningSequences: this.#sequences.count,
    };
    const growth = this.#growthOf(generatedTokens);
    if (state.runningSequences > 0) {
      const room = state.capacityBlocks - this.usedBlocks - this.claimedBlocks - needBlocks;
      this.sameShares.note(setting.growthShare, this.growthBlocks + growth, room);
    }
    if (!admits(setting, state, needBlocks, growth)) return false;
    return needBlocks + this.claimedBlocks <= memory.freeBlocks();
  }

  /** The same of own memory alone: nothing of the request, and of what grows, crosses a link. */
  hasLocalRoomFor(
    needBlocks: number,
    generatedTokens: number,
    setting: AdmissionSetting,
    memory: MemoryPort,
  ): boolean {
    const growth = this.growthBlocks + this.#growthOf(generatedTokens);
    const later = setting.growthShare * growth;
    const free = memory.freeLocalBlocks();
    this.sameShares.note(setting.growthShare, growth, free - needBlocks - this.claimedBlocks);
    return needBlocks + this.claimedBlocks + later <= free;
  }

  /** Share of memory that is used and promised once a request of `needBlocks` has started. */
  fullShare(needBlocks: number, memory: MemoryPort): number {
    return (this.usedBlocks + this.claimedBlocks + needBlocks) / memory.capacityBlocks();
  }

  /** Sums are of some sequences, so they are of none where there is none. */
  check(): void {
    const sums = [this.usedBlocks, this.claimedBlocks, this.growthBlocks];
    const isSound = sums.every((sum) => sum >= 0 && (sum === 0 || this.#sequences.count > 0));
    assert(isSound, () => `claims: ${sums.join(" ")} of ${this.#sequences.count} sequences`);
  }

  blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.#kv.layout.blockTokens);
  }

  #growthOf(generatedTokens: number): number {
    return this.#predictor.remainingTokens(generatedTokens) / this.#kv.layout.blockTokens;
  }
}
