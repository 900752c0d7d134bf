// Which loans go back unasked: all of a lender that loses, a part of all when tokens are late.

import { describe, expect, it } from "vitest";
import { LoanRetreat, type LoanRetreatParts } from "../../src/engine/loan-retreat.ts";
import { LoanTrust } from "../../src/engine/loan-trust.ts";

const SECOND = 1e9;
const TARGET_NS = 100e6;

/** An engine (0) with slices of lenders 1 and 2. */
class Bench {
  readonly losing = new Set<number>();
  readonly running = new Set<number>();
  readonly trust = new LoanTrust();
  readonly done: string[] = [];
  readonly tokenTimes = { slowNs: 0 };
  held = [10, 0, 8, 16, 0];
  readonly retreat: LoanRetreat;

  constructor(lenderShare: number | null = 0.02) {
    const { held, losing, running, done, tokenTimes } = this;
    const parts = {
      pool: {
        isLosing: (lender: number) => losing.has(lender),
        isRunning: (lender: number) => running.has(lender),
      },
      arena: { engine: 0, borrowedSlices: held[2]! + held[3]! },
      kv: { slices: { heldRows: held } },
      ladder: {
        leave: (lender: number) => done.push(`leave ${lender}`),
        shed: (count: number) => done.push(`shed ${count}`),
      },
      residency: { comeHome: (source: number) => done.push(`home ${source}`) },
      tokenTimes,
    };
    this.retreat = new LoanRetreat(
      { engineCount: 3, tpotTargetNs: TARGET_NS, lenderShare },
      parts as unknown as LoanRetreatParts,
      this.trust,
    );
  }

  at(seconds: number): string[] {
    this.done.length = 0;
    this.retreat.retreat(seconds * SECOND);
    return [...this.done];
  }
}

describe("a lender whose account loses", () => {
  it("gets all back, and what is in use there comes home", () => {
    const bench = new Bench();
    expect(bench.at(1)).toEqual([]);
    bench.losing.add(2);
    expect(bench.at(2)).toEqual(["leave 2", "home 3"]);
    expect(bench.trust.slices(3 * SECOND)).toBe(0);
  });

  it("is not asked for moves that it would hold up, as it runs and gives nothing", () => {
    const bench = new Bench(0);
    bench.losing.add(1);
    bench.running.add(1);
    expect(bench.at(1)).toEqual(["leave 1"]);
    bench.running.delete(1);
    expect(bench.at(2)).toEqual(["leave 1", "home 2"]);
  });

  it("gives moves their part while it runs, where it gives any", () => {
    const bench = new Bench(0.01);
    bench.losing.add(1);
    bench.running.add(1);
    expect(bench.at(1)).toEqual(["leave 1", "home 2"]);
  });

  it("of which nothing is held is nobody's concern", () => {
    const bench = new Bench();
    bench.held[2] = 0;
    bench.losing.add(1);
    expect(bench.at(1)).toEqual([]);
    expect(bench.trust.slices(2 * SECOND)).toBe(Infinity);
  });
});

describe("late tokens", () => {
  it("send an eighth of all loans back, and again three seconds later", () => {
    const bench = new Bench();
    bench.tokenTimes.slowNs = TARGET_NS;
    expect(bench.at(1)).toEqual([]);
    bench.tokenTimes.slowNs = TARGET_NS + 1;
    expect(bench.at(2)).toEqual(["shed 3"]);
    expect(bench.at(4.9)).toEqual([]);
    expect(bench.at(5)).toEqual(["shed 3"]);
    bench.tokenTimes.slowNs = TARGET_NS;
    expect(bench.at(9)).toEqual([]);
  });
});
