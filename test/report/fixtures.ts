/**
 * Hand-made runs for the report's tests: small enough to work out on paper.
 *
 * No simulator is behind them; what a test does not say is zero.
 */

import type { EngineSettings, Scenario, SystemSettings } from "../../src/scenario/index.ts";
import type {
  AdmissionSetting,
  EngineRecord,
  FailureReason,
  MemorySample,
  RunRecord,
  Simulator,
} from "../../src/report/simulation.ts";

export const SECOND = 1e9;

/** [arrival, first token, last token] in seconds, output tokens; or a failure. */
export type RequestRow =
  | readonly [arrival: number, first: number, last: number, outputTokens: number]
  | readonly [arrival: number, failure: FailureReason];

export function requestLog(rows: readonly RequestRow[]): EngineRecord["requests"] {
  const column = (pick: (row: RequestRow) => number): Float64Array =>
    Float64Array.from(rows, pick);
  const isFailed = (row: RequestRow): boolean => typeof row[1] === "string";
  return {
    count: rows.length,
    arrivalNs: column((row) => row[0] * SECOND),
    promptTokens: Int32Array.from(rows, () => 10),
    outputTokens: Int32Array.from(rows, (row) => row[3] ?? 1),
    firstTokenNs: column((row) => (isFailed(row) ? NaN : Number(row[1]) * SECOND)),
    lastTokenNs: column((row) => (isFailed(row) ? NaN : Number(row[2]) * SECOND)),
    failure: rows.map((row) => (typeof row[1] === "string" ? row[1] : null)),
  };
}

/** An engine that did nothing; tests say what differs. */
export function engineRecord(changes: Partial<EngineRecord> = {}): EngineRecord {
  return {
    name: "chat",
    gpuIndex: 0,
    requests: requestLog([]),
    gaps: { count: 0, gapNs: new Float64Array(0), weight: new Float64Array(0) },
    window: { startNs: 10 * SECOND, endNs: 100 * SECOND },
    outputTokensInWindow: 0,
    outputTokensInTotalWindow: 0,
    preemptions: 0,
    recomputedTokens: 0,
    prefixHitTokens: 0,
    ghostHitTokens: 0,
    rotations: 0,
    parked: 0,
    kvTokensCapacity: 9840,
    kvBytesCapacity: 8.06e9,
    borrowLimitBytes: 8.06e9,
    borrowed: { meanBytes: 0, maxBytes: 0 },
    lent: { meanBytes: 0, maxBytes: 0 },
    steps: 0,
    stepNs: 0,
    stepLocalNs: 0,
    stepUnlentNs: 0,
    runningShare: 0.5,
    stallNs: 0,
    remoteReadNs: 0,
    remoteReadBytes: 0,
    prefetchHit: 0,
    prefetchLate: 0,
    prefetchMiss: 0,
    prefetchWastedBytes: 0,
    refusals: {
      "no-idle-memory": 0,
      limit: 0,
      account: 0,
      role: 0,
      link: 0,
      "lender-share": 0,
      "does-not-pay": 0,
      slo: 0,
    },
    ladder: {},
    ...changes,
  };
}

export function runRecord(changes: Partial<RunRecord> = {}): RunRecord {
  return {
    system: "static",
    seed: 1,
    admission: "present need",
    totalWindow: { startNs: 10 * SECOND, endNs: 100 * SECOND },
    endNs: 110 * SECOND,
    engines: [engineRecord()],
    recalls: [],
    links: [],
    digest: "00",
    samples: [],
    ...changes,
  };
}

export function engineSettings(name: string, gpuIndex: number): EngineSettings {
  return {
    name,
    gpuIndex,
    model: {
      name: "OPT-13B",
      layers: 40,
      hidden: 5120,
      heads: 40,
      kvHeads: 40,
      headDim: 128,
      ffn: 20480,
      isFfnGated: false,
      vocab: 50272,
      isTied: true,
      contextTokensMax: 2048,
      paramCount: 12.85e9,
      weightBytes: 25.7e9,
      kvBytesPerToken: 819200,
    },
    tenant: name,
    blockTokens: 16,
    maxBatchTokens: 2048,
    maxSequences: 256,
    isGenerated: true,
    requests: () => {
      throw new Error("hand-made runs draw no requests");
    },
    meanPromptTokens: 161,
    meanOutputTokens: 338,
  };
}

export function systemSettings(base: SystemSettings["base"], name: string = base): SystemSettings {
  return {
    name,
    base,
    pool: {
      borrowLimit: { kind: "share", share: 1 },
      headroom: "auto",
      lenderShare: 0.02,
      sliceBytes: 64 * 1024 ** 2,
      interference: "subtractive",
      accessMode: "mixed",
      copyCostSeconds: 2.3e-6,
    },
  };
}

const GPU: Scenario["topology"]["gpus"][number] = {
  name: "a100-40g",
  label: "A100-SXM4-40GB",
  formFactor: "sxm",
  hbmBytes: 40e9,
  hbmPeakBytesPerSecond: 1555e9,
  hbmBytesPerSecond: 1244e9,
  flopsPerSecond: 265e12,
  portBytesPerSecond: 276e9,
  hostBytesPerSecond: 26e9,
};

export function scenarioOf(
  engineNames: readonly string[],
  systems: readonly SystemSettings[],
): Scenario {
  return {
    name: "hand-made",
    topology: {
      name: `${engineNames.length}xa100-40g`,
      wiring: "switch",
      gpus: engineNames.map(() => GPU),
      paths: [],
    },
    seed: 1,
    pool: systemSettings("ema").pool,
    slo: { ttftSeconds: 2, tpotSeconds: 0.1 },
    systems,
    engines: engineNames.map((name, index) => engineSettings(name, index)),
    notes: [],
  };
}

export const ADMISSIONS: readonly AdmissionSetting[] = [
  { name: "present need", growthShare: 0 },
  { name: "half the growth", growthShare: 0.5 },
];

/** A simulator that looks its runs up. */
export function simulatorOf(
  runOf: (system: string, seed: number, admission: AdmissionSetting) => RunRecord,
): Simulator {
  return {
    admissionSettings: ADMISSIONS,
    simulate: (_scenario, system, seed, admission, onProgress) => {
      onProgress?.(0.5);
      return { ...runOf(system.name, seed, admission), system: system.name, seed };
    },
  };
}

/** Lenders come and go in bursts, the borrower follows; for pictures and pages. */
export function burstySamples(
  role: "borrower" | "lender",
  isElastic: boolean,
  count = 200,
): MemorySample[] {
  const capacity = 8.06e9;
  return Array.from({ length: count }, (_, index) => {
    const isBurst = index % 50 < 15;
    const busy = isBurst ? 0.6 : 0.05;
    const own = capacity * (role === "borrower" ? 0.97 : busy);
    const moved = isElastic ? capacity * (isBurst ? 0.1 : 0.4) : 0;
    const lent = role === "lender" ? moved : 0;
    return {
      timeNs: (index * 110 * SECOND) / count,
      ownBytes: own,
      lentBytes: lent,
      freeBytes: capacity - own - lent,
      borrowedBytes: role === "borrower" ? moved : 0,
      tokens: role === "borrower" ? 300 + moved / 5e7 + (index % 7) * 20 : isBurst ? 250 : 5,
    };
  });
}

/** One borrower and one lender, as a plausible run of a base; `factor` scales what chat makes. */
export function plausibleRun(base: SystemSettings["base"], factor: number, seed = 1): RunRecord {
  const isElastic = base === "ema";
  const rows = (tpot: number, wait: number): RequestRow[] =>
    Array.from({ length: 60 }, (_, index) => {
      const arrival = (index * 100) / 59;
      const first = arrival + wait * (1 + ((index * 7 + seed) % 13) / 13);
      const tokens = 20 + ((index * 31) % 200);
      return [arrival, first, first + (tokens - 1) * tpot * (1 + (index % 5) / 10), tokens];
    });
  const chat = engineRecord({
    name: "chat",
    requests: requestLog(rows(0.045 * (base === "static" ? 1 : 1.2), 9 / factor)),
    outputTokensInWindow: 50_000 * factor,
    outputTokensInTotalWindow: 50_000 * factor,
    borrowed: isElastic ? { meanBytes: 5.1e9, maxBytes: 8.0e9 } : { meanBytes: 0, maxBytes: 0 },
    preemptions: isElastic ? 21 : 127,
    stepNs: 95 * SECOND,
    stepLocalNs: isElastic ? 90 * SECOND : 95 * SECOND,
    stepUnlentNs: 95 * SECOND,
    stallNs: isElastic ? 2 * SECOND : 0,
    remoteReadNs: isElastic ? 60 * SECOND : 0,
    gaps: gapLog([0.04, 0.05, 0.2], [900, 90, 10]),
    ladder: isElastic ? { free: 40, twin: 0, home: 11 } : {},
  });
  const code = engineRecord({
    name: "code",
    gpuIndex: 1,
    requests: requestLog(rows(0.03, 0.4)),
    outputTokensInWindow: 20_000,
    outputTokensInTotalWindow: 20_000,
    lent: isElastic ? { meanBytes: 5.1e9, maxBytes: 8.0e9 } : { meanBytes: 0, maxBytes: 0 },
    stepNs: 30 * SECOND,
    stepLocalNs: 30 * SECOND,
    stepUnlentNs: isElastic ? 29.8 * SECOND : 30 * SECOND,
    gaps: gapLog([0.03, 0.031], [500, 500]),
  });
  return runRecord({
    seed,
    engines: [chat, code],
    recalls: isElastic
      ? [
          { kind: "refill", slices: 3, waitNs: 4e6 },
          { kind: "demand", slices: 1, waitNs: 1e6 },
        ]
      : [],
    links: isElastic ? [{ source: 1, target: 0, bytes: 5e12, busyNs: 60 * SECOND }] : [],
    samples: [burstySamples("borrower", isElastic), burstySamples("lender", isElastic)],
  });
}

export function gapLog(
  seconds: readonly number[],
  weight: readonly number[],
): EngineRecord["gaps"] {
  return {
    count: seconds.length,
    gapNs: Float64Array.from(seconds, (gap) => gap * SECOND),
    weight: Float64Array.from(weight),
  };
}

/** static, double and ema over the plausible runs. */
export function plausibleSimulator(factors = { static: 1, double: 1.6, ema: 1.42 }): Simulator {
  return simulatorOf((system, seed, admission) => {
    const base = system as SystemSettings["base"];
    const policy = admission.growthShare > 0 ? 1 : 0.9;
    const noise = 1 + (base === "static" ? 0 : ((seed * 7) % 5) / 200);
    return plausibleRun(base, factors[base] * policy * noise, seed);
  });
}
