/**
 * What loans earn a borrower and what it computes again for them, lender by lender, in tokens.
 *
 * Fed by the engine at each step's end and at each preempted sequence; settled with the pool once a
 * second. Loans earn the tokens that a step made beyond those that own memory alone would have made
 * in its time: fewer sequences, shorter steps, no waits, no ring, nobody left out. Lenders share
 * that by the blocks they hold. A preempted one costs the tokens that its recomputation displaces:
 * all of them where loans shrink or cannot be read, else the part that goes beyond what own memory
 * alone would do, as sequences outgrow any memory that is kept full.
 *
 * Tokens that loans cost are as real as those they bring: a link that is slower than forecast, or
 * sequences that are left out while own memory waits with them, make the balance negative, and
 * lenders whose account the pool blocks get back what was borrowed.
 */

import { engineId, NS_PER_SECOND } from "../base/index.ts";
import { LOCAL_SOURCE, type Arena, type KvCache } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";
import type { Batch, Scheduler } from "../scheduler/index.ts";
import type { EngineOptions } from "./engine-options.ts";
import type { StepTiming } from "./step-timing.ts";
import type { StepCost } from "./step-cost.ts";

/** Prefill is costed a batch of this many tokens at a time. */
const PREFILL_TOKENS = 1024;

/**
 * Of the tokens made: what loans have to bring before it counts. The pool tolerates a loss of as
 * much, and near saturation even that makes queues a tenth longer.
 */
const LEAST_GAIN = 0.01;

/** For so long after a loan, or a part of it, has gone a sequence gives way because of that. */
const AFTERMATH_NS = 2 * NS_PER_SECOND;

/**
 * Of its own memory, what an engine fills without loans: all but a sequence's part, and at least
 * this. Growth and rounding take the rest.
 */
const OWN_FILL_LEAST = 0.95;

export class LoanAccounts {
  readonly #kv: KvCache;
  readonly #scheduler: Scheduler;
  /** Time to compute one token of a prompt. */
  readonly #prefillNsPerToken: number;
  readonly #earned: Float64Array;
  readonly #cost: StepCost;
  readonly #ownSlices: number;
  /** (engines) tokens of steps in which a lender's blocks took part, by its part of them. */
  readonly #produced: Float64Array;
  /** (engines) parts of each lender in what was borrowed when something was last, and when. */
  readonly #shares: Float64Array;
  #loanNs = -Infinity;
  /** Of the sequences that ran then, the part that own memory alone would not have had. */
  #beyondOwn = 1;
  /** Whether links left somebody out of that step. */
  #isAnyLeftOut = false;
  /** Slices borrowed at the last look, when that was, and when a look found fewer. */
  #heldSlices = 0;
  #lookedNs = -Infinity;
  #shrunkNs = -Infinity;
  #settledNs = -Infinity;

  constructor(options: EngineOptions, kv: KvCache, scheduler: Scheduler, cost: StepCost) {
    this.#cost = cost;
    this.#ownSlices = options.ownSlices;
    this.#kv = kv;
    this.#scheduler = scheduler;
    const layerNs = options.cost.linearLayerNs(PREFILL_TOKENS);
    this.#prefillNsPerToken = (layerNs * options.layout.layers) / PREFILL_TOKENS;
    this.#earned = new Float64Array(options.engineCount);
    this.#produced = new Float64Array(options.engineCount);
    this.#shares = new Float64Array(options.engineCount);
  }

  /** A step has ended that ran while slices were borrowed. */
  earn(batch: Batch, timing: StepTiming): void {
    this.#watchHeld(timing.endNs);
    let used = 0;
    for (let source = 0; source < this.#kv.sourceCount; source++) {
      used += this.#kv.usedBlocks(source);
    }
    const remote = used - this.#kv.usedBlocks(LOCAL_SOURCE);
    const { skippedCount, parkedCount } = this.#scheduler.rotation;
    const running = batch.decodeSequences + skippedCount + parkedCount;
    if (remote === 0 || running === 0) return;
    const alone = this.#sequencesAlone(batch.decodeSequences, running, used);
    const earned = batch.decodeSequences - this.#tokensWithout(batch, timing, running, alone);
    this.#loanNs = timing.endNs;
    this.#beyondOwn = 1 - alone / running;
    this.#isAnyLeftOut = running > batch.decodeSequences;
    for (let lender = 0; lender < this.#earned.length; lender++) {
      const share = this.#kv.usedBlocks(lender + 1) / remote;
      this.#shares[lender] = share;
      this.#earned[lender]! += (earned - LEAST_GAIN * batch.decodeSequences) * share;
      this.#produced[lender]! += batch.decodeSequences * share;
    }
  }

  /**
   * How many of the running sequences own memory would serve. With loans in rotation more may
   * serve no more: who is left out holds memory meanwhile, and long ones are left out first. So it
   * is reckoned from all that run and from those that the step served; the more of the two counts.
   */
  #sequencesAlone(served: number, running: number, usedBlocks: number): number {
    const own = this.#ownSlices * this.#kv.layout.blocksPerSlice;
    const fill = Math.max(OWN_FILL_LEAST, 1 - usedBlocks / running / own);
    const alone = Math.max(this.#kv.usedBlocks(LOCAL_SOURCE), fill * own);
    const ofAll = Math.min(1, alone / usedBlocks) * running;
    if (served === running) return ofAll;
    return Math.max(ofAll, Math.min(1, alone / this.#servedBlocks()) * served);
  }

  /** Blocks of sequences that are neither left out nor parked. */
  #servedBlocks(): number {
    const { order, count } = this.#scheduler.sequences;
    let blocks = 0;
    for (let index = 0; index < count; index++) {
      const row = order[index]!;
      if (this.#kv.isActive(row)) blocks += this.#kv.blockCount(row);
    }
    return Math.max(1, blocks);
  }

  /** Tokens that so many of the running sequences would have made in the step's time. */
  #tokensWithout(batch: Batch, timing: StepTiming, running: number, count: number): number {
    const { decodeSequences, decodeContextTokens } = batch;
    const stepNs = timing.endNs - timing.startNs;
    const tokensEach = decodeContextTokens / Math.max(1, decodeSequences);
    const decodeNs = (sequences: number): number =>
      this.#cost.localNs(this.#cost.decodeStep(sequences, sequences * tokensEach));
    const promptNs = timing.localNs - (decodeSequences > 0 ? decodeNs(decodeSequences) : 0);
    return (stepNs * count) / (decodeNs(count) + (count / running) * Math.max(0, promptNs));
  }

  /**
   * A sequence is computed again while there are loans, or just after: memory that is there for a
   * while and then is not makes more of that than memory of one's own. Who lent last shares the
   * tokens that it displaces.
   *
   * @param isLeaving whether slices are to be given back just now, or are gone with their lender.
   */
  chargeRecompute(
    computedTokens: number,
    stepNs: number,
    isLeaving: boolean,
    nowNs: number,
  ): void {
    if (nowNs - this.#loanNs > AFTERMATH_NS) return;
    this.#watchHeld(nowNs);
    const isShrinking = isLeaving || nowNs - this.#shrunkNs <= AFTERMATH_NS;
    const isTheirs = isShrinking || this.#isAnyLeftOut;
    const recomputeNs = computedTokens * this.#prefillNsPerToken;
    const tokensPerStep = Math.max(1, this.#scheduler.batch.decodeSequences);
    const displaced = (isTheirs ? 1 : this.#beyondOwn) * (recomputeNs / stepNs) * tokensPerStep;
    for (let lender = 0; lender < this.#earned.length; lender++) {
      this.#earned[lender]! -= displaced * this.#shares[lender]!;
    }
  }

  #watchHeld(nowNs: number): void {
    let held = 0;
    for (let lender = 0; lender < this.#earned.length; lender++) {
      held += this.#kv.slices.heldRows[lender + 1]!;
    }
    // Without loans nobody looks: what was held long ago is of a loan that ended meanwhile.
    const isRecent = nowNs - this.#lookedNs <= AFTERMATH_NS;
    if (isRecent && held < this.#heldSlices) this.#shrunkNs = nowNs;
    this.#heldSlices = held;
    this.#lookedNs = nowNs;
  }

  /** Tells the pool, at most once a second. */
  settle(arena: Arena, pool: Pool, nowNs: number): void {
    if (nowNs - this.#settledNs < NS_PER_SECOND) return;
    this.#settledNs = nowNs;
    const { engine } = arena;
    for (let lender = 0; lender < this.#earned.length; lender++) {
      const earnedTokens = this.#earned[lender]!;
      if (earnedTokens === 0) continue;
      const producedTokens = this.#produced[lender]!;
      const other = engineId(lender);
      pool.apply(
        { type: "SettleAccount", engine, lender: other, earnedTokens, producedTokens },
        nowNs,
      );
    }
    this.#earned.fill(0);
    this.#produced.fill(0);
  }
}
