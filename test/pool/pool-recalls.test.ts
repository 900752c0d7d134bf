/** Recalls: deadlines, spreading, the order in which returns serve them, upgrades. */

import { describe, expect, it } from "vitest";
import { A, B, borrowed, C, PoolBench } from "./pool-bench.ts";

describe("recalls", () => {
  it("gives a refill its deadline and none to a demand", () => {
    const bench = new PoolBench();
    bench.offer(B, 6);
    bench.request(A, 6);
    bench.nowNs = 5;
    bench.recall(B, 2, "refill");
    bench.recall(B, 3, "demand");
    expect(bench.events(A)).toMatchObject([
      { type: "RecallRequested", count: 2, kind: "refill", deadlineNs: 100e6 + 5, lender: B },
      { type: "RecallRequested", count: 3, kind: "demand", deadlineNs: 5, lender: B },
    ]);
  });

  it("spreads over borrowers by what they hold", () => {
    const bench = new PoolBench();
    bench.offer(B, 9);
    bench.request(A, 6);
    bench.request(C, 3);
    bench.recall(B, 3, "demand");
    expect(bench.events(A)).toMatchObject([{ count: 2 }]);
    expect(bench.events(C)).toMatchObject([{ count: 1 }]);
  });

  it("serves the oldest demand first, then the oldest refill, whatever came back", () => {
    const bench = new PoolBench();
    bench.offer(B, 6);
    const slices = borrowed(bench.request(A, 6));
    bench.recall(B, 1, "refill");
    bench.nowNs = 10;
    bench.recall(B, 1, "refill");
    bench.nowNs = 20;
    bench.recall(B, 2, "demand");
    bench.nowNs = 50;
    bench.giveBack(A, slices.slice(0, 1));
    expect(bench.recalls).toEqual([]);
    bench.nowNs = 60;
    bench.giveBack(A, slices.slice(1, 4));
    expect(bench.recalls).toEqual([
      { kind: "demand", slices: 2, waitNs: 40 },
      { kind: "refill", slices: 1, waitNs: 60 },
      { kind: "refill", slices: 1, waitNs: 50 },
    ]);
  });

  it("recalls all that is lent when asked for more, and nothing when nothing is left", () => {
    const bench = new PoolBench();
    bench.offer(B, 3);
    const slices = borrowed(bench.request(A, 3));
    bench.recall(B, 7, "refill");
    expect(bench.events(A)).toMatchObject([{ count: 3 }]);
    bench.recall(B, 1, "refill");
    expect(bench.events(A)).toEqual([]);
    bench.giveBack(A, slices);
    expect(bench.recalls).toEqual([{ kind: "refill", slices: 3, waitNs: 0 }]);
  });

  it("upgrades what is under refill recall, and waits for no slice twice", () => {
    const bench = new PoolBench();
    bench.offer(B, 4);
    const slices = borrowed(bench.request(A, 4));
    bench.recall(B, 4, "refill");
    bench.events(A);
    bench.nowNs = 7;
    bench.recall(B, 3, "demand");
    expect(bench.events(A)).toMatchObject([{ kind: "demand", count: 3, deadlineNs: 7 }]);
    expect(bench.pool.counts["recall:upgrade"]).toBe(1);
    bench.recall(B, 9, "demand");
    expect(bench.events(A)).toMatchObject([{ kind: "demand", count: 1 }]);
    bench.recall(B, 1, "demand");
    expect(bench.events(A)).toEqual([]);
    bench.nowNs = 9;
    bench.giveBack(A, slices);
    // The refill recall was taken over whole, so it left no wait of its own.
    expect(bench.recalls).toEqual([
      { kind: "demand", slices: 3, waitNs: 2 },
      { kind: "demand", slices: 1, waitNs: 2 },
    ]);
  });

  it("counts what a refill recall got before a demand took over the rest", () => {
    const bench = new PoolBench();
    bench.offer(B, 3);
    const slices = borrowed(bench.request(A, 3));
    bench.recall(B, 3, "refill");
    bench.nowNs = 4;
    bench.giveBack(A, slices.slice(0, 1));
    bench.nowNs = 6;
    bench.recall(B, 2, "demand");
    expect(bench.recalls).toEqual([{ kind: "refill", slices: 1, waitNs: 4 }]);
    bench.nowNs = 9;
    bench.giveBack(A, slices.slice(1));
    expect(bench.recalls.at(-1)).toEqual({ kind: "demand", slices: 2, waitNs: 3 });
  });

  it("lets the borrower answer with slices of another lease of the same lender", () => {
    const bench = new PoolBench();
    bench.offer(B, 4);
    const first = borrowed(bench.request(A, 2));
    const second = borrowed(bench.request(A, 2));
    bench.recall(B, 1, "demand");
    const [asked] = bench.events(A);
    expect(asked).toMatchObject({ lease: 0 });
    bench.giveBack(A, second.slice(0, 1));
    expect(bench.recalls).toHaveLength(1);
    // Nothing is owed any more: all three that are left can be asked for again.
    bench.recall(B, 9, "refill");
    const counts = bench.events(A).map((event) => ("count" in event ? event.count : 0));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3);
    bench.giveBack(A, [...first, ...second.slice(1)]);
    expect(bench.recalls).toHaveLength(2);
  });

  it("is served by a borrower that was not asked, whose peer still owes", () => {
    const bench = new PoolBench();
    bench.offer(B, 4);
    const ofA = borrowed(bench.request(A, 3));
    const ofC = borrowed(bench.request(C, 1));
    bench.recall(B, 1, "demand");
    expect(bench.events(A)).toHaveLength(1);
    bench.giveBack(C, ofC);
    expect(bench.recalls).toHaveLength(1);
    bench.recall(B, 3, "demand");
    expect(bench.events(A)).toMatchObject([{ count: 2 }]);
    bench.giveBack(A, ofA);
    expect(bench.recalls).toEqual([
      { kind: "demand", slices: 1, waitNs: 0 },
      { kind: "demand", slices: 2, waitNs: 0 },
    ]);
  });
});
