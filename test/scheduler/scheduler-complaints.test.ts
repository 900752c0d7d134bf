/** What users of such systems complain of, a test each: blocked queues, livelocks, stuck gauges. */

import { describe, expect, it } from "vitest";
import { Bench, BLOCK_TOKENS } from "./scheduler-model.ts";

/** Admission by what is needed now, so that memory runs short. */
const NOTHING_KEPT = { admission: { name: "none", growthShare: 0 } };

describe("a request larger than memory", () => {
  it("fails at once, and those behind it are served", () => {
    const bench = new Bench(2);
    const large = bench.submit(40, 10);
    const small = bench.submit(8, 4);
    expect(bench.reasonOf(large)).toBe("larger-than-memory");
    bench.drain(20);
    expect(bench.requests.get(small)!.state).toBe("finished");
  });

  it("waits for slices when it might get them, is passed meanwhile, and not for ever", () => {
    const bench = new Bench(2);
    bench.memory.borrowableSlices = 2;
    const large = bench.submit(40, 10);
    const small = [1, 2, 3].map(() => bench.submit(8, 4));
    for (let step = 0; step < 12; step++) bench.step();
    expect(small.map((request) => bench.requests.get(request)!.state)).toEqual(
      ["finished", "finished", "finished"],
    );
    expect(bench.requests.get(large)!.state).toBe("waiting");
    bench.drain(60);
    expect(bench.reasonOf(large)).toBe("timeout");
  });

  it("is given up in time also while smaller ones keep the engine busy", () => {
    const bench = new Bench(2, { headTimeoutNs: 200 });
    bench.memory.borrowableSlices = 2;
    const large = bench.submit(40, 10);
    for (let step = 0; step < 30; step++) {
      bench.submit(4, 2);
      bench.step();
    }
    expect(bench.reasonOf(large)).toBe("timeout");
    expect(bench.nowNs).toBeGreaterThan(200);
  });

  it("fails when it outgrows all memory alone", () => {
    const bench = new Bench(2);
    const lone = bench.submit(20, 60);
    bench.drain(200);
    expect(bench.reasonOf(lone)).toBe("larger-than-memory");
  });
});

describe("want of memory", () => {
  it("two requests that hold half of what they need do not wait for each other", () => {
    // Nothing kept for growth, and chunks of 16 tokens: both prompts are half way when it is full.
    const bench = new Bench(4, NOTHING_KEPT);
    bench.memory.lend();
    bench.memory.lend();
    bench.submit(28, 4);
    bench.submit(28, 4);
    bench.step();
    bench.step();
    expect(bench.running()).toHaveLength(2);
    // The lent half never comes back.
    bench.memory.lent.length = 0;
    bench.memory.isComing = false;
    for (let step = 0; step < 40 && !bench.scheduler.isEmpty; step++) bench.step();
    expect(bench.scheduler.isEmpty).toBe(true);
    expect([...bench.requests.values()].map(({ state }) => state)).toEqual(
      ["finished", "finished"],
    );
  });

  it("preemption makes progress: every one of many that outgrow memory ends", () => {
    const bench = new Bench(4, NOTHING_KEPT);
    for (let count = 0; count < 12; count++) bench.submit(6, 40);
    const steps = bench.drain(3000);
    expect([...bench.requests.values()].every(({ state }) => state === "finished")).toBe(true);
    expect(bench.preemptions).toBeGreaterThan(0);
    // One alone takes about 41 steps; recomputation must not cost more than the work itself.
    expect(steps).toBeLessThan(12 * 41);
    expect(bench.preemptions).toBeLessThan(5 * 12);
  });

  it("decodes take blocks before prompts, and the youngest gives way", () => {
    const bench = new Bench(2, NOTHING_KEPT);
    const old = bench.submit(12, 40);
    const young = bench.submit(12, 40);
    while (bench.preemptions === 0) bench.step();
    expect(bench.requests.get(old)!.state).toBe("running");
    expect(bench.requests.get(young)!.state).toBe("waiting");
    expect(bench.queue).toEqual([young]);
  });

  it("a prompt goes on with what is free beyond the reserve", () => {
    const bench = new Bench(2, NOTHING_KEPT);
    bench.memory.lend();
    bench.memory.chunkReserveBlocks = 1;
    const request = bench.submit(28, 2);
    bench.step();
    const row = bench.rowOf(request);
    // Three of the four blocks that are here; the lent four have been asked for.
    expect(bench.scheduler.sequences.computedTokens[row]).toBe(3 * BLOCK_TOKENS);
    expect([bench.scheduler.isMemoryShort, bench.memory.isComing]).toEqual([true, true]);
    bench.memory.deliver();
    bench.step();
    expect(bench.scheduler.sequences.computedTokens[row]).toBe(28);
  });

  it("nobody is admitted to blocks that others hold, whatever the capacity", () => {
    const bench = new Bench(4, NOTHING_KEPT);
    // Targets of a copy that was given up stay taken until it has ended.
    const gone = bench.submit(32, 2);
    bench.step();
    bench.step();
    const row = bench.rowOf(gone);
    const target = bench.kv.slices.emptyRow(0);
    const orphan = bench.kv.beginMove(row, 0, 4, target, "home");
    bench.cancel(gone);
    const next = bench.submit(52, 2);
    bench.scheduler.schedule(10, bench.nowNs);
    expect(bench.requests.get(next)!.state).toBe("waiting");
    bench.kv.completeMove(orphan.id);
    bench.drain(20);
    expect(bench.requests.get(next)!.state).toBe("finished");
  });

  it("memory that is coming is waited for: nobody is preempted", () => {
    const bench = new Bench(3, NOTHING_KEPT);
    bench.memory.lend();
    const requests = [bench.submit(14, 10), bench.submit(14, 10)];
    for (let step = 0; step < 8; step++) bench.step();
    expect(bench.memory.isComing).toBe(true);
    expect(bench.preemptions).toBe(0);
    bench.drain(100);
    expect(bench.preemptions).toBe(0);
    expect(requests.map((request) => bench.requests.get(request)!.generated)).toEqual([10, 10]);
  });
});

describe("cancel", () => {
  it("in a chunk, in decode, first in line, behind it and after a preemption: all is free", () => {
    const bench = new Bench(4, NOTHING_KEPT);
    const [decoding, chunked] = [bench.submit(4, 20), bench.submit(40, 4)];
    bench.step();
    const [first, second] = [bench.submit(60, 4), bench.submit(60, 4)];
    bench.step();
    const { sequences } = bench.scheduler;
    expect(sequences.computedTokens[bench.rowOf(chunked)]).toBeLessThan(40);
    expect(sequences.generatedTokens[bench.rowOf(decoding)]).toBeGreaterThan(0);
    bench.cancel(second);
    bench.cancel(first);
    bench.cancel(chunked);
    bench.check(null);
    const blocks = bench.kv.blockCount(bench.rowOf(decoding));
    expect(bench.kv.usedBlocks(0)).toBe(blocks);
    bench.scheduler.preempt(bench.rowOf(decoding), bench.nowNs);
    expect(bench.queue).toEqual([decoding]);
    bench.cancel(decoding);
    bench.checkEmpty();
  });

  it("while parked, with blocks at a lender and on their way there: all is free", () => {
    const bench = new Bench(4, {}, 2);
    const request = bench.submit(16, 20);
    bench.step();
    const row = bench.rowOf(request);
    bench.kv.completeMove(bench.kv.beginMove(row, 0, 2, 4, "out").id);
    const coming = bench.kv.beginMove(row, 2, 1, 5, "out");
    bench.scheduler.rotation.park(row, bench.nowNs);
    bench.cancel(request);
    expect(bench.kv.completeMove(coming.id)).toBe(false);
    bench.kv.syncReadSet();
    bench.checkEmpty();
    expect(bench.scheduler.cancel(request)).toBe(false);
  });

  it("of everything at once leaves every gauge at zero", () => {
    const bench = new Bench(6);
    for (let count = 0; count < 30; count++) bench.submit(10, 30);
    for (let step = 0; step < 10; step++) bench.step();
    expect(bench.scheduler.claims.usedBlocks).toBeGreaterThan(0);
    for (const request of bench.requests.keys()) bench.cancel(request);
    bench.checkEmpty();
    // And work goes on as if nothing had been.
    const next = bench.submit(10, 5);
    bench.drain(20);
    expect(bench.requests.get(next)!.state).toBe("finished");
  });

  it("of the first in line gives the next one its own time", () => {
    const bench = new Bench(2, { headTimeoutNs: 400 });
    bench.memory.borrowableSlices = 2;
    const [gone, next] = [bench.submit(40, 4), bench.submit(40, 4)];
    for (let step = 0; step < 30; step++) bench.step();
    bench.cancel(gone);
    for (let step = 0; step < 30; step++) bench.step();
    expect(bench.requests.get(next)!.state).toBe("waiting");
    bench.drain(40);
    expect(bench.reasonOf(next)).toBe("timeout");
  });
});

describe("out of a step in mid-flight", () => {
  it("what ends a prompt is no longer sampled, nor counted, once it has left", () => {
    for (const leave of ["cancel", "preempt"] as const) {
      const bench = new Bench(8, NOTHING_KEPT);
      const [stays, leaves] = [bench.submit(3, 9), bench.submit(10, 9)];
      const batch = bench.scheduler.schedule(10, 10);
      bench.check(batch);
      expect([batch.sampledSequences, batch.queryTokens]).toEqual([2, 13]);
      if (leave === "cancel") bench.cancel(leaves);
      else bench.scheduler.preempt(bench.rowOf(leaves), 10);
      expect([batch.sampledSequences, batch.queryTokens]).toEqual([1, 3]);
      expect(batch.prefillSequences).toBe(1);
      expect(bench.rowOf(stays)).toBe(batch.rows[0]);
      bench.check(null);
    }
  });
});

describe("parked", () => {
  it("for too long is computed again, and ends", () => {
    const bench = new Bench(4, { ...NOTHING_KEPT, parkedMaxNs: 100 }, 2);
    const request = bench.submit(16, 20);
    bench.step();
    const row = bench.rowOf(request);
    bench.kv.completeMove(bench.kv.beginMove(row, 0, 4, 4, "out").id);
    const busy = bench.submit(4, 30);
    bench.step();
    bench.link.sourceBytesPerSecond[1] = 0;
    bench.scheduler.rotation.park(row, bench.nowNs);
    for (let step = 0; step < 12; step++) bench.step();
    expect(bench.preemptions).toBe(1);
    expect(bench.requests.get(busy)!.state).toBe("running");
    bench.drain(60);
    expect(bench.requests.get(request)!.generated).toBe(20);
  });

  it("claims are those of the running sequences after every step", () => {
    const bench = new Bench(8);
    for (let count = 0; count < 5; count++) bench.submit(20, 20);
    for (let step = 0; step < 30; step++) {
      bench.step();
      bench.scheduler.claims.survey();
      const { usedBlocks, claimedBlocks } = bench.scheduler.claims;
      const { sequences } = bench.scheduler;
      let [used, claimed] = [0, 0];
      for (const row of sequences.order.subarray(0, sequences.count)) {
        const blocks = bench.kv.blockCount(row);
        const known = sequences.promptTokens[row]! + sequences.generatedTokens[row]! + 1;
        used += blocks;
        claimed += Math.max(0, Math.ceil(known / BLOCK_TOKENS) - blocks);
      }
      expect([usedBlocks, claimedBlocks]).toEqual([used, claimed]);
    }
  });
});

describe("prompts that queue for memory", () => {
  /** Two of 130 tokens wait until one of 220 ends. @returns prompts of the next steps. */
  const promptsOfSteps = (waitedNs: number): number[] => {
    const bench = new Bench(50, {
      ...NOTHING_KEPT,
      maxBatchTokens: 2048,
      contextTokensMax: 2000,
      headTimeoutNs: 1e12,
    });
    bench.submit(500, 300);
    const leaving = bench.submit(220, 3);
    bench.submit(130, 9);
    bench.submit(130, 9);
    while (bench.requests.get(leaving)!.state !== "finished") bench.step();
    bench.nowNs += waitedNs;
    return [0, 1].map(() => {
      bench.step();
      return bench.scheduler.batch.prefillSequences;
    });
  };

  it("start a step apart, for together they would cost more", () => {
    expect(promptsOfSteps(2e9)).toEqual([1, 1]);
  });

  it("start together where they came just now: their users count the steps", () => {
    expect(promptsOfSteps(0)).toEqual([2, 0]);
  });
});
