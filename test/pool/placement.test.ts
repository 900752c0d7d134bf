/** Placement and its reasons as properties; apportioning as properties and by example. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apportion } from "../../src/pool/apportion.ts";
import { placeSlices, shortageReason, type LenderColumns } from "../../src/pool/placement.ts";

const lender = fc.record({
  idle: fc.nat(8),
  lent: fc.nat(8),
  path: fc.constantFrom<number[]>(0, 25e9, 276e9),
  isRunning: fc.boolean(),
  isBlocked: fc.boolean(),
});
type Lender = typeof lender extends fc.Arbitrary<infer Value> ? Value : never;

function columns(lenders: readonly Lender[]): LenderColumns {
  return {
    idleSlices: Int32Array.from(lenders, ({ idle }) => idle),
    lentSlices: Int32Array.from(lenders, ({ lent }) => lent),
    pathBytesPerSecond: Float64Array.from(lenders, ({ path }) => path),
    isRunning: Uint8Array.from(lenders, ({ isRunning }) => Number(isRunning)),
    isBlocked: Uint8Array.from(lenders, ({ isBlocked }) => Number(isBlocked)),
  };
}

interface Placed {
  readonly grants: number[];
  readonly granted: number;
  readonly reason: string;
}

function place(lenders: readonly Lender[], count: number, allowRunning: boolean): Placed {
  const grants = new Int32Array(lenders.length).fill(77);
  const granted = placeSlices(count, columns(lenders), allowRunning, grants);
  return { grants: [...grants], granted, reason: shortageReason(columns(lenders), grants) };
}

const server = fc.array(lender, { minLength: 1, maxLength: 6 });
const isUsable = (of: Lender, allowRunning: boolean): boolean =>
  of.path > 0 && !of.isBlocked && (allowRunning || !of.isRunning);

/** Lenders of one tier are equally good; a lower tier is used up before a higher one is touched. */
const tier = (of: Lender): number => (of.isRunning ? 1e12 : 0) - of.path;

describe("placeSlices", () => {
  it("grants all it can, from usable lenders only, never more than they offer", () => {
    fc.assert(
      fc.property(server, fc.nat(30), fc.boolean(), (lenders, count, allowRunning) => {
        const { grants, granted } = place(lenders, count, allowRunning);
        const usable = lenders.map((of) => (isUsable(of, allowRunning) ? of.idle : 0));
        const total = usable.reduce((sum, idle) => sum + idle, 0);
        expect(granted).toBe(Math.min(count, total));
        expect(grants.reduce((sum, part) => sum + part, 0)).toBe(granted);
        grants.forEach((part, index) => expect(part).toBeLessThanOrEqual(usable[index]!));
      }),
    );
  });

  it("uses a better tier up before it touches a worse one", () => {
    fc.assert(
      fc.property(server, fc.nat(30), (lenders, count) => {
        const { grants } = place(lenders, count, true);
        lenders.forEach((worse, index) => {
          if (grants[index] === 0) return;
          lenders.forEach((better, other) => {
            if (!isUsable(better, true) || tier(better) >= tier(worse)) return;
            expect(grants[other]).toBe(better.idle);
          });
        });
      }),
    );
  });

  it("evens out what equally good lenders have lent", () => {
    fc.assert(
      fc.property(server, fc.nat(30), (lenders, count) => {
        const { grants } = place(lenders, count, true);
        lenders.forEach((taken, index) => {
          if (grants[index] === 0) return;
          const level = taken.lent + grants[index]!;
          lenders.forEach((other, at) => {
            const hasRoom = isUsable(other, true) && grants[at]! < other.idle;
            if (!hasRoom || tier(other) !== tier(taken)) return;
            expect(level - (other.lent + grants[at]!)).toBeLessThanOrEqual(at < index ? 0 : 1);
          });
        });
      }),
    );
  });

  it("fills in order of id among equals", () => {
    const equal: Lender = { idle: 3, lent: 0, path: 1, isRunning: false, isBlocked: false };
    expect(place([equal, equal, equal], 4, false).grants).toEqual([2, 1, 1]);
    expect(place([{ ...equal, lent: 2 }, equal, equal], 5, false).grants).toEqual([1, 2, 2]);
  });

  it("prefers an idle lender on a slow path to a running one on a fast path", () => {
    const slow: Lender = { idle: 2, lent: 9, path: 1, isRunning: false, isBlocked: false };
    const fast: Lender = { idle: 5, lent: 0, path: 9, isRunning: true, isBlocked: false };
    expect(place([fast, slow], 3, true).grants).toEqual([1, 2]);
  });
});

describe("shortageReason", () => {
  it("holds for every lender that still has idle slices", () => {
    fc.assert(
      fc.property(server, fc.boolean(), (lenders, allowRunning) => {
        const { grants, reason } = place(lenders, 1000, allowRunning);
        const left = lenders.filter(({ idle }, index) => idle > grants[index]!);
        const near = left.filter(({ path }) => path > 0);
        const sound = near.filter(({ isBlocked }) => !isBlocked);
        expect(sound.every(({ isRunning }) => isRunning && !allowRunning)).toBe(true);
        if (left.length === 0) expect(reason).toBe("no-idle-memory");
        else if (near.length === 0) expect(reason).toBe("link");
        else expect(reason).toBe(sound.length === 0 ? "account" : "lender-share");
      }),
    );
  });
});

describe("apportion", () => {
  it("sums to what can be had, within one of the exact share", () => {
    fc.assert(
      fc.property(fc.nat(200), fc.array(fc.nat(50), { maxLength: 12 }), (count, weights) => {
        const parts = apportion(count, weights);
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const wanted = Math.min(count, total);
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(wanted);
        parts.forEach((part, index) => {
          expect(part).toBeLessThanOrEqual(weights[index]!);
          const exact = total === 0 ? 0 : (wanted * weights[index]!) / total;
          expect(Math.abs(part - exact)).toBeLessThan(1);
        });
      }),
    );
  });

  it("gives what is left to the largest fraction, then the larger weight, then the first", () => {
    expect(apportion(1, [1, 2, 1])).toEqual([0, 1, 0]);
    expect(apportion(1, [1, 1, 1])).toEqual([1, 0, 0]);
    expect(apportion(3, [6, 3])).toEqual([2, 1]);
    expect(apportion(0, [4])).toEqual([0]);
  });
});
