/**
 * What the HTML page draws, as plain data: memory and throughput over time, distributions.
 *
 * Called by html-report.ts; html-script.ts reads it in the browser. Figures are rounded and
 * thinned here, so that the file stays small: pictures of the first seed, not a log. Only types
 * may be shared with the script, which is text.
 *
 * Invariant: every number is finite.
 */

import { NS_PER_SECOND } from "../base/index.ts";
import type { Comparison, SystemComparison } from "./comparison.ts";
import type { MemorySample, RunRecord } from "./simulation.ts";
import { requestTimes } from "./statistics.ts";

/** Memory of one GPU in GB; the four columns are parallel to `seconds`. */
export interface MemoryColumns {
  readonly seconds: readonly number[];
  readonly own: readonly number[];
  readonly lent: readonly number[];
  readonly free: readonly number[];
  readonly borrowed: readonly number[];
}

export interface PageSystem {
  readonly name: string;
  /** One a GPU with an engine, in the order of the engines. */
  readonly memory: readonly MemoryColumns[];
  /** By line (engines, then `all engines`): output tokens a second in each slot. */
  readonly tokensPerSecond: readonly (readonly number[])[];
}

/** Share of requests at or under each time; one column a system, `null` for those without any. */
export interface Cumulative {
  readonly seconds: readonly number[];
  readonly shares: readonly (readonly number[] | null)[];
}

export interface PageData {
  readonly gpuLabels: readonly string[];
  /** Engines, then all of them together. */
  readonly lineLabels: readonly string[];
  readonly slotSeconds: readonly number[];
  readonly systems: readonly PageSystem[];
  /** By line. */
  readonly ttft: readonly Cumulative[];
  readonly tpot: readonly Cumulative[];
  readonly slo: { readonly ttftSeconds: number; readonly tpotSeconds: number };
}

const SLOTS = 120;
const GRID_POINTS = 160;
export const ALL_ENGINES = "all engines";

export function pageData(comparison: Comparison): PageData {
  const { scenario, systems } = comparison;
  const first = systems[0]?.firstRun;
  const engines = first?.engines ?? [];
  const endNs = Math.max(0, ...systems.map((system) => system.firstRun.endNs));
  const lines = [...engines.map((_, index) => [index]), engines.map((_, index) => index)];
  return {
    gpuLabels: engines.map((engine) => `GPU ${engine.gpuIndex}: ${engine.name}`),
    lineLabels: [...engines.map((engine) => engine.name), ALL_ENGINES],
    slotSeconds: slotStarts(endNs),
    systems: systems.map((system) => pageSystem(system, lines, endNs)),
    ttft: lines.map((line) => cumulative(systems, line, "ttftNs")),
    tpot: lines.map((line) => cumulative(systems, line, "tpotNs")),
    slo: scenario.slo,
  };
}

function pageSystem(
  system: SystemComparison,
  lines: readonly (readonly number[])[],
  endNs: number,
): PageSystem {
  const run = system.firstRun;
  return {
    name: system.settings.name,
    memory: run.engines.map((_, index) => memoryColumns(run.samples[index] ?? [])),
    tokensPerSecond: lines.map((line) => throughput(run, line, endNs)),
  };
}

function memoryColumns(samples: readonly MemorySample[]): MemoryColumns {
  const gigabytes = (pick: (sample: MemorySample) => number): number[] =>
    samples.map((sample) => rounded(pick(sample) / 1e9));
  return {
    seconds: samples.map((sample) => rounded(sample.timeNs / NS_PER_SECOND)),
    own: gigabytes((sample) => sample.ownBytes),
    lent: gigabytes((sample) => sample.lentBytes),
    free: gigabytes((sample) => sample.freeBytes),
    borrowed: gigabytes((sample) => sample.borrowedBytes),
  };
}

function slotStarts(endNs: number): number[] {
  return Array.from({ length: SLOTS }, (_, slot) =>
    rounded((slot * endNs) / SLOTS / NS_PER_SECOND),
  );
}

/** Tokens of a sample are spread evenly over the time since the sample before. */
function throughput(run: RunRecord, engines: readonly number[], endNs: number): number[] {
  const tokens = new Array<number>(SLOTS).fill(0);
  const slotNs = endNs / SLOTS;
  if (slotNs <= 0) return tokens;
  for (const index of engines) {
    let fromNs = 0;
    for (const sample of run.samples[index] ?? []) {
      const lengthNs = sample.timeNs - fromNs;
      spread(tokens, slotNs, fromNs, lengthNs, sample.tokens);
      fromNs = sample.timeNs;
    }
  }
  return tokens.map((count) => rounded((count * NS_PER_SECOND) / slotNs));
}

function spread(
  slots: number[],
  slotNs: number,
  fromNs: number,
  lengthNs: number,
  amount: number,
): void {
  const first = Math.min(slots.length - 1, Math.floor(fromNs / slotNs));
  if (lengthNs <= 0) {
    slots[first]! += amount;
    return;
  }
  const untilNs = fromNs + lengthNs;
  for (let slot = first; slot < slots.length && slot * slotNs < untilNs; slot++) {
    const overlapNs = Math.min(untilNs, (slot + 1) * slotNs) - Math.max(fromNs, slot * slotNs);
    slots[slot]! += (amount * Math.max(0, overlapNs)) / lengthNs;
  }
}

/**
 * Times of all systems on one logarithmic grid, from the fastest request of any to the slowest.
 */
function cumulative(
  systems: readonly SystemComparison[],
  engines: readonly number[],
  column: "ttftNs" | "tpotNs",
): Cumulative {
  const sorted = systems.map((system) => {
    const logs = engines.map((index) => system.firstRun.engines[index]!.requests);
    return requestTimes(logs)[column];
  });
  const present = sorted.filter((times) => times.length > 0);
  if (present.length === 0) return { seconds: [], shares: systems.map(() => null) };
  // A logarithmic axis has no zero: what took less than 0.1 ms is drawn there.
  const leastNs = Math.max(1e5, Math.min(...present.map((times) => times[0]!)) * 0.999);
  const mostNs = Math.max(leastNs * 1.01, ...present.map((times) => times.at(-1)! * 1.001));
  const gridNs = Array.from(
    { length: GRID_POINTS },
    (_, index) => leastNs * (mostNs / leastNs) ** (index / (GRID_POINTS - 1)),
  );
  return {
    seconds: gridNs.map((timeNs) => Number((timeNs / NS_PER_SECOND).toPrecision(5))),
    shares: sorted.map((times) => (times.length === 0 ? null : sharesAt(times, gridNs))),
  };
}

function sharesAt(sortedNs: Float64Array, gridNs: readonly number[]): number[] {
  let count = 0;
  return gridNs.map((timeNs) => {
    while (count < sortedNs.length && sortedNs[count]! <= timeNs) count++;
    return Number((count / sortedNs.length).toFixed(4));
  });
}

function rounded(value: number): number {
  return Number(value.toPrecision(5));
}
