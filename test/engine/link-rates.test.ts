/** How fast lenders may be read: their path, or their share divided among all who borrow. */

import { expect, it } from "vitest";
import { LinkRates } from "../../src/engine/link-rates.ts";
import type { Arena, KvCache } from "../../src/kvcache/index.ts";
import type { StepTiming } from "../../src/engine/step-timing.ts";
import type { Pool } from "../../src/pool/index.ts";

const PATH = 276e9;
const HBM = 1244e9;

/** Two lenders (sources 1 and 2) as their borrower sees them. */
function ratesWhen(isRunning: [number, number], borrowers: number, share: number | null) {
  const rates = new LinkRates({
    pathBytesPerSecond: Float64Array.of(0, PATH, PATH, 0),
    portBytesPerSecond: PATH,
    lenderShare: share,
    hbmBytesPerSecond: Float64Array.of(HBM, HBM, HBM, Infinity),
  });
  const arena = { hostSource: 3, isLenderRunning: Uint8Array.from(isRunning) };
  const pool = { borrowersOf: () => borrowers, readableBytesPerSecond: () => PATH };
  rates.refresh(arena as unknown as Arena, pool as unknown as Pool, new Int32Array(4), 0);
  return rates;
}

/** Two idle lenders of which others read; and what steps of the borrower find. */
class IdleLenders {
  readonly rates = ratesWhen([0, 0], 2, 0.02);
  nowNs = 0;
  readonly #arena = { engine: 3, hostSource: 3, isLenderRunning: new Uint8Array(2) };
  readonly #left: readonly [number, number];

  constructor(left: readonly [number, number]) {
    this.#left = left;
    this.refresh();
  }

  refresh(isRunning: [number, number] = [0, 0]): void {
    this.#arena.isLenderRunning.set(isRunning);
    const pool = {
      borrowersOf: () => 1,
      readableBytesPerSecond: (lender: number) => this.#left[lender]!,
    };
    const [arena, asPool] = [this.#arena as unknown as Arena, pool as unknown as Pool];
    this.rates.refresh(arena, asPool, new Int32Array(4), this.nowNs);
  }

  /** A step reads source 1 and finds this speed there. */
  step(found: number): void {
    this.nowNs += 50e6;
    const readBytes = Float64Array.of(0, 1e9, 0, 0);
    const readableBytesPerSecond = Float64Array.of(0, found, 0, 0);
    this.rates.observe({ readBytes, readableBytesPerSecond } as unknown as StepTiming, this.nowNs);
    this.refresh();
  }

  get speeds(): number[] {
    return Array.from(this.rates.sourceBytesPerSecond.subarray(1, 3), (speed) => speed / PATH);
  }
}

it("an idle lender that others read is expected to give what they leave, and may give more", () => {
  const { rates, speeds } = new IdleLenders([PATH / 2, PATH]);
  expect(speeds).toEqual([0.5, 1]);
  expect(Array.from(rates.allowedBytesPerSecond)).toEqual([0, PATH, PATH, 0]);
  expect(rates.isConstrained).toBe(false);
});

it("what steps find counts more than what the pool knows, less of it at once, more slowly", () => {
  const lenders = new IdleLenders([PATH / 2, PATH]);
  lenders.step(PATH);
  expect(lenders.speeds[0]).toBe(1);
  lenders.step(0.3 * PATH);
  // In whole sixteenths.
  expect(lenders.speeds[0]).toBe(0.25);
  lenders.step(PATH);
  expect(lenders.speeds[0]).toBeLessThan(0.4);
  for (let step = 0; step < 100; step++) lenders.step(PATH);
  expect(lenders.speeds[0]).toBeGreaterThan(0.9);
});

it("what steps found is forgotten when nothing was read for a second", () => {
  const lenders = new IdleLenders([PATH / 2, PATH]);
  lenders.step(0.3 * PATH);
  lenders.nowNs += 2e9;
  lenders.refresh();
  expect(lenders.speeds[0]).toBe(0.5);
});

it("what a running lender gives says nothing of what it gives when it is idle", () => {
  const lenders = new IdleLenders([PATH, PATH]);
  lenders.refresh([1, 0]);
  lenders.step(0.02 * PATH);
  expect(lenders.speeds[0]).toBe(1);
});

it("carries in a time what the lenders that hold something give together", () => {
  const { rates } = new IdleLenders([PATH, PATH / 4]);
  const cache = (heldRows: number[]): KvCache =>
    ({ slices: { heldRows }, layout: { blockBytes: 1e6 } }) as unknown as KvCache;
  // 10 ms at 276 GB/s are 2,760 blocks of a megabyte; the port carries no more than one path.
  expect(rates.carriedBlocks(cache([9, 0, 3, 0]), 10e6)).toBeCloseTo(690);
  expect(rates.carriedBlocks(cache([9, 3, 3, 0]), 10e6)).toBeCloseTo(2760);
  expect(rates.carriedBlocks(cache([9, 0, 0, 0]), 10e6)).toBe(0);
});

it("a lender that does not run is read at the speed of its path", () => {
  const rates = ratesWhen([0, 0], 2, 0.02);
  expect(Array.from(rates.sourceBytesPerSecond)).toEqual([0, PATH, PATH, 0]);
  expect(rates.isConstrained).toBe(false);
});

it("one that runs gives its share to all its borrowers together", () => {
  expect(ratesWhen([1, 0], 1, 0.02).sourceBytesPerSecond[1]).toBeCloseTo(0.02 * HBM);
  const shared = ratesWhen([1, 0], 2, 0.02);
  expect(shared.sourceBytesPerSecond[1]).toBeCloseTo(0.01 * HBM);
  expect(shared.sourceBytesPerSecond[2]).toBe(PATH);
  expect(shared.isConstrained).toBe(true);
});

it("without pacing it gives all, with a share of nothing nothing", () => {
  expect(ratesWhen([1, 1], 2, null).sourceBytesPerSecond[1]).toBe(PATH);
  expect(ratesWhen([1, 1], 2, 0).sourceBytesPerSecond[1]).toBe(0);
});

it("blocks move out beforehand while links are less than half busy, and hardly busier", () => {
  const rates = ratesWhen([1, 0], 1, 0.02);
  const stagedBytes = new Float64Array(4);
  const readSet = { totalBytes: () => 30e6, stagedBytes, directBytes: new Float64Array(4) };
  const reads = { readSet, layout: { layers: 40, blockBytes: 10e6 } } as unknown as KvCache;
  stagedBytes[2] = 30e6;
  // 1.2 GB at 276 GB/s are 4.3 ms, 50 blocks more 1.8 ms.
  expect(rates.hasRoomFor(50, reads, 10e6)).toBe(true);
  expect(rates.hasRoomFor(50, reads, 8e6)).toBe(false);
  expect(rates.hasRoomFor(100, reads, 10e6)).toBe(false);
  // 0.2 GB of a running lender's 25 GB/s are 8 ms.
  stagedBytes[1] = 5e6;
  expect(rates.hasRoomFor(50, reads, 10e6)).toBe(false);
  expect(rates.hasRoomFor(50, reads, 17e6)).toBe(true);
});
