/** The books of a real run are right, and each kind of wrong entry is found. */

import { describe, expect, it } from "vitest";
import type { EngineRecord, MemorySample, RunRecord } from "../../src/sim/index.ts";
import { accountingErrors } from "../../tools/harm/accounting.ts";
import { runPairs } from "../../tools/harm/paired-runs.ts";
import { planOf } from "../../tools/harm/server-verdict.ts";
import { scenarioOf } from "../../tools/harm/server-plan.ts";

const plan = planOf(9);
const { ema, static: plain } = runPairs(scenarioOf(plan), plan.admission);

function withEngine(change: (engine: EngineRecord) => Partial<EngineRecord>): RunRecord {
  const engines = ema.engines.map((engine) => ({ ...engine, ...change(engine) }));
  return { ...ema, engines };
}

function withSample(change: (sample: MemorySample) => Partial<MemorySample>): RunRecord {
  const samples = ema.samples.map((list, engine) =>
    list.map((sample, at) =>
      engine === 0 && at === 100 ? { ...sample, ...change(sample) } : sample,
    ),
  );
  return { ...ema, samples };
}

describe("accounting", () => {
  it("adds up in runs that lend and in runs that do not", () => {
    expect(ema.engines.some(({ borrowed }) => borrowed.maxBytes > 0)).toBe(true);
    expect(accountingErrors(ema)).toEqual([]);
    expect(accountingErrors(plain)).toEqual([]);
  });

  const wrong: readonly (readonly [name: string, run: RunRecord, text: RegExp])[] = [
    [
      "a request that never ended",
      withEngine(({ requests }) => ({
        requests: { ...requests, lastTokenNs: requests.lastTokenNs.map(() => NaN) },
      })),
      /request 0 finished false, failed false/,
    ],
    [
      "a token before its request",
      withEngine(({ requests }) => ({
        requests: { ...requests, firstTokenNs: requests.arrivalNs },
      })),
      /request 0 has its first token/,
    ],
    [
      "more borrowed than allowed",
      withEngine(() => ({ borrowLimitBytes: 1, borrowed: { meanBytes: 0, maxBytes: 2 } })),
      /borrowed 2 of at most 1 bytes/,
    ],
    [
      "more lent than there is",
      withEngine(() => ({ lent: { meanBytes: 0, maxBytes: 1e15 } })),
      /lent 1000000000000000 of/,
    ],
    [
      "memory that is nowhere",
      withSample(({ freeBytes }) => ({ freeBytes: freeBytes + 1 })),
      /own \d+, lent \d+, free \d+ at/,
    ],
    [
      "a loan that nobody gave",
      withSample(({ borrowedBytes }) => ({ borrowedBytes: borrowedBytes + 1 })),
      /lent and \d+ borrowed at/,
    ],
    [
      "a recall that nobody answered",
      { ...ema, recalls: [{ kind: "demand", slices: 1, waitNs: Infinity }] },
      /recall of 1 slices waited Infinity/,
    ],
  ];
  it.each(wrong)("finds %s", (_, run, text) => {
    expect(accountingErrors(run).join("\n")).toMatch(text);
  });
});
