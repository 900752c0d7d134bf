/**
 * Gives loans back that cost more than they bring, unasked.
 *
 * Called by the borrow controller a few times a second while there are loans. Two reasons:
 *
 *     a lender's account is losing   all of it goes back, and no questions for a while
 *     time per token is missed       an eighth of all goes back, and again until it is kept
 *
 * A slice in use takes no new blocks and goes when its sequences end; sequences may go on for long,
 * so what they have at a losing lender comes home as room is made. It decides what goes, not how.
 */

import { engineId, NS_PER_SECOND } from "../base/index.ts";
import type { Arena, KvCache } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import type { LoanTrust } from "./loan-trust.ts";
import type { RecallLadder } from "./recall-ladder.ts";
import type { Residency } from "./residency.ts";
import type { TokenTimes } from "./token-times.ts";

export interface LoanRetreatParts {
  readonly pool: Pool;
  readonly arena: Arena;
  readonly kv: KvCache;
  readonly ladder: RecallLadder;
  readonly residency: Residency;
  readonly tokenTimes: TokenTimes;
}

export interface LoanRetreatOptions {
  readonly engineCount: number;
  readonly tpotTargetNs: number;
  readonly lenderShare: number | null;
}

/** Of the loans, what goes back while time per token is missed, and how often that is looked at. */
const SHED_SHARE = 1 / 8;
const SHED_PERIOD_NS = 3 * NS_PER_SECOND;

export class LoanRetreat {
  readonly #options: LoanRetreatOptions;
  readonly #parts: LoanRetreatParts;
  readonly #trust: LoanTrust;
  #shedAgainNs = 0;

  constructor(options: LoanRetreatOptions, parts: LoanRetreatParts, trust: LoanTrust) {
    this.#options = options;
    this.#parts = parts;
    this.#trust = trust;
  }

  retreat(nowNs: number): void {
    this.#leaveLosing(nowNs);
    this.#shedLate(nowNs);
  }

  #leaveLosing(nowNs: number): void {
    const { pool, arena, kv, ladder, residency } = this.#parts;
    for (let other = 0; other < this.#options.engineCount; other++) {
      const lender = engineId(other);
      if (kv.slices.heldRows[other + 1] === 0) continue;
      if (!pool.isLosing(lender, arena.engine, nowNs)) continue;
      this.#trust.lost(nowNs);
      ladder.leave(lender, nowNs);
      // A running lender that gives nothing would hold the moves up.
      const isMute = this.#options.lenderShare === 0 && pool.isRunning(lender);
      if (!isMute) residency.comeHome(other + 1, nowNs);
    }
  }

  /** The slowest requests that ended of late were slower than the target. */
  #shedLate(nowNs: number): void {
    const { arena, ladder, tokenTimes } = this.#parts;
    if (nowNs < this.#shedAgainNs || tokenTimes.slowNs <= this.#options.tpotTargetNs) return;
    this.#shedAgainNs = nowNs + SHED_PERIOD_NS;
    ladder.shed(Math.ceil(SHED_SHARE * arena.borrowedSlices), nowNs);
  }
}
