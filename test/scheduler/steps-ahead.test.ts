/** Steps decided one ahead: every request still gets exactly its tokens, one a step, and ends. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { createKvLayout, KvCache } from "../../src/kvcache/index.ts";
import { ReadSet } from "../../src/prefetch/index.ts";
import { Scheduler, type Batch, type SchedulerEvents } from "../../src/scheduler/index.ts";
import { OPTIONS } from "./scheduler-model.ts";
import { BLOCKS_PER_SLICE, StubMemory } from "./stub-memory.ts";

const BLOCK_TOKENS = 4;

interface Request {
  readonly max: number;
  generated: number;
  isOpen: boolean;
}

/** What an engine does with steps that are decided while the one before runs. */
class Pipeline implements SchedulerEvents {
  nowNs = 0;
  leavers = 0;
  readonly requests = new Map<number, Request>();
  readonly kv: KvCache;
  readonly scheduler: Scheduler;
  readonly #cancelled: number[] = [];

  constructor(slices: number) {
    const sources = new Int16Array(slices + 1);
    sources[slices] = 2;
    this.kv = new KvCache({
      layout: createKvLayout(8, 1, BLOCK_TOKENS, 8 * BLOCK_TOKENS * BLOCKS_PER_SLICE),
      sourceOfRow: sources,
      sourceCount: 3,
      readSet: new ReadSet(3, 4),
      bridgedBlocksMax: 0,
    });
    for (let row = 0; row <= slices; row++) this.kv.slices.admit(row);
    const memory = new StubMemory(this.kv, slices);
    const link = {
      sourceBytesPerSecond: new Float64Array(3),
      portBytesPerSecond: 1,
    };
    const admission = { name: "present", growthShare: 0, present: "chunk" as const };
    const options = { ...OPTIONS, admission, stepsAhead: 1 as const };
    this.scheduler = new Scheduler(options, this.kv, memory, link, this);
  }

  submit(prompt: number, max: number): void {
    const request = this.requests.size;
    this.requests.set(request, { max, generated: 0, isOpen: true });
    this.scheduler.submit(request, prompt, max, this.nowNs);
  }

  /** What runs is taken out when its step has ended; what waits leaves at once. */
  cancel(request: number): void {
    const of = this.requests.get(request)!;
    if (!of.isOpen) return;
    if (this.scheduler.sequences.rowOf(request) >= 0) this.#cancelled.push(request);
    else {
      expect(this.scheduler.cancel(request)).toBe(true);
      of.isOpen = false;
    }
  }

  preempt(at: number): void {
    const { order, count } = this.scheduler.sequences;
    if (at < count) this.scheduler.preempt(order[at]!, this.nowNs);
  }

  /** @param meanwhile what happens while the step is in flight. */
  step(meanwhile: () => void): void {
    this.nowNs += 10;
    const { scheduler } = this;
    const { steps } = scheduler;
    for (let tries = 0; !steps.isDecided && tries < 5; tries++) {
      if (tries > 0) scheduler.breakDeadlock(this.nowNs);
      scheduler.schedule(10, this.nowNs);
    }
    if (!steps.isDecided) return;
    steps.advance();
    this.#check(steps.current, null);
    scheduler.schedule(10, this.nowNs);
    this.#check(steps.upcoming, steps.current);
    meanwhile();
    this.#land();
    this.#check(steps.upcoming, null);
  }

  failed(request: number): void {
    this.requests.get(request)!.isOpen = false;
  }
  preempted(): void {}
  admitted(): void {}

  #land(): void {
    const { scheduler } = this;
    for (const request of this.#cancelled.splice(0)) {
      const of = this.requests.get(request)!;
      if (of.isOpen && scheduler.cancel(request)) of.isOpen = false;
    }
    scheduler.steps.landed();
    const { batch, sequences } = scheduler;
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      if (row < 0) continue;
      sequences.computedTokens[row]! += batch.tokens[index]!;
      this.kv.seal(row, sequences.computedTokens[row]!);
      if (!batch.isSampled(index)) continue;
      sequences.generatedTokens[row]!++;
      if (this.#token(sequences.request[row]!)) scheduler.finish(row);
    }
    for (const request of batch.leavers) {
      this.leavers++;
      const position = scheduler.waiting.positionOf(request);
      scheduler.waiting.addGenerated(position);
      if (this.#token(request)) scheduler.waiting.removeAt(position);
    }
  }

  /** @returns whether it was the request's last. */
  #token(request: number): boolean {
    const of = this.requests.get(request)!;
    expect(of.isOpen).toBe(true);
    of.generated++;
    expect(of.generated).toBeLessThanOrEqual(of.max);
    if (of.generated === of.max) of.isOpen = false;
    return !of.isOpen;
  }

  #check(batch: Batch, before: Batch | null): void {
    const { scheduler, kv } = this;
    scheduler.check();
    kv.check();
    expect(batch.queryTokens).toBeLessThanOrEqual(OPTIONS.maxBatchTokens);
    const { sequences } = scheduler;
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      if (row < 0) continue;
      const flying = before === null ? -1 : before.rows.indexOf(row);
      const ahead = flying >= 0 && flying < before!.count ? before!.tokens[flying]! : 0;
      expect(batch.pastTokens[index]).toBe(sequences.computedTokens[row]! + ahead);
      const end = batch.pastTokens[index]! + batch.tokens[index]!;
      expect(end).toBeLessThanOrEqual(kv.blockCount(row) * BLOCK_TOKENS);
    }
  }
}

it("gives every request its tokens, whoever is preempted or cancelled in mid-flight", () => {
  const tokens = fc.integer({ min: 1, max: 24 });
  const act = fc.record({
    submits: fc.array(fc.tuple(tokens, tokens), { maxLength: 2 }),
    cancel: fc.option(fc.nat(1000), { freq: 6 }),
    isEarly: fc.boolean(),
    preempt: fc.option(fc.nat(5), { freq: 8 }),
  });
  let leavers = 0;
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40, size: "max" }), fc.integer({ min: 2, max: 5 }),
      (acts, slices) => {
        const pipeline = new Pipeline(slices);
        for (const { submits, cancel, isEarly, preempt } of acts) {
          for (const [prompt, max] of submits) pipeline.submit(prompt, max);
          const { size } = pipeline.requests;
          const leave = (): void => {
            if (cancel !== null && size > 0) pipeline.cancel(cancel % size);
          };
          if (isEarly) leave();
          pipeline.step(() => {
            if (!isEarly) leave();
            if (preempt !== null) pipeline.preempt(preempt);
          });
        }
        for (let step = 0; !pipeline.scheduler.isEmpty; step++) {
          expect(step).toBeLessThan(3000);
          pipeline.step(() => {});
        }
        expect([...pipeline.requests.values()].some(({ isOpen }) => isOpen)).toBe(false);
        expect(pipeline.kv.usedBlocks(0)).toBe(0);
        leavers += pipeline.leavers;
      }),
    { numRuns: 60, seed: 21 },
  );
  expect(leavers).toBeGreaterThan(20);
});
