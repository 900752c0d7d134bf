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

export class LoanAccounts {
  readonly #earned: Float64Array;
  #produced = 0;
  #settledNs = 0;

  constructor(engineCount: number) {
    this.#earned = new Float64Array(engineCount);
  }

  /** A step made `tokens` tokens; it would have taken `localNs` with all KV local. */
  earn(kv: KvCache, tokens: number, stepNs: number, localNs: number): void {
    this.#produced += tokens;
    let total = 0;
    for (let source = 0; source < kv.sourceCount; source++) total += kv.usedBlocks(source);
    if (total === 0) return;
    const slower = stepNs > 0 ? (stepNs - localNs) / stepNs : 0;
    for (let lender = 0; lender < this.#earned.length; lender++) {
      const share = kv.usedBlocks(lender + 1) / total;
      if (share > 0) this.#earned[lender]! += tokens * share * (1 - slower);
    }
  }

  /** A recall of `lender` made the engine drop work worth so many tokens. */
  charge(lender: number, tokens: number): void {
    this.#earned[lender]! -= tokens;
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
      pool.apply({ type: "SettleAccount", engine, lender: other, earnedTokens, producedTokens }, nowNs);
      this.#earned[lender] = 0;
    }
    this.#produced = 0;
  }
}
