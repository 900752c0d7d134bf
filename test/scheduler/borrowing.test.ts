/** How much remote KV is wanted: against a plain search, and at the corners. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { remoteBytesWanted, type BorrowQuestion } from "../../src/scheduler/index.ts";

const GB = 1e9;

/** A decode step with staged remote bytes: they are written and read once more on their way. */
interface Machine {
  readonly baseNs: number;
  readonly nsPerSequence: number;
  readonly localBytesPerNs: number;
  readonly linkBytesPerNs: number;
  readonly ringShare: number;
}

function question(machine: Machine, rest: Omit<BorrowQuestion, "forecast">): BorrowQuestion {
  const { baseNs, nsPerSequence, localBytesPerNs, linkBytesPerNs, ringShare } = machine;
  const stepNs = (sequences: number, remoteBytes: number): number => {
    const bytes = sequences * rest.sequenceBytes + remoteBytes;
    const localNs = baseNs + sequences * nsPerSequence + bytes / localBytesPerNs;
    return Math.max(localNs, remoteBytes / linkBytesPerNs);
  };
  const ringBytes = (_: number, remoteBytes: number): number => remoteBytes * ringShare;
  return { ...rest, forecast: { stepNs, ringBytes } };
}

/** Tokens a second with so many remote bytes, and the step's length. */
function outcome(asked: BorrowQuestion, remoteBytes: number): { rate: number; stepNs: number } {
  const { ownBytes, sequenceBytes, sequencesMax, forecast } = asked;
  const ring = forecast.ringBytes((ownBytes + remoteBytes) / sequenceBytes, remoteBytes);
  const sequences = Math.min((ownBytes - ring + remoteBytes) / sequenceBytes, sequencesMax);
  const stepNs = forecast.stepNs(sequences, remoteBytes);
  return { rate: sequences / stepNs, stepNs };
}

/** Like an A100 with a 13 B model: weights are most of the step. */
const WEIGHTS: Machine = {
  baseNs: 25e6,
  nsPerSequence: 5e4,
  localBytesPerNs: 1244,
  linkBytesPerNs: 276,
  ringShare: 0.03,
};
/** Much faster per sequence than per byte: KV is all of the step. */
const KV_BOUND: Machine = { ...WEIGHTS, baseNs: 1e6, nsPerSequence: 0, localBytesPerNs: 500 };
const PLENTY = {
  ownBytes: 8 * GB,
  sequenceBytes: 0.4 * GB,
  sequencesMax: 1000,
  remoteBytesMax: 8 * GB,
  tpotTargetNs: 1e9,
};

describe("remoteBytesWanted", () => {
  it("borrows where weights dominate the step", () => {
    const asked = question(WEIGHTS, PLENTY);
    const { remoteBytes } = remoteBytesWanted(asked);
    expect(remoteBytes).toBeGreaterThan(4 * GB);
    expect(outcome(asked, remoteBytes).rate).toBeGreaterThan(1.3 * outcome(asked, 0).rate);
  });

  it("says limit when all of it pays, and does-not-pay beyond the balance point", () => {
    const near = remoteBytesWanted(question(WEIGHTS, { ...PLENTY, remoteBytesMax: 2 * GB }));
    expect(near).toMatchObject({ remoteBytes: 2 * GB, bound: "limit" });
    const far = remoteBytesWanted(question(WEIGHTS, { ...PLENTY, remoteBytesMax: 100 * GB }));
    expect(far.bound).toBe("does-not-pay");
    expect(far.remoteBytes).toBeLessThan(25 * GB);
  });

  it("borrows nothing where KV is the step and the link is slow", () => {
    const asked = question({ ...KV_BOUND, linkBytesPerNs: 20 }, PLENTY);
    expect(remoteBytesWanted(asked)).toMatchObject({ remoteBytes: 0, bound: "does-not-pay" });
  });

  it("asks for what there is work for, and no more", () => {
    const asked = question(WEIGHTS, { ...PLENTY, sequencesMax: 24 });
    const { remoteBytes, bound } = remoteBytesWanted(asked);
    expect(bound).toBe("demand");
    expect(remoteBytes).toBeGreaterThan(0);
    expect(remoteBytes).toBeLessThan(4 * GB);
    expect(remoteBytesWanted(question(WEIGHTS, { ...PLENTY, sequencesMax: 10 }))).toMatchObject({
      remoteBytes: 0,
      bound: "demand",
    });
  });

  it("stops before the TPOT target is missed", () => {
    const asked = question(WEIGHTS, { ...PLENTY, tpotTargetNs: 40e6 });
    const { remoteBytes, bound } = remoteBytesWanted(asked);
    expect(bound).toBe("slo");
    expect(remoteBytes).toBeGreaterThan(0);
    expect(outcome(asked, remoteBytes).stepNs).toBeLessThanOrEqual(40e6);
  });

  it("wants nothing when there is nothing, or nobody to use it", () => {
    const none = remoteBytesWanted(question(WEIGHTS, { ...PLENTY, remoteBytesMax: 0 }));
    expect(none.remoteBytes).toBe(0);
    const nobody = remoteBytesWanted(question(WEIGHTS, { ...PLENTY, sequencesMax: 0 }));
    expect(nobody).toMatchObject({ remoteBytes: 0, bound: "does-not-pay" });
  });

  it("is near the best of the amounts tried, meets the target, and is a number", () => {
    const machine = fc.record({
      baseNs: fc.integer({ min: 1e6, max: 4e7 }),
      nsPerSequence: fc.nat(3e5),
      localBytesPerNs: fc.integer({ min: 500, max: 4000 }),
      linkBytesPerNs: fc.integer({ min: 10, max: 400 }),
      ringShare: fc.double({ min: 0, max: 0.2, noNaN: true }),
    });
    const rest = fc.record({
      ownBytes: fc.integer({ min: 1e9, max: 4e10 }),
      sequenceBytes: fc.integer({ min: 1e7, max: 1e9 }),
      sequencesMax: fc.integer({ min: 1, max: 500 }),
      remoteBytesMax: fc.integer({ min: 0, max: 4e10 }),
      tpotTargetNs: fc.integer({ min: 1e7, max: 2e8 }),
    });
    fc.assert(
      fc.property(machine, rest, (of, given) => {
        const asked = question(of, given);
        const answer = remoteBytesWanted(asked);
        expect(answer.remoteBytes).toBeGreaterThanOrEqual(0);
        expect(answer.remoteBytes).toBeLessThanOrEqual(given.remoteBytesMax);
        const chosen = outcome(asked, answer.remoteBytes);
        if (answer.remoteBytes > 0) {
          expect(chosen.stepNs).toBeLessThanOrEqual(given.tpotTargetNs);
          expect(chosen.rate).toBeGreaterThan(outcome(asked, 0).rate);
        }
        let best = 0;
        // Eighths are among the amounts that are tried.
        for (let index = 0; index <= 8; index++) {
          const { rate, stepNs } = outcome(asked, (given.remoteBytesMax * index) / 8);
          if (index > 0 && stepNs > given.tpotTargetNs) break;
          best = Math.max(best, rate);
        }
        // Gains too small for their bytes are left.
        expect(chosen.rate).toBeGreaterThanOrEqual(0.95 * best);
      }),
      { numRuns: 500, seed: 5 },
    );
  });
});
