/** One engine's and several engines' results: what is summed, pooled, or null. */

import { describe, expect, it } from "vitest";
import { summarizeEngine, summarizeTogether } from "../../src/report/engine-result.ts";
import { summarizeRun, combineDigests } from "../../src/report/system-result.ts";
import { engineRecord, requestLog, runRecord, SECOND } from "./fixtures.ts";

const SLO = { ttftSeconds: 2, tpotSeconds: 0.1 };

describe("one engine", () => {
  it("measures throughput in its own window", () => {
    const engine = engineRecord({ outputTokensInWindow: 4500, outputTokensInTotalWindow: 1 });
    expect(summarizeEngine(engine, SLO).result.outputTokensPerSecond).toBe(50);
  });

  it("has shares of its step and link times", () => {
    const { result } = summarizeEngine(
      engineRecord({
        stepNs: 110 * SECOND,
        stepLocalNs: 100 * SECOND,
        stepUnlentNs: 88 * SECOND,
        stallNs: 5 * SECOND,
        remoteReadNs: 20 * SECOND,
      }),
      SLO,
    );
    expect(result.hiddenShare).toBe(0.75);
    expect(result.remoteSlowdown).toBeCloseTo(0.1, 12);
    expect(result.slowdownAsLender).toBeCloseTo(0.25, 12);
    expect(result.stallSeconds).toBe(5);
  });

  it("without steps, reads or requests has nulls, never NaN", () => {
    const window = { startNs: 0, endNs: 0 };
    const { result } = summarizeEngine(engineRecord({ window }), SLO);
    expect(result.hiddenShare).toBeNull();
    expect(result.remoteSlowdown).toBeNull();
    expect(result.slowdownAsLender).toBeNull();
    expect(result.outputTokensPerSecond).toBeNull();
    expect(result.goodputRequestsPerSecond).toBeNull();
    expect(result.ttftSeconds.mean).toBeNull();
  });
});

describe("engines together", () => {
  const sample = (seconds: number, borrowedBytes: number) => ({
    timeNs: seconds * SECOND,
    ownBytes: 0,
    lentBytes: 0,
    freeBytes: 0,
    borrowedBytes,
    tokens: 0,
  });

  it("sum tokens, bytes and times over the scenario's window", () => {
    const window = { startNs: 0, endNs: 10 * SECOND };
    const one = engineRecord({
      outputTokensInTotalWindow: 100,
      stallNs: 1 * SECOND,
      remoteReadNs: 4 * SECOND,
      borrowed: { meanBytes: 3, maxBytes: 7 },
    });
    const two = engineRecord({
      outputTokensInTotalWindow: 300,
      remoteReadNs: 6 * SECOND,
      borrowed: { meanBytes: 5, maxBytes: 5 },
    });
    const { result } = summarizeTogether([one, two], [[], []], window, SLO);
    expect(result.outputTokensPerSecond).toBe(40);
    expect(result.hiddenShare).toBe(0.9);
    expect(result.borrowedBytes.mean).toBe(8);
    expect(result.kvTokensCapacity).toBe(2 * 9840);
  });

  it("have the largest sum at one time, each gauge holding until its next sample", () => {
    const engines = [
      engineRecord({ borrowed: { meanBytes: 0, maxBytes: 6 } }),
      engineRecord({ borrowed: { meanBytes: 0, maxBytes: 5 } }),
    ];
    const samples = [
      [sample(0, 6), sample(4, 1)],
      [sample(0, 0), sample(3, 3), sample(5, 5)],
    ];
    const window = { startNs: 0, endNs: 10 * SECOND };
    const { result } = summarizeTogether(engines, samples, window, SLO);
    expect(result.borrowedBytes.max).toBe(9);
  });

  it("never have less than one engine's own largest, which samples may miss", () => {
    const gauges = { borrowed: { meanBytes: 0, maxBytes: 6 }, lent: { meanBytes: 0, maxBytes: 5 } };
    const window = { startNs: 0, endNs: 10 * SECOND };
    const { result } = summarizeTogether([engineRecord(gauges)], [[sample(0, 2)]], window, SLO);
    expect(result.borrowedBytes.max).toBe(6);
    expect(result.lentBytes.max).toBe(5);
  });
});

describe("a run", () => {
  it("splits recalls by kind, with the waits' percentiles", () => {
    const run = runRecord({
      recalls: [
        { kind: "refill", slices: 2, waitNs: 1e9 },
        { kind: "refill", slices: 3, waitNs: 3e9 },
        { kind: "demand", slices: 1, waitNs: 5e6 },
      ],
      engines: [
        engineRecord({ name: "a", ladder: { free: 2, home: 0 } }),
        engineRecord({ name: "b", ladder: { free: 1 } }),
      ],
      links: [{ source: 1, target: 0, bytes: 7, busyNs: 11 * SECOND }],
    });
    const summary = summarizeRun(run, [], SLO);
    const waitSeconds = { p50: 2, p99: expect.closeTo(2.98, 9), max: 3 };
    expect(summary.recalls.refill).toEqual({ count: 2, slices: 5, waitSeconds });
    expect(summary.recalls.demand.waitSeconds.max).toBe(0.005);
    expect(summary.ladder).toEqual({ free: 3, home: 0 });
    expect(summary.links).toEqual({ "1-0": { bytes: 7, busyShare: 0.1 } });
  });

  it("pools the requests of a group of engines", () => {
    const run = runRecord({
      engines: [
        engineRecord({ name: "lend1", requests: requestLog([[0, 1, 1, 1]]) }),
        engineRecord({ name: "lend2", requests: requestLog([[0, 3, 3, 1]]) }),
      ],
    });
    const groups = [{ label: "lend1..2 (2)", engineIndices: [0, 1] }];
    const summary = summarizeRun(run, groups, SLO);
    expect(summary.groups["lend1..2 (2)"]!.result.ttftSeconds.mean).toBe(2);
    expect(summary.total.result.requests.finished).toBe(2);
  });
});

describe("digests", () => {
  it("of one seed stay as they are; of several depend on all and on their order", () => {
    expect(combineDigests(["ab"])).toBe("ab");
    expect(combineDigests(["a", "b"])).toMatch(/^[0-9a-f]{64}$/);
    expect(combineDigests(["a", "b"])).not.toBe(combineDigests(["b", "a"]));
  });
});
