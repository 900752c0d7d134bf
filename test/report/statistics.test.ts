/** Each definition of the contract with numbers worked out by hand. */

import { describe, expect, it } from "vitest";
import {
  countRequests,
  distribution,
  finishRates,
  gapDistribution,
  perSecond,
  requestTimes,
} from "../../src/report/statistics.ts";
import { gapLog, requestLog, SECOND } from "./fixtures.ts";

const SLO = { ttftSeconds: 2, tpotSeconds: 0.1 };

describe("times of requests", () => {
  // Arrived at 10 s, first token at 11 s, last at 14 s, 4 tokens: 3 gaps of 1 s each.
  const log = requestLog([
    [10, 11, 14, 4],
    [20, 20.5, 20.5, 1],
    [30, "timeout"],
  ]);

  it("run from the arrival; TPOT is per gap and none for one token; failures are in none", () => {
    const times = requestTimes([log]);
    expect([...times.ttftNs]).toEqual([0.5 * SECOND, 1 * SECOND]);
    expect([...times.latencyNs]).toEqual([0.5 * SECOND, 4 * SECOND]);
    expect([...times.tpotNs]).toEqual([1 * SECOND]);
  });

  it("are counted: arrived = finished + failed, by reason", () => {
    expect(countRequests([log])).toEqual({
      arrived: 3,
      finished: 2,
      failed: 1,
      failures: { "beyond-context": 0, "larger-than-memory": 0, timeout: 1, "engine-lost": 0 },
    });
  });

  it("that neither finished nor failed are a bug, not a number", () => {
    const lost = { ...requestLog([[1, 2, 3, 4]]), lastTokenNs: Float64Array.of(NaN) };
    expect(() => countRequests([lost])).toThrow("1 requests arrived, 0 finished and 0 failed");
  });

  it("pool requests of several engines, not percentiles", () => {
    const fast = requestLog([
      [0, 1, 1, 1],
      [0, 1, 1, 1],
      [0, 1, 1, 1],
    ]);
    const slow = requestLog([[0, 9, 9, 1]]);
    const pooled = distribution(requestTimes([fast, slow]).ttftNs);
    // 1, 1, 1, 9: the mean of the two medians would be 5.
    expect(pooled).toEqual({
      mean: 3,
      p50: 1,
      p90: expect.closeTo(6.6, 9),
      p95: expect.closeTo(7.8, 9),
      p99: expect.closeTo(8.76, 9),
    });
  });

  it("of nothing are null", () => {
    const nothing = { mean: null, p50: null, p90: null, p95: null, p99: null };
    expect(distribution(new Float64Array(0))).toEqual(nothing);
    expect(gapDistribution([])).toEqual(nothing);
  });
});

describe("inter-token latency", () => {
  it("weighs each gap by how often it occurred, over all engines", () => {
    const itl = gapDistribution([gapLog([0.1, 0.5], [2, 1]), gapLog([0.1], [1])]);
    // 0.1, 0.1, 0.1, 0.5
    expect(itl.mean).toBeCloseTo(0.2, 12);
    expect(itl.p50).toBeCloseTo(0.1, 12);
    expect(itl.p90).toBeCloseTo(0.38, 12);
  });

  it("reads no further than the log's count", () => {
    const log = { ...gapLog([0.1, 7], [1, 1]), count: 1 };
    expect(gapDistribution([log]).mean).toBeCloseTo(0.1, 12);
  });
});

describe("rates", () => {
  const window = { startNs: 10 * SECOND, endNs: 30 * SECOND };

  it("are per second of the window, null for a window without length", () => {
    expect(perSecond(40, window)).toBe(2);
    expect(perSecond(40, { startNs: 5, endNs: 5 })).toBeNull();
  });

  it("goodput counts what finished inside the window within TTFT and TPOT", () => {
    const log = requestLog([
      [5, 6, 9.9, 100], // finished before the window
      [5, 6, 10, 100], // in: TTFT 1, TPOT 4/99
      [12, 14, 15, 100], // in: TTFT 2 is met exactly
      [12, 14.1, 15, 100], // TTFT missed
      [12, 13, 24, 100], // TPOT 11/99 missed
      [12, 13, 13, 1], // in: one token needs TTFT only
      [28, 29, 30, 100], // finished at the end, which is outside
      [28, "timeout"],
    ]);
    const rates = finishRates([log], window, SLO);
    expect(rates.good).toBeCloseTo(3 / 20, 12);
    expect(rates.finished).toBeCloseTo(5 / 20, 12);
  });
});
