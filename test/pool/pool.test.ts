/** The pool's answers one by one: refusals, epochs, removal, misuse. */

import { describe, expect, it } from "vitest";
import { AssertionFailure, sliceId } from "../../src/base/index.ts";
import { A, B, borrowed, C, denied, PoolBench } from "./pool-bench.ts";

describe("requests", () => {
  it("grants one lease a lender and evens out what they lent", () => {
    const bench = new PoolBench();
    bench.offer(B, 6);
    bench.offer(C, 6);
    const events = bench.request(A, 4);
    expect(events.map((event) => event.type)).toEqual(["LeaseGranted", "LeaseGranted"]);
    expect([bench.pool.lentTo(B, A), bench.pool.lentTo(C, A)]).toEqual([2, 2]);
    expect(new Set(borrowed(events)).size).toBe(4);
  });

  it("refuses a lender, whether it lent or only offers: role", () => {
    const bench = new PoolBench();
    bench.offer(A, 2);
    bench.offer(B, 2);
    expect(bench.request(A, 3)).toEqual([denied("role", 3)]);
    expect(bench.pool.obtainable(A)).toEqual({ fromIdleLenders: 0, fromRunningLenders: 0 });
    expect(bench.pool.offeredTo(A, 0)).toEqual({ fromIdleLenders: 2, fromRunningLenders: 0 });
    expect(bench.request(C, 4)).toHaveLength(2);
    expect(bench.pool.idleSlices(A)).toBe(0);
    expect(bench.request(A, 1)).toEqual([denied("role", 1)]);
    expect(bench.pool.obtainable(A)).toEqual({ fromIdleLenders: 0, fromRunningLenders: 0 });
  });

  it("grants what the limit leaves and denies the rest: limit", () => {
    const bench = new PoolBench({ limits: [3, Infinity, Infinity] });
    bench.offer(B, 9);
    const events = bench.request(A, 5);
    expect(borrowed(events)).toHaveLength(3);
    expect(events.at(-1)).toEqual(denied("limit", 2));
    expect(bench.request(A, 1)).toEqual([denied("limit", 1)]);
  });

  it("takes a limit below what is borrowed as no more, and a higher one at once", () => {
    const bench = new PoolBench();
    bench.offer(B, 9);
    bench.request(A, 4);
    bench.pool.apply({ type: "SetBorrowLimit", engine: A, sliceCount: 2 }, 0);
    expect(bench.request(A, 1)).toEqual([denied("limit", 1)]);
    bench.pool.apply({ type: "SetBorrowLimit", engine: A, sliceCount: 5 }, 0);
    expect(borrowed(bench.request(A, 1))).toHaveLength(1);
  });

  it("names the limit before the link, the link before the account, that before the share", () => {
    const bench = new PoolBench({ limits: [0, Infinity, Infinity], cut: [[B, A]] });
    bench.offer(B, 4);
    expect(bench.request(A, 1)).toEqual([denied("limit", 1)]);
    bench.pool.apply({ type: "SetBorrowLimit", engine: A, sliceCount: 9 }, 0);
    expect(bench.request(A, 1)).toEqual([denied("link", 1)]);
    bench.offer(C, 4);
    bench.run(C, true);
    bench.lose(A, C);
    expect(bench.request(A, 1, true)).toEqual([denied("account", 1)]);
    bench.nowNs = 1e9;
    expect(bench.request(A, 1)).toEqual([denied("lender-share", 1)]);
    expect(bench.pool.obtainable(A)).toEqual({ fromIdleLenders: 0, fromRunningLenders: 4 });
    const events = bench.request(A, 5, true);
    expect(borrowed(events)).toHaveLength(4);
    expect(events.at(-1)).toEqual(denied("link", 1));
  });

  it("says so when nothing is idle: no-idle-memory", () => {
    const bench = new PoolBench();
    expect(bench.request(A, 2)).toEqual([denied("no-idle-memory", 2)]);
    bench.offer(B, 1);
    const events = bench.request(A, 2);
    expect(borrowed(events)).toHaveLength(1);
    expect(events.at(-1)).toEqual(denied("no-idle-memory", 1));
  });

  it("tells obtainable when a back-off is over though no command came since", () => {
    const bench = new PoolBench();
    bench.offer(B, 3);
    bench.lose(A, B);
    expect(bench.pool.obtainable(A).fromIdleLenders).toBe(0);
    expect(bench.pool.obtainable(A, 1e9).fromIdleLenders).toBe(3);
  });
});

describe("slices", () => {
  it("come home under a new epoch, and are lent again under it", () => {
    const bench = new PoolBench();
    bench.offer(B, 1);
    const [granted] = bench.request(A, 1);
    expect(granted).toMatchObject({ slices: [10], epochs: [0] });
    bench.giveBack(A, [10]);
    expect(bench.pool.epochOf(sliceId(10))).toBe(1);
    expect(bench.events(B)).toEqual([{ type: "SlicesReturned", slices: [10] }]);
    bench.offer(B, 1);
    expect(bench.request(C, 1)).toMatchObject([{ slices: [10], epochs: [1] }]);
  });

  it("are withdrawn while idle, under the same epoch, and none is an answer too", () => {
    const bench = new PoolBench();
    bench.offer(B, 2);
    const withdraw = { type: "WithdrawSlices", engine: B, count: 5 } as const;
    bench.pool.apply(withdraw, 0);
    const [event] = bench.events(B);
    expect(event?.type === "SlicesWithdrawn" && [...event.slices].sort()).toEqual([10, 11]);
    expect(bench.pool.epochOf(sliceId(10))).toBe(0);
    bench.pool.apply(withdraw, 0);
    expect(bench.events(B)).toEqual([{ type: "SlicesWithdrawn", slices: [] }]);
  });

  it("of a lender that begins or ends to run are told to its borrowers, on change only", () => {
    const bench = new PoolBench();
    bench.offer(B, 2);
    bench.request(A, 1);
    bench.run(B, false);
    bench.run(B, true);
    bench.run(B, true);
    expect(bench.events(A)).toEqual([{ type: "LenderActivity", lender: B, isRunning: true }]);
    expect(bench.events(C)).toEqual([]);
    expect(bench.pool.isRunning(B)).toBe(true);
  });
});

describe("an engine that is gone", () => {
  it("takes what it lent with it and leaves what it borrowed", () => {
    const bench = new PoolBench();
    bench.offer(B, 2);
    bench.request(A, 2);
    bench.recall(B, 1, "demand");
    bench.pool.apply({ type: "RemoveEngine", engine: B }, 0);
    expect(bench.events(A).at(-1)).toMatchObject({ type: "LeaseLost", lender: B });
    expect(bench.pool.borrowedSlices(A)).toBe(0);
    expect(bench.pool.epochOf(sliceId(10))).toBe(1);
    bench.offer(C, 3);
    bench.request(A, 3);
    bench.recall(C, 1, "refill");
    bench.nowNs = 8;
    bench.pool.apply({ type: "RemoveEngine", engine: A }, 8);
    expect(bench.events(C)).toMatchObject([{ type: "SlicesReturned" }]);
    expect(bench.recalls).toEqual([{ kind: "refill", slices: 1, waitNs: 8 }]);
    expect(() => bench.run(B, true)).toThrow(AssertionFailure);
  });
});

describe("misuse is an assertion", () => {
  const cases: Readonly<Record<string, (bench: PoolBench) => void>> = {
    "offering a slice of another": (bench) =>
      bench.pool.apply({ type: "OfferSlices", engine: A, slices: [sliceId(10)] }, 0),
    "offering a slice that is nobody's": (bench) =>
      bench.pool.apply({ type: "OfferSlices", engine: A, slices: [sliceId(30)] }, 0),
    "offering twice": (bench) => bench.offer(B, 1),
    "offering what is lent": (bench) => {
      bench.request(A, 2);
      bench.offer(B, 1);
    },
    "offering while it borrows": (bench) => {
      bench.request(A, 1);
      bench.offer(A, 1);
    },
    "returning twice": (bench) => {
      const slices = borrowed(bench.request(A, 1));
      bench.giveBack(A, slices);
      bench.giveBack(A, slices);
    },
    "returning one slice twice at once": (bench) => {
      const slices = borrowed(bench.request(A, 1));
      bench.giveBack(A, [...slices, ...slices]);
    },
    "returning what another holds": (bench) => bench.giveBack(C, borrowed(bench.request(A, 1))),
    "a request of nothing": (bench) => bench.request(A, 0),
    "a recall of half a slice": (bench) => bench.recall(B, 0.5, "demand"),
    "a settlement with itself": (bench) => bench.lose(A, A),
    "time that goes back": (bench) => {
      bench.pool.apply({ type: "SetActivity", engine: A, isRunning: true }, 5);
      bench.pool.apply({ type: "SetActivity", engine: A, isRunning: false }, 4);
    },
  };
  it.each(Object.entries(cases))("%s", (_, act) => {
    const bench = new PoolBench();
    bench.offer(B, 2);
    expect(() => act(bench)).toThrow(AssertionFailure);
  });
});
