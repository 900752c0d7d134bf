/**
 * Puts running sequences into the step being decided, as far as budget and memory go.
 *
 * Used by the scheduler, which decides the order: decodes, then prompts in work, then whom it
 * admits. A decode that finds no block makes somebody give way (who-yields.ts); a prompt takes what
 * is free beyond the reserve and goes on in the next step.
 *
 * Invariants: an entry has KV blocks for its tokens; nobody gives way while memory is coming.
 */

import type { KvCache } from "../kvcache/index.ts";
import type { AdmissionSetting } from "./admission.ts";
import type { MemoryPort } from "./memory-port.ts";
import type { Sequences } from "./sequences.ts";
import type { StepsAhead } from "./steps-ahead.ts";
import { whoYields } from "./who-yields.ts";

export class StepFill {
  /** Whether somebody was left out for want of memory; cleared by whoever decides a step. */
  isMemoryShort = false;
  /** Whether the walk over the decodes met a prompt in work. */
  #hasPrompts = false;
  /** Of the sequences, when the last walk was made. */
  #version = -1;
  readonly #sequences: Sequences;
  readonly #kv: KvCache;
  readonly #memory: MemoryPort;
  readonly #steps: StepsAhead;
  readonly #isByAge: boolean;
  readonly #preempt: (row: number, nowNs: number) => void;

  /**
   * @param admission by vLLM's rules the youngest gives way whatever it costs.
   * @param preempt frees all blocks of a sequence, which leaves the running ones.
   */
  constructor(
    sequences: Sequences,
    kv: KvCache,
    memory: MemoryPort,
    steps: StepsAhead,
    admission: AdmissionSetting,
    preempt: (row: number, nowNs: number) => void,
  ) {
    this.#sequences = sequences;
    this.#kv = kv;
    this.#memory = memory;
    this.#steps = steps;
    this.#isByAge = admission.present !== undefined;
    this.#preempt = preempt;
  }

  /** @returns the row that gives way, of those from a position in the order of age on. */
  whoYields(from: number): number {
    const { order, count } = this.#sequences;
    return this.#isByAge ? order[count - 1]! : whoYields(this.#sequences, from);
  }

  /** A new step; what the last one computed is kept if this one may go on with it. */
  begin(): void {
    this.isMemoryShort = false;
    if (!this.#isSteady()) this.#steps.upcoming.clear();
  }

  /**
   * @param isAnyLeftOut whether somebody is left out of this step or parked.
   * @returns the budget of query tokens that is left.
   */
  addDecodes(budget: number, isAnyLeftOut: boolean, nowNs: number): number {
    const { upcoming } = this.#steps;
    if (!isAnyLeftOut && this.#goOn()) return budget - upcoming.count;
    upcoming.clear();
    return this.#walk(budget, nowNs);
  }

  /**
   * Whether the last step was one of decodes, of all that run now and nobody else, and each has got
   * its token: then each has one more to compute.
   */
  #isSteady(): boolean {
    const { upcoming } = this.#steps;
    const { count, version, computedTokens } = this.#sequences;
    if (count === 0 || upcoming.count !== count || this.#version !== version) return false;
    const row = upcoming.rows[0]!;
    return upcoming.isDecodesOnly && computedTokens[row] === upcoming.pastTokens[0]! + 1;
  }

  /** The steps of a steady engine: one block in `blockTokens` is full, the rest stays as it is. */
  #goOn(): boolean {
    if (!this.#isSteady()) return false;
    const { upcoming } = this.#steps;
    const { rows, pastTokens, count } = upcoming;
    const { blockTokens } = this.#kv.layout;
    let full = 0;
    for (let index = 0; index < count; index++) {
      if ((pastTokens[index]! + 1) % blockTokens === 0) full++;
    }
    if (full > this.#memory.freeLocalBlocks()) return false;
    upcoming.goOn();
    if (full === 0) return true;
    for (let index = 0; index < count; index++) {
      const past = pastTokens[index]!;
      if (past % blockTokens === 0) this.#kv.extend(rows[index]!, past + 1);
    }
    return true;
  }

  #walk(budget: number, nowNs: number): number {
    const sequences = this.#sequences;
    const { order } = sequences;
    const { upcoming } = this.#steps;
    let left = budget;
    this.#hasPrompts = false;
    this.#version = sequences.version;
    for (let index = 0; index < sequences.count && left > 0; index++) {
      const row = order[index]!;
      const pending = sequences.pendingTokens(row);
      if (pending !== 1) {
        if (pending > 1) this.#hasPrompts = true;
        continue;
      }
      if (!this.#kv.isActive(row)) continue;
      const computed = sequences.scheduledTokens(row);
      if (!this.#extendOrYield(row, computed + 1, index, nowNs)) continue;
      upcoming.add(row, 1, computed, true);
      left--;
    }
    return left;
  }

  /**
   * To be called after the decodes of the same step.
   *
   * @param isYielding the youngest gives way to prompts in work too, be it the prompt itself
   * (vLLM's rule); else a prompt takes what is free.
   * @returns the budget of query tokens that is left.
   */
  addPrompts(budget: number, nowNs: number, isYielding: boolean): number {
    const sequences = this.#sequences;
    if (!this.#hasPrompts) return budget;
    let left = budget;
    for (let index = 0; index < sequences.count && left > 0; index++) {
      const row = sequences.order[index]!;
      const pending = sequences.pendingTokens(row);
      if (!this.#kv.isActive(row) || pending <= 1) continue;
      const end = sequences.scheduledTokens(row) + Math.min(pending, left);
      if (isYielding && !this.#extendOrYield(row, end, index, nowNs)) continue;
      left -= this.addChunk(row, left, nowNs);
    }
    return left;
  }

  /** Adds as much of a prompt as budget and local memory allow. @returns query tokens added. */
  addChunk(row: number, budget: number, nowNs: number): number {
    const pending = this.#sequences.pendingTokens(row);
    const computed = this.#sequences.scheduledTokens(row);
    let tokens = Math.min(pending, budget);
    const missing = this.#kv.missingBlocks(row, computed + tokens);
    const reserve = this.#memory.chunkReserveBlocks;
    if (missing > 0 && this.#memory.obtainLocal(missing + reserve, nowNs) !== "ready") {
      this.isMemoryShort = true;
      const free = Math.max(0, this.#memory.freeLocalBlocks() - reserve);
      const blocks = this.#kv.blockCount(row) + free;
      tokens = Math.min(tokens, blocks * this.#kv.layout.blockTokens - computed);
    }
    if (tokens <= 0 || !this.#kv.extend(row, computed + tokens)) return 0;
    this.#steps.upcoming.add(row, tokens, computed, tokens === pending);
    return tokens;
  }

  /**
   * Makes others that are younger, or itself, give way if need be.
   *
   * @param position of the row in the order of age.
   * @returns false when this row does not run now.
   */
  #extendOrYield(row: number, tokens: number, position: number, nowNs: number): boolean {
    const sequences = this.#sequences;
    while (!this.#kv.extend(row, tokens)) {
      const answer = this.#memory.obtainLocal(this.#kv.missingBlocks(row, tokens), nowNs);
      if (answer === "ready") continue;
      this.isMemoryShort = true;
      if (answer === "coming") return false;
      const victim = this.whoYields(position + 1);
      if (victim === row && sequences.count === 1) return false;
      this.#preempt(victim, nowNs);
      if (victim === row) return false;
    }
    return true;
  }
}
