/**
 * What loans earn a borrower and what their recalls cost it, lender by lender, in tokens.
 *
 * Fed by the engine at each step's end and at each dropped sequence; settled with the pool once a
 * second. A loan earns the share of the step's tokens that its bytes carried, less what those bytes
 * made the step longer; a dropped sequence costs the tokens that its recomputation displaces.
 */

import { engineId, NS_PER_SECOND } from "../base/index.ts";
import type { Arena, KvCache } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import type { Scheduler } from "../scheduler/index.ts";
import type { EngineOptions } from "./engine-options.ts";
import type { StepTiming } from "./ports.ts";

/** Prefill is costed a batch of this many tokens at a time. */
const PREFILL_TOKENS = 1024;

export class LoanAccounts {
  readonly #kv: KvCache;
  readonly #scheduler: Scheduler;
  /** Time to compute one token of a prompt. */
  readonly #prefillNsPerToken: number;
  readonly #earned: Float64Array;
  #produced = 0;
  #settledNs = 0;

  constructor(options: EngineOptions, kv: KvCache, scheduler: Scheduler) {
    this.#kv = kv;
    this.#scheduler = scheduler;
    const layerNs = options.cost.linearLayerNs(PREFILL_TOKENS);
    this.#prefillNsPerToken = (layerNs * options.layout.layers) / PREFILL_TOKENS;
    this.#earned = new Float64Array(options.engineCount);
  }

  /** A step made `tokens` tokens. */
  earn(tokens: number, timing: StepTiming): void {
    this.#produced += tokens;
    let total = 0;
    for (let source = 0; source < this.#kv.sourceCount; source++) {
      total += this.#kv.usedBlocks(source);
    }
    const stepNs = timing.endNs - timing.startNs;
    if (total === 0 || stepNs <= 0) return;
    const slower = (stepNs - timing.localNs) / stepNs;
    for (let lender = 0; lender < this.#earned.length; lender++) {
      const share = this.#kv.usedBlocks(lender + 1) / total;
      if (share > 0) this.#earned[lender]! += tokens * share * (1 - slower);
    }
  }

  /** A recall of `lender` drops this sequence: the tokens that its recomputation displaces. */
  chargeRecompute(lender: number, row: number, stepNs: number): void {
    const recomputeNs =
      this.#scheduler.sequences.computedTokens[row]! * this.#prefillNsPerToken;
    const tokensPerStep = Math.max(1, this.#scheduler.batch.decodeSequences);
    this.#earned[lender]! -= (recomputeNs / stepNs) * tokensPerStep;
  }

  /** Tells the pool, at most once a second. */
  settle(arena: Arena, pool: Pool, nowNs: number): void {
    if (nowNs - this.#settledNs < NS_PER_SECOND) return;
    this.#settledNs = nowNs;
    const { engine } = arena;
    for (let lender = 0; lender < this.#earned.length; lender++) {
      const earnedTokens = this.#earned[lender]!;
      if (earnedTokens === 0) continue;
      const producedTokens = this.#produced;
      const other = engineId(lender);
      pool.apply(
        { type: "SettleAccount", engine, lender: other, earnedTokens, producedTokens },
        nowNs,
      );
      this.#earned[lender] = 0;
    }
    this.#produced = 0;
  }
}
