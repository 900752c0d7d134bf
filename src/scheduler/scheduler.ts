/**
 * Continuous batching: who runs the next step, with how many tokens.
 *
 * Called by the engine when a step has ended. Decoding sequences first, then prompts in work, then
 * waiting requests, within one budget of query tokens (vLLM's order, V1). It asks a memory port for
 * blocks and does not know whether they are its own, lent, recalled or moved.
 *
 * Invariants: a batch names a sequence once; what it names has KV blocks for its tokens; a sequence
 * that cannot get memory waits while memory is coming, else somebody gives way; if nothing at
 * all can run, one sequence is preempted or failed, so there is always progress.
 */

import { assert } from "../base/index.ts";
import type { KvCache } from "../kvcache/index.ts";
import { neededTokens, waitsATurn, type AdmissionSetting } from "./admission.ts";
import type { Batch } from "./batch.ts";
import { Claims } from "./claims.ts";
import type { LinkPort, MemoryPort, SchedulerEvents } from "./memory-port.ts";
import { OutputPredictor } from "./output-predictor.ts";
import { RequestQueue } from "./request-queue.ts";
import { Rotation } from "./rotation.ts";
import { Sequences } from "./sequences.ts";
import { StepFill } from "./step-fill.ts";
import { StepsAhead } from "./steps-ahead.ts";

export interface SchedulerOptions {
  readonly maxBatchTokens: number;
  readonly maxSequences: number;
  readonly contextTokensMax: number;
  readonly tpotTargetNs: number;
  readonly admission: AdmissionSetting;
  /** A request that heads the queue for so long without getting memory is given up. */
  readonly headTimeoutNs: number;
  /** A sequence parked for so long is preempted. */
  readonly parkedMaxNs: number;
  readonly hostSource: number;
  /** 1: the next step is decided while this one runs (steps-ahead.ts). */
  readonly stepsAhead?: 0 | 1;
  /** A preempted request finds again what the cache still holds of it (KvCache.restore). */
  readonly remembersFreed?: boolean;
}

/** Owns queue, sequences and batches; tells events, and is told when tokens were made. */
export class Scheduler {
  readonly sequences: Sequences;
  readonly waiting = new RequestQueue();
  /** Whether any schedule left somebody out for want of memory. */
  wasMemoryShort = false;
  readonly predictor: OutputPredictor;
  readonly rotation: Rotation;
  readonly steps: StepsAhead;
  /** Tokens that preempted requests found again. */
  restoredTokens = 0;
  /** Blocks had, needed and expected by running sequences, as of the last survey. */
  readonly claims: Claims;

  readonly #options: SchedulerOptions;
  readonly #kv: KvCache;
  readonly #memory: MemoryPort;
  readonly #events: SchedulerEvents;
  readonly #fill: StepFill;
  #headSinceNs = 0;

  constructor(
    options: SchedulerOptions,
    kv: KvCache,
    memory: MemoryPort,
    link: LinkPort,
    events: SchedulerEvents,
  ) {
    this.#options = options;
    this.#kv = kv;
    this.#memory = memory;
    this.#events = events;
    this.sequences = new Sequences(options.maxSequences);
    this.predictor = new OutputPredictor(options.contextTokensMax);
    this.claims = new Claims(this.sequences, kv, this.predictor);
    this.rotation = new Rotation(this.sequences, kv, link, options.hostSource);
    this.steps = new StepsAhead(this.sequences, options.stepsAhead === 1);
    const preempt = (row: number, nowNs: number): void => this.preempt(row, nowNs);
    this.#fill = new StepFill(this.sequences, kv, memory, this.steps, options.admission, preempt);
  }

  /** The step in flight, or the last one; while it is put together, the next. */
  get batch(): Batch {
    return this.steps.current;
  }

  /** Whether the last schedule left anybody out for want of memory. */
  get isMemoryShort(): boolean {
    return this.#fill.isMemoryShort;
  }

  get isEmpty(): boolean {
    return this.sequences.count === 0 && this.waiting.size === 0;
  }

  /** Takes a request in, or fails it at once when it can never be served. */
  submit(request: number, promptTokens: number, outputTokensMax: number, nowNs: number): void {
    if (promptTokens + outputTokensMax > this.#options.contextTokensMax) {
      this.#events.failed(request, "beyond-context");
      return;
    }
    if (this.claims.blocksFor(promptTokens + 1) > this.#memory.capacityMaxBlocks()) {
      this.#events.failed(request, "larger-than-memory");
      return;
    }
    if (this.waiting.size === 0) this.#headSinceNs = nowNs;
    this.waiting.pushBack(request, promptTokens, 0, outputTokensMax, nowNs);
  }

  /** @returns the next step's batch; empty when there is nothing to do or memory is coming. */
  schedule(stepNs: number, nowNs: number): Batch {
    const { upcoming } = this.steps;
    const { maxBatchTokens } = this.#options;
    this.#fill.begin();
    this.#endLongParking(stepNs, nowNs);
    this.rotation.select(stepNs, this.skipsMax(stepNs), nowNs);
    let budget = this.#fill.addDecodes(maxBatchTokens, this.rotation.isLinkFull, nowNs);
    const isPresent = this.#options.admission.present !== undefined;
    budget = this.#fill.addPrompts(budget, nowNs, isPresent);
    if (this.waiting.size > 0 || this.#memory.isElastic) this.claims.survey();
    if (this.waiting.size > 0 && budget > 0 && !(isPresent && this.isMemoryShort)) {
      // Rotation makes no room for more of the same; what own memory holds uses no link.
      this.#admit(budget, nowNs, this.rotation.isLinkFull);
      if (this.rotation.isLinkFull && this.waiting.size > 0) this.#fill.isMemoryShort = true;
    }
    if (this.#fill.isMemoryShort) this.wasMemoryShort = true;
    this.steps.decided();
    return upcoming;
  }

  /** Frees everything of a sequence; it waits first in line and is computed again. */
  preempt(row: number, nowNs: number): void {
    const { sequences } = this;
    const request = sequences.request[row]!;
    const [prompt, generated] = [sequences.promptTokens[row]!, sequences.generatedTokens[row]!];
    const [computed, max] = [sequences.computedTokens[row]!, sequences.outputTokensMax[row]!];
    this.steps.preempt(row);
    if (this.#options.remembersFreed === true) {
      const known = Math.min(prompt + generated, sequences.scheduledTokens(row));
      this.#kv.remember(row, request, known);
    }
    this.waiting.pushFront(request, prompt, generated, max, nowNs);
    this.#headSinceNs = nowNs;
    this.#dismiss(row);
    this.#events.preempted(request, row, computed);
  }

  /** The sequence has made its last token. */
  finish(row: number): void {
    this.predictor.observe(this.sequences.generatedTokens[row]!);
    this.#dismiss(row);
  }

  /** Takes a request out wherever it is. @returns whether it was there. */
  cancel(request: number): boolean {
    const position = this.waiting.positionOf(request);
    if (position >= 0) {
      this.waiting.removeAt(position);
      this.steps.forget(request);
      // Whoever is first now has not been first for long.
      if (position === 0) this.#headSinceNs = Infinity;
      return true;
    }
    const row = this.sequences.rowOf(request);
    if (row < 0) return false;
    this.steps.drop(row);
    this.#dismiss(row);
    return true;
  }

  /**
   * Nothing could be scheduled and nothing is coming: somebody gives way; a lone one that has
   * outgrown all that could ever be had fails.
   */
  breakDeadlock(nowNs: number): void {
    const { sequences } = this;
    if (sequences.count > 1) {
      this.preempt(this.#fill.whoYields(0), nowNs);
    } else if (sequences.count === 1) {
      const row = sequences.order[0]!;
      const request = sequences.request[row]!;
      const isHopeless = this.#kv.blockCount(row) + 1 > this.#memory.capacityMaxBlocks();
      if (isHopeless || this.#kv.blockCount(row) === 0) {
        this.#dismiss(row);
        this.#events.failed(request, "larger-than-memory");
      } else {
        this.preempt(row, nowNs);
      }
    } else if (this.waiting.size > 0) {
      this.#timeOutHead(nowNs);
    }
  }

  check(): void {
    this.sequences.check();
    this.waiting.check();
    this.rotation.check();
    this.steps.check();
    this.claims.check();
    for (let position = 0; position < this.waiting.size; position++) {
      const request = this.waiting.requestAt(position);
      assert(this.sequences.rowOf(request) < 0, () => `scheduler: ${request} runs and waits`);
    }
  }

  /** How many steps in a row may leave a sequence out before the TPOT target is missed. */
  skipsMax(stepNs: number): number {
    return Math.max(1, Math.floor(this.#options.tpotTargetNs / Math.max(1, stepNs)) - 1);
  }

  #admit(budget: number, nowNs: number, isLocalOnly: boolean): void {
    const { waiting, sequences, claims, steps } = this;
    const { admission } = this.#options;
    let position = 0;
    while (position < waiting.size && budget > 0 && !sequences.isFull) {
      const tokens = waiting.tokensAt(position);
      const need = claims.blocksFor(neededTokens(admission, tokens, budget));
      const generated = waiting.generatedAt(position);
      if (isLocalOnly && !claims.hasLocalRoomFor(need, generated, admission, this.#memory)) break;
      if (!claims.hasRoomFor(need, generated, admission, this.#memory)) {
        this.#fill.isMemoryShort = true;
        // Only a request larger than everything held may be passed: it waits for slices, and those
        // behind it need not wait for the same.
        if (position > 0 || need <= this.#memory.capacityBlocks()) break;
        position++;
        continue;
      }
      const fullShare = claims.fullShare(need, this.#memory);
      const stepPromptTokens = steps.upcoming.promptTokens;
      const waitedNs = nowNs - waiting.sinceNsAt(position);
      if (waitsATurn(admission, { tokens, waitedNs, stepPromptTokens, fullShare })) break;
      const reserve = this.#memory.chunkReserveBlocks;
      const chunkBlocks = claims.blocksFor(Math.min(tokens, budget)) + reserve;
      const answer = this.#memory.obtainLocal(chunkBlocks, nowNs);
      if (answer !== "ready" && this.#memory.freeLocalBlocks() <= reserve) {
        this.#fill.isMemoryShort = true;
        break;
      }
      const added = this.#start(position, budget, nowNs);
      if (added === 0) break;
      budget -= added;
      if (position === 0) this.#headSinceNs = nowNs;
    }
    if (waiting.size > 0 && position > 0) this.#timeOutHead(nowNs);
  }

  #start(position: number, budget: number, nowNs: number): number {
    const { waiting, sequences } = this;
    const request = waiting.requestAt(position);
    const [generated, max] = [waiting.generatedAt(position), waiting.outputMaxAt(position)];
    const row = sequences.admit(request, waiting.promptAt(position), generated, max);
    waiting.removeAt(position);
    sequences.lastTokenNs[row] = nowNs;
    this.#kv.setActive(row, true);
    if (this.#options.remembersFreed === true) this.#restore(row, request);
    this.#events.admitted(request, row);
    const added = this.#fill.addChunk(row, budget, nowNs);
    this.claims.addYoungest();
    return added;
  }

  /** At least one token is computed anew: without a step there is no next token. */
  #restore(row: number, request: number): void {
    const { blockTokens } = this.#kv.layout;
    const wholeBlocks = Math.floor((this.sequences.pendingTokens(row) - 1) / blockTokens);
    const tokens = this.#kv.restore(row, request, wholeBlocks) * blockTokens;
    this.sequences.computedTokens[row] = tokens;
    this.restoredTokens += tokens;
  }

  #timeOutHead(nowNs: number): void {
    if (this.#headSinceNs === Infinity) this.#headSinceNs = nowNs;
    if (nowNs - this.#headSinceNs < this.#options.headTimeoutNs) return;
    const request = this.waiting.requestAt(0);
    this.waiting.removeAt(0);
    this.#headSinceNs = nowNs;
    this.#events.failed(request, "timeout");
  }

  #endLongParking(stepNs: number, nowNs: number): void {
    if (this.rotation.parkedCount === 0) return;
    const { sequences } = this;
    for (let index = sequences.count - 1; index >= 0; index--) {
      const row = sequences.order[index]!;
      if (sequences.isParked[row] === 0 || this.rotation.isAtHost(row)) continue;
      if (nowNs - sequences.parkedSinceNs[row]! <= this.#options.parkedMaxNs) continue;
      if (!this.rotation.giveTurn(row, this.skipsMax(stepNs))) this.preempt(row, nowNs);
    }
  }

  #dismiss(row: number): void {
    this.rotation.forget(row);
    this.#kv.release(row);
    this.sequences.remove(row);
    // Without a sequence there may be no further schedule to count anew.
    if (this.sequences.count === 0) this.claims.clear();
  }
}
