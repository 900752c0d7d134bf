/**
 * How many slices of others are best for an engine now: what they hold against how they are read.
 *
 * Asked by the borrow controller. It puts the question of scheduler/borrowing.ts in whole slices,
 * with the paths that the slices would lie behind: lenders that do not run are read at the speed of
 * their path, running ones at their share, and of them only what the share carries within a step.
 * It knows predictions; who asks whom, and when, is the controller's.
 */

import { engineId, type EngineId } from "../base/index.ts";
import type { Arena, KvCache } from "../kvcache/index.ts";
import type { Obtainable, Pool } from "../pool/index.ts";
import { remoteBytesWanted, type BorrowAnswer, type Scheduler } from "../scheduler/index.ts";
import { LenderCalm } from "./lender-calm.ts";
import { payloadBytes, type LoanForecast } from "./loan-forecast.ts";
import { SHARE_USED, type LinkRates } from "./link-rates.ts";
import { LoanSpeed, type LoanSources } from "./loan-rate.ts";
import type { PromptTime } from "./prompt-time.ts";
import type { StepCost } from "./step-cost.ts";
import type { TokenTimes } from "./token-times.ts";

/** Of the target for time per token, loans use this much: contexts grow after they are taken. */
const TPOT_USED = 0.9;

export interface LoanAmountOptions {
  readonly engineCount: number;
  readonly ownSlices: number;
  readonly tpotTargetNs: number;
  readonly growthShare: number;
  readonly maxSequences: number;
}

export interface LoanAmountParts {
  readonly pool: Pool;
  readonly arena: Arena;
  readonly kv: KvCache;
  readonly scheduler: Scheduler;
  readonly rates: LinkRates;
  readonly cost: StepCost;
  readonly forecast: LoanForecast;
  readonly promptTime: PromptTime;
  readonly tokenTimes: TokenTimes;
}

export interface BestSlices {
  readonly slices: number;
  readonly bound: BorrowAnswer["bound"];
}

export interface WorthySources extends LoanSources {
  /** Of those that could be had, the ones of lenders that run. */
  readonly sharedSlices: number;
}

export class LoanAmount {
  readonly #options: LoanAmountOptions;
  readonly #parts: LoanAmountParts;
  readonly calm: LenderCalm;

  constructor(options: LoanAmountOptions, parts: LoanAmountParts) {
    this.#options = options;
    this.#parts = parts;
    this.calm = new LenderCalm(options.engineCount);
  }

  /**
   * @param obtainable slices that others offer it, by whether their owners run.
   * @param arrivalBlocks room for requests to come, beside those that run and wait.
   * @param isForced a request is larger than the engine's own memory: it is served for its own
   * sake, not for throughput.
   * @returns how many slices of those are best beyond what is held.
   */
  more(obtainable: Obtainable, arrivalBlocks: number, isForced: boolean): BestSlices {
    const { arena, pool } = this.#parts;
    const { fromIdleLenders } = obtainable;
    const sources = this.sources();
    const fromRunning = Math.min(sources.sharedSlices, obtainable.fromRunningLenders);
    const worthy = isForced ? Infinity : total(sources.idleSlices);
    const more = Math.min(fromIdleLenders + fromRunning, worthy);
    const limit = pool.borrowLimitOf(arena.engine);
    const most = Math.min(limit, total(sources.heldSlices) + more);
    const held = arena.borrowedSlices;
    // No amount can be more than what is held: nothing is searched.
    if (most <= held && fromIdleLenders === 0) return { slices: 0, bound: "limit" };
    // From here on the growth share decides how much, not only whether.
    this.#parts.scheduler.claims.sameShares.noteAmount(this.#options.growthShare);
    if (isForced) return { slices: most - held, bound: "limit" };
    const { slices, bound } = this.bestSlices(most, arrivalBlocks, sources);
    return { slices: slices - held, bound };
  }

  /**
   * @param arrivalBlocks room for requests to come, beside those that run and wait.
   * @returns how many borrowed slices are best, read over the paths they would lie behind.
   */
  bestSlices(slicesMax: number, arrivalBlocks: number, sources: LoanSources): BestSlices {
    const { ownSlices, maxSequences, tpotTargetNs } = this.#options;
    const { kv, scheduler, forecast, cost, tokenTimes } = this.#parts;
    const { layout } = kv;
    const sliceBytes = payloadBytes(layout);
    const sequences = Math.max(1, scheduler.sequences.count);
    const blocks = this.#meanBlocks();
    const growth = (this.#options.growthShare * scheduler.claims.growthBlocks) / sequences;
    const sequenceBlocks = Math.max(1, blocks + growth);
    const served = sequences + scheduler.waiting.size + Math.ceil(arrivalBlocks / sequenceBlocks);
    const tokensOf = (count: number): number => count * blocks * layout.blockTokens;
    const speed = new LoanSpeed(sources, this.#parts.rates.portBytesPerSecond);
    // Between a sequence's tokens lie the prompts that go with everybody's tokens.
    const { nsPerToken } = this.#parts.promptTime;
    const answer = remoteBytesWanted({
      ownBytes: ownSlices * sliceBytes,
      sequenceBytes: sequenceBlocks * layout.blockBytes,
      sequencesMax: Math.min(maxSequences, served),
      remoteBytesMax: slicesMax * sliceBytes,
      tpotTargetNs: this.#isTpotNear() ? 0 : (TPOT_USED * tpotTargetNs) / tokenTimes.spread,
      forecast: {
        stepNs: (count, remoteBytes) =>
          count * nsPerToken +
          forecast.stepNs(
            cost.decodeStep(count, tokensOf(count)),
            remoteBytes,
            speed.bytesPerSecond(remoteBytes / sliceBytes),
          ),
        ringBytes: (count, remoteBytes) =>
          forecast.ringPayloadBytes(cost.decodeStep(count, tokensOf(count)), remoteBytes),
      },
    });
    return { slices: Math.floor(answer.remoteBytes / sliceBytes), bound: answer.bound };
  }

  /** What is held and could be had, how fast it is read; of running lenders, what is worth it. */
  sources(): WorthySources {
    const count = this.#options.engineCount;
    const sources = {
      sharedSlices: 0,
      heldSlices: new Float64Array(count),
      idleSlices: new Float64Array(count),
      pathBytesPerSecond: new Float64Array(count),
    };
    const { kv, pool, arena, rates } = this.#parts;
    const stepNs = this.#localStepNs();
    for (let index = 0; index < count; index++) {
      if (index === arena.engine) continue;
      const lender = engineId(index);
      const held = kv.slices.heldRows[index + 1]!;
      const idle = pool.idleSlices(lender);
      if (!pool.isRunning(lender)) {
        const isRead = rates.pacedBytesPerSecond(index + 1) > 0;
        sources.heldSlices[index] = held;
        sources.idleSlices[index] = isRead || this.calm.isCalm(lender) ? idle : 0;
        sources.pathBytesPerSecond[index] = rates.idleBytesPerSecond(lender, arena, pool);
        continue;
      }
      const rate = rates.sharedBytesPerSecond(lender, held > 0, pool);
      const worth = this.#slicesWithin(stepNs, rate, lender);
      sources.heldSlices[index] = Math.min(held, worth);
      sources.idleSlices[index] = Math.max(0, Math.min(idle, worth - held));
      sources.sharedSlices += sources.idleSlices[index]!;
      sources.pathBytesPerSecond[index] = rate;
    }
    return sources;
  }

  /** Whether requests that ended of late have nearly missed their time per token. */
  #isTpotNear(): boolean {
    return this.#parts.tokenTimes.slowNs > TPOT_USED * this.#options.tpotTargetNs;
  }

  /** Slices that a running lender's share carries within a step; all where it is not paced. */
  #slicesWithin(stepNs: number, bytesPerSecond: number, lender: EngineId): number {
    if (bytesPerSecond >= this.#parts.rates.pathBytesPerSecond(lender + 1)) return Infinity;
    const bytes = SHARE_USED * (bytesPerSecond / 1e9) * stepNs;
    return Math.floor(bytes / this.#parts.kv.layout.sliceBytes);
  }

  /** A step that only decodes, of the sequences there are. */
  #localStepNs(): number {
    const { scheduler, cost, kv } = this.#parts;
    const count = Math.max(1, scheduler.sequences.count);
    return cost.localNs(cost.decodeStep(count, count * this.#meanBlocks() * kv.layout.blockTokens));
  }

  #meanBlocks(): number {
    const { sequences, claims } = this.#parts.scheduler;
    return (claims.usedBlocks + claims.claimedBlocks) / Math.max(1, sequences.count);
  }
}

function total(slices: Float64Array): number {
  return slices.reduce((sum, count) => sum + count, 0);
}
