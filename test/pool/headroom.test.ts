/** Headroom by example and at its bounds; the allocation rate against a list of allocations. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AllocationRate,
  headroomSlices,
  lendableSlices,
  type HeadroomSetting,
} from "../../src/pool/index.ts";

const MIB = 1024 ** 2;

describe("headroomSlices", () => {
  const slices = (rate: number, setting: HeadroomSetting = "auto", ownSlices = 150): number =>
    headroomSlices({
      peakAllocationBytesPerSecond: rate,
      refillNs: 100e6,
      sliceBytes: 64 * MIB,
      ownSlices,
      setting,
    });

  it("is what is allocated while a refill is on its way, rounded up", () => {
    expect(slices(64 * MIB * 80)).toBe(8);
    expect(slices(64 * MIB * 80 + 1)).toBe(9);
  });

  it("is at least 2 % and at most 10 % of the own slices, rounded up", () => {
    expect(slices(0)).toBe(3);
    expect(slices(0, "auto", 151)).toBe(4);
    expect(slices(1e15)).toBe(15);
    expect(slices(1e15, "auto", 151)).toBe(16);
    expect(slices(1e15, "auto", 0)).toBe(0);
  });

  it("is what was fixed, but never more than there is", () => {
    expect(slices(1e15, { kind: "none" })).toBe(0);
    expect(slices(0, { kind: "share", share: 0.07 }, 100)).toBe(7);
    expect(slices(0, { kind: "share", share: 0.071 }, 100)).toBe(8);
    expect(slices(0, { kind: "share", share: 3 })).toBe(150);
    expect(slices(0, { kind: "bytes", bytes: 64 * MIB * 5 })).toBe(5);
    expect(slices(0, { kind: "bytes", bytes: 64 * MIB * 5 + 1 })).toBe(6);
  });

  it("leaves to others at most what an engine without allocations does not keep", () => {
    const sliceBytes = 64 * MIB;
    expect(lendableSlices(150, { sliceBytes, headroom: "auto" })).toBe(147);
    expect(lendableSlices(150, { sliceBytes, headroom: { kind: "none" } })).toBe(150);
    expect(lendableSlices(2, { sliceBytes, headroom: { kind: "share", share: 3 } })).toBe(0);
  });
});

describe("AllocationRate", () => {
  it("is the fullest second of the last sixty", () => {
    const allocation = fc.record({
      elapsedNs: fc.constantFrom(0, 1, 4e8, 1e9, 13e9, 59e9, 60e9, 200e9),
      bytes: fc.nat(1000),
    });
    fc.assert(
      fc.property(fc.array(allocation, { maxLength: 60, size: "max" }), (allocations) => {
        const rate = new AllocationRate();
        const seen: { readonly second: number; readonly bytes: number }[] = [];
        let nowNs = 0;
        for (const { elapsedNs, bytes } of allocations) {
          nowNs += elapsedNs;
          rate.record(bytes, nowNs);
          rate.check();
          const now = Math.floor(nowNs / 1e9);
          seen.push({ second: now, bytes });
          const sums = new Map<number, number>();
          for (const { second, bytes: part } of seen) {
            if (second > now - 60) sums.set(second, (sums.get(second) ?? 0) + part);
          }
          expect(rate.peakBytesPerSecond(nowNs)).toBe(Math.max(0, ...sums.values()));
        }
      }),
    );
  });

  it("is nothing after a minute without allocation", () => {
    const rate = new AllocationRate();
    rate.record(500, 1e9);
    expect(rate.peakBytesPerSecond(60.9e9)).toBe(500);
    expect(rate.peakBytesPerSecond(61e9)).toBe(0);
  });
});
