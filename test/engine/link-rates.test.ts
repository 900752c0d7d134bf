/** How fast lenders may be read: their path, or their share divided among all who borrow. */

import { expect, it } from "vitest";
import { LinkRates } from "../../src/engine/link-rates.ts";
import type { Arena, KvCache } from "../../src/kvcache/index.ts";
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
  const pool = { borrowersOf: () => borrowers };
  rates.refresh(arena as unknown as Arena, pool as unknown as Pool, new Int32Array(4));
  return rates;
}

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
