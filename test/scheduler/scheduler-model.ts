/**
 * A naive scheduler: requests in a Map and the queue as an array, told by the real one's events.
 *
 * Oracle of the scheduler's tests, with a driver that does with batches what an engine's step does.
 */

import { strict as assert } from "node:assert";
import { createKvLayout, KvCache } from "../../src/kvcache/index.ts";
import { ReadSet } from "../../src/prefetch/index.ts";
import {
  Scheduler,
  type Batch,
  type LinkPort,
  type SchedulerEvents,
  type SchedulerOptions,
} from "../../src/scheduler/index.ts";
import { BLOCKS_PER_SLICE, StubMemory } from "./stub-memory.ts";

export const BLOCK_TOKENS = 4;
const HOST = 2;
const STEP_NS = 10;

export const OPTIONS: SchedulerOptions = {
  maxBatchTokens: 16,
  maxSequences: 6,
  contextTokensMax: 200,
  tpotTargetNs: 1000,
  admission: { name: "growth-50", growthShare: 0.5 },
  headTimeoutNs: 400,
  parkedMaxNs: 200,
  hostSource: HOST,
};

type State = "waiting" | "running" | "finished" | "cancelled" | "failed";

interface Request {
  readonly prompt: number;
  readonly max: number;
  generated: number;
  state: State;
  reason: string | null;
}

/** The scheduler in its stubs, and what must be true of it. */
export class Bench implements SchedulerEvents {
  nowNs = 0;
  preemptions = 0;
  readonly requests = new Map<number, Request>();
  /** Requests that wait, first in line first. */
  queue: number[] = [];
  readonly kv: KvCache;
  readonly memory: StubMemory;
  readonly link: LinkPort & { sourceBytesPerSecond: Float64Array } = {
    sourceBytesPerSecond: new Float64Array([0, 1e12, 0]),
    portBytesPerSecond: 1e12,
  };
  readonly scheduler: Scheduler;
  readonly options: SchedulerOptions;

  /** @param lentFrom slices of a lender that the engine has borrowed, besides its own. */
  constructor(ownSlices: number, options: Partial<SchedulerOptions> = {}, lentFrom = 0) {
    this.options = { ...OPTIONS, ...options };
    const sources = [...Array(ownSlices).fill(0), ...Array(lentFrom).fill(1), HOST] as number[];
    this.kv = new KvCache({
      layout: createKvLayout(8, 1, BLOCK_TOKENS, 8 * BLOCK_TOKENS * BLOCKS_PER_SLICE),
      sourceOfRow: Int16Array.from(sources),
      sourceCount: 3,
      readSet: new ReadSet(3, 4),
      bridgedBlocksMax: 0,
    });
    sources.forEach((_, row) => this.kv.slices.admit(row));
    this.memory = new StubMemory(this.kv, ownSlices);
    this.scheduler = new Scheduler(this.options, this.kv, this.memory, this.link, this);
  }

  submit(prompt: number, max: number): number {
    const request = this.requests.size;
    this.requests.set(request, { prompt, max, generated: 0, state: "waiting", reason: null });
    this.queue.push(request);
    this.scheduler.submit(request, prompt, max, this.nowNs);
    const { state, reason } = this.requests.get(request)!;
    const isBeyond = prompt + max > this.options.contextTokensMax;
    const isLarger = blocksFor(prompt + 1) > this.memory.capacityMaxBlocks();
    const expected = isBeyond ? "beyond-context" : isLarger ? "larger-than-memory" : null;
    assert.deepEqual([state, reason], [expected === null ? "waiting" : "failed", expected]);
    return request;
  }

  cancel(request: number): void {
    const { state } = this.requests.get(request)!;
    const wasHere = state === "waiting" || state === "running";
    assert.equal(this.scheduler.cancel(request), wasHere);
    if (wasHere) this.#end(request, "cancelled");
  }

  /** One step as an engine takes it. @returns tokens made. */
  step(): number {
    this.nowNs += STEP_NS;
    let batch = this.scheduler.schedule(STEP_NS, this.nowNs);
    this.check(batch);
    for (let tries = 0; batch.count === 0 && tries < 4 && !this.memory.isComing; tries++) {
      this.scheduler.breakDeadlock(this.nowNs);
      batch = this.scheduler.schedule(STEP_NS, this.nowNs);
      this.check(batch);
    }
    const made = this.#run(batch);
    this.check(null);
    return made;
  }

  /** Steps until nothing is left; fails when that takes too long. @returns steps taken. */
  drain(stepsMax: number): number {
    let steps = 0;
    while (!this.scheduler.isEmpty) {
      assert(steps++ < stepsMax, `not empty after ${stepsMax} steps`);
      this.memory.deliver();
      this.step();
    }
    for (const [request, { state }] of this.requests) {
      assert(state !== "waiting" && state !== "running", `request ${request} is ${state}`);
    }
    this.checkEmpty();
    return steps;
  }

  /** Nothing is left over: no block, no mark, no claim. */
  checkEmpty(): void {
    const { scheduler, kv } = this;
    for (let source = 0; source < kv.sourceCount; source++) assert.equal(kv.usedBlocks(source), 0);
    assert.equal(kv.readSet.totalBytes(), 0);
    assert.deepEqual(
      [scheduler.claims.usedBlocks, scheduler.claims.claimedBlocks, scheduler.claims.growthBlocks],
      [0, 0, 0],
    );
    const { rotation, waiting, sequences } = scheduler;
    assert.deepEqual([rotation.skippedCount, rotation.parkedCount], [0, 0]);
    assert.deepEqual([waiting.size, sequences.count, scheduler.isEmpty], [0, 0, true]);
  }

  rowOf(request: number): number {
    return this.scheduler.sequences.rowOf(request);
  }

  reasonOf(request: number): string | null {
    return this.requests.get(request)!.reason;
  }

  running(): number[] {
    return [...this.requests].filter(([, { state }]) => state === "running").map(([id]) => id);
  }

  // What the scheduler tells.

  failed(request: number, reason: string): void {
    this.requests.get(request)!.reason = reason;
    this.#end(request, "failed");
  }

  preempted(request: number, _row: number, recomputedTokens: number): void {
    const of = this.requests.get(request)!;
    assert.equal(of.state, "running");
    assert(recomputedTokens >= 0 && recomputedTokens <= of.prompt + of.generated);
    of.state = "waiting";
    this.queue.unshift(request);
    this.preemptions++;
  }

  admitted(request: number, row: number): void {
    const of = this.requests.get(request)!;
    assert.equal(of.state, "waiting");
    const position = this.queue.indexOf(request);
    // Whoever is passed must be larger than everything held, and only the first in line may be.
    assert(position <= 1, `request ${request} is admitted from position ${position}`);
    if (position === 1) {
      const first = this.requests.get(this.queue[0]!)!;
      assert(blocksFor(first.prompt + first.generated + 1) > this.memory.capacityBlocks());
    }
    this.queue.splice(position, 1);
    of.state = "running";
    assert.equal(this.scheduler.sequences.request[row], request);
  }


  /** Everything that must be true at any time, and of a batch that is about to run. */
  check(batch: Batch | null): void {
    const { scheduler, kv } = this;
    kv.check();
    scheduler.check();
    const { waiting, sequences } = scheduler;
    const found = this.queue.map((_, position) => waiting.requestAt(position));
    assert.deepEqual(found, this.queue);
    assert.equal(waiting.size, this.queue.length);
    this.queue.forEach((request, position) => {
      const { prompt, generated, max } = this.requests.get(request)!;
      assert.equal(waiting.tokensAt(position), prompt + generated);
      assert.equal(waiting.outputMaxAt(position), max);
    });
    const rows = Array.from(sequences.order.subarray(0, sequences.count));
    const requests = rows.map((row) => sequences.request[row]!);
    assert.deepEqual(requests.sort((a, b) => a - b), this.running());
    const blocks = rows.reduce((sum, row) => sum + kv.blockCount(row), 0);
    let used = 0;
    for (let source = 0; source < kv.sourceCount; source++) used += kv.usedBlocks(source);
    assert.equal(used, blocks);
    if (batch !== null) this.#checkBatch(batch);
  }

  #checkBatch(batch: Batch): void {
    const { sequences } = this.scheduler;
    const rows = Array.from(batch.rows.subarray(0, batch.count));
    assert.equal(new Set(rows).size, rows.length, "a sequence is in the batch twice");
    let [queries, sampled] = [0, 0];
    rows.forEach((row, index) => {
      const tokens = batch.tokens[index]!;
      const past = batch.pastTokens[index]!;
      const { prompt, generated } = this.requests.get(sequences.request[row]!)!;
      assert(tokens > 0 && this.kv.isActive(row));
      assert.equal(past, sequences.computedTokens[row]);
      assert(past + tokens <= prompt + generated);
      assert(past + tokens <= this.kv.blockCount(row) * BLOCK_TOKENS, "tokens without blocks");
      queries += tokens;
      if (past + tokens === prompt + generated) sampled++;
    });
    assert(queries <= this.options.maxBatchTokens, `${queries} tokens in a batch`);
    assert.deepEqual([batch.queryTokens, batch.sampledSequences], [queries, sampled]);
  }

  #run(batch: Batch): number {
    const { scheduler, kv } = this;
    const { sequences } = scheduler;
    let made = 0;
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      if (row < 0) continue;
      sequences.computedTokens[row]! += batch.tokens[index]!;
      kv.seal(row, sequences.computedTokens[row]!);
      const request = sequences.request[row]!;
      const of = this.requests.get(request)!;
      if (sequences.computedTokens[row]! < of.prompt + of.generated) continue;
      of.generated = ++sequences.generatedTokens[row]!;
      sequences.lastTokenNs[row] = this.nowNs;
      made++;
      if (of.generated < of.max) continue;
      this.#end(request, "finished");
      scheduler.finish(row);
    }
    return made;
  }

  #end(request: number, state: State): void {
    const of = this.requests.get(request)!;
    assert(of.state === "waiting" || of.state === "running", `request ${request} ends twice`);
    if (of.state === "waiting") this.queue.splice(this.queue.indexOf(request), 1);
    of.state = state;
  }
}

export function blocksFor(tokens: number): number {
  return Math.ceil(tokens / BLOCK_TOKENS);
}
