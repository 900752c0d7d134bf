/** The read set against a map that recounts everything. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReadSet } from "../../src/prefetch/index.ts";

const SOURCES = 3;

interface Access {
  source: number;
  runs: number;
  bytes: number;
}
type Model = { accesses: Map<number, Access> };

class SetAccess implements fc.Command<Model, ReadSet> {
  readonly key: number;
  readonly access: Access;
  constructor(key: number, access: Access) {
    this.key = key;
    this.access = access;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: ReadSet): void {
    const before = model.accesses.get(this.key);
    const wasStaged = real.isStaged(this.key);
    const version = real.version;
    real.set(this.key, this.access.source, this.access.runs, this.access.bytes);
    model.accesses.set(this.key, this.access);
    const isSame = before?.source === this.access.source;
    expect(real.isStaged(this.key)).toBe(isSame ? wasStaged : true);
    const isNoChange =
      isSame && before.bytes === this.access.bytes && before.runs === this.access.runs;
    expect(real.version > version).toBe(!isNoChange);
    compare(model, real);
  }
  toString(): string {
    return `set(${this.key}, ${JSON.stringify(this.access)})`;
  }
}

class DeleteAccess implements fc.Command<Model, ReadSet> {
  readonly key: number;
  readonly byZeroBytes: boolean;
  constructor(key: number, byZeroBytes: boolean) {
    this.key = key;
    this.byZeroBytes = byZeroBytes;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: ReadSet): void {
    const version = real.version;
    const wasPresent = model.accesses.delete(this.key);
    if (this.byZeroBytes) real.set(this.key, 0, 0, 0);
    else real.delete(this.key);
    expect(real.version > version).toBe(wasPresent);
    compare(model, real);
  }
  toString(): string {
    return `delete(${this.key})`;
  }
}

class Rebalance implements fc.Command<Model, ReadSet> {
  readonly shares: readonly number[];
  constructor(shares: readonly number[]) {
    this.shares = shares;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: ReadSet): void {
    const target = Float64Array.from(this.shares, (share, source) =>
      Math.round(share * (real.stagedBytes[source]! + real.directBytes[source]!)),
    );
    const before = real.stagedBytes.slice();
    const version = real.version;
    real.rebalance(target);
    compare(model, real);
    for (let source = 0; source < SOURCES; source++) {
      const sizes = [...model.accesses.values()]
        .filter((access) => access.source === source)
        .map((access) => access.bytes);
      const missedBytes = Math.abs(real.stagedBytes[source]! - target[source]!);
      expect(missedBytes).toBeLessThanOrEqual(Math.max(0, ...sizes) / 2);
      expect(missedBytes).toBeLessThanOrEqual(Math.abs(before[source]! - target[source]!));
    }
    const moved = real.stagedBytes.some((bytes, source) => bytes !== before[source]);
    expect(real.version > version).toBe(moved);
    const settled = real.version;
    real.rebalance(target);
    expect(real.version, "a second rebalance has nothing to move").toBe(settled);
  }
  toString(): string {
    return `rebalance(${this.shares.join(", ")})`;
  }
}

function compare(model: Model, real: ReadSet): void {
  real.check();
  const staged = { bytes: [0, 0, 0], runs: [0, 0, 0] };
  const direct = { bytes: [0, 0, 0], runs: [0, 0, 0] };
  for (const [key, access] of model.accesses) {
    const sums = real.isStaged(key) ? staged : direct;
    sums.bytes[access.source]! += access.bytes;
    sums.runs[access.source]! += access.runs;
  }
  expect([...real.stagedBytes]).toEqual(staged.bytes);
  expect([...real.stagedRuns]).toEqual(staged.runs);
  expect([...real.directBytes]).toEqual(direct.bytes);
  expect([...real.directRuns]).toEqual(direct.runs);
  const total = [...staged.bytes, ...direct.bytes].reduce((sum, bytes) => sum + bytes, 0);
  expect(real.totalBytes()).toBe(total);
  for (let key = 0; key < 40; key++) expect(real.has(key)).toBe(model.accesses.has(key));
}

describe("the read set", () => {
  it("behaves like a map that is recounted", () => {
    const anyKey = fc.nat({ max: 39 });
    const anyAccess = fc
      .record({
        source: fc.nat({ max: SOURCES - 1 }),
        runs: fc.integer({ min: 1, max: 9 }),
        runBytes: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 4e9 })),
      })
      .map(({ source, runs, runBytes }) => ({ source, runs, bytes: runs * runBytes }));
    const anyShare = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
    const anyShares = fc.array(anyShare, { minLength: SOURCES, maxLength: SOURCES });
    fc.assert(
      fc.property(
        fc.commands(
          [
            fc.tuple(anyKey, anyAccess).map(([key, access]) => new SetAccess(key, access)),
            fc.tuple(anyKey, anyAccess).map(([key, access]) => new SetAccess(key, access)),
            fc.tuple(anyKey, fc.boolean()).map(([key, zero]) => new DeleteAccess(key, zero)),
            anyShares.map((shares) => new Rebalance(shares)),
          ],
          { maxCommands: 60 },
        ),
        (commands) => {
          const setup = (): { model: Model; real: ReadSet } => ({
            model: { accesses: new Map() },
            real: new ReadSet(SOURCES, 2),
          });
          fc.modelRun(setup, commands);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("reads short runs in place and stages long ones", () => {
    const reads = new ReadSet(1, 4);
    reads.set(0, 0, 8, 1_600_000);
    reads.set(1, 0, 1, 1_600_000);
    reads.set(2, 0, 8, 1_600_000);
    reads.set(3, 0, 1, 1_600_000);
    reads.rebalance(new Float64Array([3_200_000]));
    expect([0, 1, 2, 3].map((key) => reads.isStaged(key))).toEqual([false, true, false, true]);
    reads.rebalance(new Float64Array([0]));
    reads.rebalance(new Float64Array([1_600_000]));
    expect(reads.stagedRuns[0]).toBe(1);
  });

  it("fills with a small access what a large one left open", () => {
    const reads = new ReadSet(1, 2);
    reads.set(0, 0, 1, 1);
    reads.set(1, 0, 1, 10_000);
    reads.rebalance(new Float64Array([1]));
    expect([reads.isStaged(0), reads.isStaged(1)]).toEqual([true, false]);
  });

  it("stages rather more than less of a few large accesses, and no more than it must", () => {
    const reads = new ReadSet(1, 4);
    for (let key = 0; key < 4; key++) reads.set(key, 0, 1, 1000);
    reads.rebalance(new Float64Array([400]));
    expect(reads.stagedBytes[0]).toBe(0);
    reads.rebalance(new Float64Array([400]), false);
    expect(reads.stagedBytes[0]).toBe(1000);
    reads.rebalance(new Float64Array([2001]), false);
    expect(reads.stagedBytes[0]).toBe(3000);
    reads.rebalance(new Float64Array([1000]), false);
    expect(reads.stagedBytes[0]).toBe(3000);
    reads.check();
  });

  it("refuses a source it does not have, and runs without bytes", () => {
    const reads = new ReadSet(2, 4);
    expect(() => reads.set(0, 2, 1, 10)).toThrow("no source 2");
    expect(() => reads.set(0, 0, 11, 10)).toThrow("11 runs of 10 bytes");
    expect(() => reads.set(0, 0, 1, 0.5)).toThrow("bytes");
  });
});
