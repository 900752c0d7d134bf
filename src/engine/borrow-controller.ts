/**
 * Decides how many slices an engine asks for, and when it gives unused ones back.
 *
 * Called by the engine a few times a second between steps. Borrowing must pay: the amount is what
 * loan-amount.ts finds best under today's rates; refusals are counted by reason. It knows
 * predictions, not how blocks get there.
 */

import { engineId } from "../base/index.ts";
import { LOCAL_SOURCE, type Arena, type KvCache } from "../kvcache/index.ts";
import type { Obtainable, Pool } from "../pool/index.ts";
import type { Scheduler } from "../scheduler/index.ts";
import type { ArrivalReserve } from "./arrival-reserve.ts";
import {
  LoanAmount,
  type BestSlices,
  type LoanAmountOptions,
  type LoanAmountParts,
} from "./loan-amount.ts";
import {
  LoanRetreat,
  type LoanRetreatOptions,
  type LoanRetreatParts,
} from "./loan-retreat.ts";
import { LoanTrust } from "./loan-trust.ts";
import type { RecallLadder } from "./recall-ladder.ts";
import { ROLE_TIMES, type RoleTimes } from "./role-times.ts";
import { StandOff } from "./stand-off.ts";
import type { StepPlanner } from "./step-planner.ts";

export interface BorrowOptions extends LoanAmountOptions, LoanRetreatOptions {
  readonly roleTimes?: RoleTimes;
}

/** What it decides over. */
export interface BorrowParts extends LoanAmountParts, LoanRetreatParts {
  readonly reserve: ArrivalReserve;
  readonly planner: StepPlanner;
}

/** The most slices one request asks for; the rest is asked for at the next decision. */
const REQUEST_SLICES_MAX = 64;
/** What is borrowed for prompts to come goes home when this many times as much is free at home. */
const RESERVES_KEPT = 2;

export class BorrowController {
  readonly #options: BorrowOptions;
  readonly #times: RoleTimes;
  readonly #pool: Pool;
  readonly #arena: Arena;
  readonly #kv: KvCache;
  readonly #scheduler: Scheduler;
  readonly #amount: LoanAmount;
  readonly #planner: StepPlanner;
  readonly #ladder: RecallLadder;
  readonly #reserve: ArrivalReserve;
  #lastShortNs = -Infinity;
  readonly #trust = new LoanTrust();
  readonly #retreat: LoanRetreat;
  #shortSinceNs = 0;
  readonly #standOff: StandOff;

  constructor(options: BorrowOptions, parts: BorrowParts) {
    this.#options = options;
    this.#times = options.roleTimes ?? ROLE_TIMES;
    this.#pool = parts.pool;
    this.#arena = parts.arena;
    this.#kv = parts.kv;
    this.#scheduler = parts.scheduler;
    this.#amount = new LoanAmount(options, parts);
    this.#planner = parts.planner;
    this.#ladder = parts.ladder;
    this.#retreat = new LoanRetreat(options, parts, this.#trust);
    this.#reserve = parts.reserve;
    this.#standOff = new StandOff(parts.arena.engine);
  }

  /** Its memory is for others, as it can do nothing with it but wait for theirs. */
  get isYielding(): boolean {
    return this.#standOff.isYielding && this.#isStranded();
  }

  decide(nowNs: number): void {
    this.#amount.calm.watch(this.#pool, nowNs);
    if (this.#standOff.decide(this.#isStranded(), this.#arena.lentSlices, nowNs)) {
      this.returnAll(nowNs);
      return;
    }
    const wanted = this.#wantedSlices(nowNs);
    if (wanted <= 0) {
      this.#returnUnused(nowNs);
      return;
    }
    if (nowNs - this.#lastShortNs > this.#times.keepEmptyNs) this.#shortSinceNs = nowNs;
    this.#lastShortNs = nowNs;
    if (this.#arena.offeredSlices > 0) {
      // An engine is lender or borrower: its own memory comes home before it asks for others'.
      this.#arena.endLending(nowNs);
      if (this.#arena.offeredSlices > 0) {
        // The pool refuses a lender, says why, and counts it.
        this.#arena.borrow(wanted, false, nowNs);
        return;
      }
    }
    if (!this.#mayBecomeBorrower(nowNs) && !this.#mustBorrow()) {
      this.#arena.refusals.role++;
      return;
    }
    if (this.#arena.recalls.length > 0) return;
    this.#ask(wanted, nowNs);
  }

  /**
   * A lone sequence that has outgrown the engine's own memory cannot wait for the next decision:
   * nobody else would give way.
   * @returns whether it got a slice.
   */
  helpLoneSequence(nowNs: number): boolean {
    if (this.#scheduler.sequences.count !== 1 || !this.#mustBorrow()) return false;
    const before = this.#arena.borrowedSlices;
    this.decide(nowNs);
    return this.#arena.borrowedSlices > before;
  }

  /** What costs more than it brings goes back; a request that needs others' memory keeps it. */
  retreat(nowNs: number): void {
    if (this.#arena.borrowedSlices > 0 && !this.#mustBorrow()) this.#retreat.retreat(nowNs);
  }

  /** A borrower stays one; others wait until they have not lent, and been short, for a while. */
  #mayBecomeBorrower(nowNs: number): boolean {
    if (this.#arena.borrowedSlices > 0) return true;
    if (nowNs - this.#arena.lentUntilNs < this.#times.lentQuietNs) return false;
    return nowNs - this.#shortSinceNs >= this.#times.shortageNs;
  }

  /** What it offers serves nobody, and others have idle memory: it may be taken home to borrow. */
  #mayTurnBorrower(nowNs: number): boolean {
    if (this.#arena.lentSlices > 0 || !this.#mayBecomeBorrower(nowNs)) return false;
    return this.#idleElsewhere() > 0;
  }

  /** Whether it would get a loan with its own memory home; else that would be offered again. */
  #wouldGetAny(nowNs: number): boolean {
    return this.#more(this.#pool.offeredTo(this.#arena.engine, nowNs), nowNs).slices > 0;
  }

  /** Slices that others offer and nobody holds. */
  #idleElsewhere(): number {
    let slices = 0;
    for (let other = 0; other < this.#options.engineCount; other++) {
      if (other !== this.#arena.engine) slices += this.#pool.idleSlices(engineId(other));
    }
    return slices;
  }

  /** Slices that running sequences' growth and the head of the queue need beyond what is held. */
  #wantedSlices(nowNs: number): number {
    const { isMemoryShort, waiting } = this.#scheduler;
    if (!isMemoryShort || waiting.size === 0) return this.#growthSlices(nowNs);
    const { blocksPerSlice, blockTokens } = this.#kv.layout;
    let blocks = this.#promisedBlocks() + this.#growthBlocks();
    const held = this.#heldBlocks();
    const enough = held + REQUEST_SLICES_MAX * blocksPerSlice;
    for (let position = 0; position < waiting.size && blocks < enough; position++) {
      blocks += waiting.tokensAt(position) / blockTokens + 1;
    }
    return Math.ceil((blocks - held) / blocksPerSlice);
  }

  /**
   * Nobody waits: room for the next tokens, for all that is left of prompts in work, and, where the
   * engine has nothing lent, for the next prompts.
   */
  #growthSlices(nowNs: number): number {
    const { blocksPerSlice } = this.#kv.layout;
    if (this.#scheduler.isMemoryShort) {
      return Math.max(1, Math.ceil(-this.#spareBlocks() / blocksPerSlice));
    }
    if (this.#scheduler.rotation.isLinkFull) return 0;
    if (this.#arena.offeredSlices > 0 && !this.#mayTurnBorrower(nowNs)) return 0;
    const room = this.#spareBlocks() - this.#reserve.loanBlocks;
    const missing = this.#growthBlocks() - room;
    const { growthBlocks, sameShares } = this.#scheduler.claims;
    sameShares.note(this.#options.growthShare, growthBlocks, room);
    if (missing > 0 && this.#arena.offeredSlices > 0 && !this.#wouldGetAny(nowNs)) return 0;
    return Math.ceil(missing / blocksPerSlice);
  }

  /** What is held beyond what running sequences have, and what their prompts still need. */
  #spareBlocks(): number {
    return this.#heldBlocks() - this.#promisedBlocks();
  }

  /** What running sequences have, and what their prompts still need. */
  #promisedBlocks(): number {
    return this.#scheduler.claims.usedBlocks + this.#scheduler.claims.claimedBlocks;
  }

  /** What admission counts of the growth of running sequences. */
  #growthBlocks(): number {
    return this.#options.growthShare * this.#scheduler.claims.growthBlocks;
  }

  #heldBlocks(): number {
    const { layout } = this.#kv;
    const own = this.#options.ownSlices - this.#planner.ring.slices;
    return (own + this.#arena.borrowedSlices) * layout.blocksPerSlice;
  }

  #ask(wanted: number, nowNs: number): void {
    const held = this.#arena.borrowedSlices;
    const limit = this.#pool.borrowLimitOf(this.#arena.engine);
    if (held >= limit) {
      // The pool refuses who has all that it may have, says why, and counts it.
      this.#arena.borrow(1, false, nowNs);
      return;
    }
    const obtainable = this.#pool.obtainable(this.#arena.engine, nowNs);
    const { fromIdleLenders } = obtainable;
    const more = this.#more(obtainable, nowNs);
    const count = Math.min(wanted, more.slices, REQUEST_SLICES_MAX);
    if (count > 0) {
      this.#arena.borrow(Math.ceil(count), count > fromIdleLenders, nowNs);
    } else if (fromIdleLenders === 0) {
      // With nothing to be had, or nothing that a share could carry, the pool says why.
      this.#arena.borrow(1, false, nowNs);
    } else if (more.bound !== "demand") {
      this.#arena.refusals[more.bound === "slo" ? "slo" : "does-not-pay"]++;
    }
  }

  /** How many slices more it takes of what others offer, and what bounds them. */
  #more(obtainable: Obtainable, nowNs: number): BestSlices {
    const isForced = this.#mustBorrow();
    const more = this.#amount.more(obtainable, this.#reserve.loanBlocks, isForced);
    if (isForced) return more;
    const trusted = this.#trust.slices(nowNs) - this.#arena.borrowedSlices;
    return { slices: Math.min(more.slices, trusted), bound: more.bound };
  }

  /**
   * Nothing runs, and the first that waits is larger than the engine's own memory and all that
   * others offer.
   */
  #isStranded(): boolean {
    if (this.#scheduler.sequences.count > 0 || !this.#mustBorrow()) return false;
    const { blocksPerSlice, blockTokens } = this.#kv.layout;
    const blocks = this.#scheduler.waiting.tokensAt(0) / blockTokens + 1;
    const held = this.#options.ownSlices + this.#arena.borrowedSlices;
    return blocks > (held + this.#idleElsewhere()) * blocksPerSlice;
  }

  #mustBorrow(): boolean {
    const { waiting } = this.#scheduler;
    const { blocksPerSlice, blockTokens } = this.#kv.layout;
    const own = (this.#options.ownSlices - this.#planner.ring.slices) * blocksPerSlice;
    if (waiting.size > 0 && waiting.tokensAt(0) / blockTokens + 1 > own) return true;
    if (this.#scheduler.sequences.count !== 1) return false;
    return this.#promisedBlocks() + 1 > own;
  }

  /** The engine has nothing to do: every empty borrowed slice goes home. */
  returnAll(nowNs: number): void {
    if (this.#arena.borrowedSlices > 0) this.#returnEmpty(nowNs);
  }

  #returnUnused(nowNs: number): void {
    if (this.#arena.borrowedSlices === 0) return;
    if (nowNs - this.#lastShortNs < this.#times.keepEmptyNs) return;
    const { freeBlocks } = this.#kv.slices;
    // Home has room for what comes; empty borrowed slices serve nobody here.
    if (freeBlocks[LOCAL_SOURCE]! < this.#kv.layout.blocksPerSlice) return;
    // A long prompt was admitted on them and has not come so far yet, or they would be asked for
    // again at once.
    const { blocksPerSlice } = this.#kv.layout;
    const spareOwn = this.#spareBlocks() - this.#arena.borrowedSlices * blocksPerSlice;
    if (spareOwn < this.#growthBlocks() + RESERVES_KEPT * this.#reserve.loanBlocks) return;
    this.#returnEmpty(nowNs);
  }

  #returnEmpty(nowNs: number): void {
    for (let other = 0; other < this.#options.engineCount; other++) {
      const empty = this.#kv.slices.emptyRows[other + 1]!;
      if (empty > 0) this.#ladder.returnEmpty(engineId(other), empty, nowNs);
    }
  }
}
