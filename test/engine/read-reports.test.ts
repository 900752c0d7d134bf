/** What borrowers tell the pool of their reads: means over a quarter of a second, only news. */

import { describe, expect, it } from "vitest";
import { ReadReports } from "../../src/engine/read-reports.ts";
import type { Arena } from "../../src/kvcache/index.ts";
import type { Pool, PoolCommand } from "../../src/pool/index.ts";
import { A, B, C, PoolBench } from "../pool/pool-bench.ts";

const PERIOD_NS = 250e6;

/** By report: when, of whom, bytes/s. */
type Told = [atMs: number, lender: number, bytesPerSecond: number];

class Bench {
  readonly told: Told[] = [];
  readonly #reports = new ReadReports(3);
  readonly #arena = { engine: A } as unknown as Arena;
  readonly #pool: Pool;

  constructor() {
    const apply = (command: PoolCommand, nowNs: number): void => {
      if (command.type !== "ReportReads") throw new Error(command.type);
      expect(command.engine).toBe(A);
      this.told.push([nowNs / 1e6, command.lender, command.bytesPerSecond]);
    };
    this.#pool = { apply } as unknown as Pool;
  }

  /** A step read so many bytes of engines 1 and 2. */
  read(first: number, second = 0): void {
    // (sources): its own device, every engine, the host.
    this.#reports.observe(Float64Array.of(77, 0, first, second, 88));
  }

  report(nowNs: number): void {
    this.#reports.report(this.#arena, this.#pool, nowNs);
  }
}

/** One that has looked at the clock: the first period has no length. */
function begun(): Bench {
  const bench = new Bench();
  bench.report(0);
  return bench;
}

describe("reports of what is read", () => {
  it("are means over all steps of a period, lender by lender", () => {
    const bench = begun();
    bench.read(100, 10);
    bench.read(300);
    bench.report(PERIOD_NS);
    expect(bench.told).toEqual([[250, 1, 1600], [250, 2, 40]]);
    bench.read(500, 50);
    bench.report(2.25 * PERIOD_NS);
    // 500 bytes in 312.5 ms are the rate of before.
    expect(bench.told.slice(2)).toEqual([[562.5, 2, 160]]);
  });

  it("come when a quarter of a second has passed, not before", () => {
    const bench = begun();
    for (let nowNs = 50e6; nowNs < 1e9; nowNs += 50e6) {
      bench.read(nowNs);
      bench.report(nowNs);
    }
    expect(bench.told.map(([atMs]) => atMs)).toEqual([250, 500, 750]);
    bench.read(1);
    bench.report(PERIOD_NS * 4 - 1);
    expect(bench.told.length).toBe(3);
  });

  it("are not made when nothing has changed", () => {
    const bench = begun();
    for (let period = 1; period <= 5; period++) {
      bench.read(1000, period < 3 ? 20 : 40);
      bench.report(period * PERIOD_NS);
    }
    expect(bench.told).toEqual([[250, 1, 4000], [250, 2, 80], [750, 2, 160]]);
  });

  it("say once that reading has stopped, and nothing while it never began", () => {
    const bench = begun();
    bench.report(PERIOD_NS);
    expect(bench.told).toEqual([]);
    bench.read(1000);
    for (let period = 2; period <= 5; period++) bench.report(period * PERIOD_NS);
    expect(bench.told).toEqual([[500, 1, 4000], [750, 1, 0]]);
  });

  it("of a first period, which has no length, say nothing at any hour", () => {
    const bench = new Bench();
    bench.read(1000);
    bench.report(7e12);
    expect(bench.told).toEqual([]);
    bench.read(1000);
    bench.report(7e12 + PERIOD_NS);
    expect(bench.told).toEqual([[7e6 + 250, 1, 4000]]);
  });

  it("leave others the rest of the lender's port, until reading has stopped", () => {
    const bench = new PoolBench();
    bench.offer(B, 4);
    bench.request(A, 2);
    const reports = new ReadReports(3);
    const arena = { engine: A } as unknown as Arena;
    const left = (nowNs: number): number => {
      bench.nowNs = nowNs;
      reports.report(arena, bench.pool, nowNs);
      return bench.pool.readableBytesPerSecond(B, C) / 276e9;
    };
    expect(left(0)).toBe(1);
    // A quarter of 276 GB/s, over a quarter of a second.
    reports.observe(Float64Array.of(0, 0, 276e9 / 16, 0, 0));
    expect(left(PERIOD_NS)).toBe(3 / 4);
    expect(left(2 * PERIOD_NS)).toBe(1);
  });
});
