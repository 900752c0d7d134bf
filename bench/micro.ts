/**
 * What a small piece of work costs, in CPU time.
 *
 * Used by the benchmarks of single operations. A clock on the wall counts the neighbours too: on
 * two cores that twenty processes share, each sample of a few milliseconds is interrupted. So
 * batches are timed by what the process itself has used, and least and median of many are kept.
 */

import { machine, writeResults } from "./machine.ts";

const BATCHES = 31;
/** Long beside the resolution of a process's CPU time, short beside a change of the clock rate. */
const BATCH_SECONDS = 0.02;

const before = machine();
const rows: object[] = [];

/**
 * Runs the work until it is compiled, then in batches, and prints what one run costs.
 *
 * @param goalNs what the median should be at most, where somebody has said so.
 */
export function measure(what: string, work: () => void, goalNs?: number): void {
  let count = 1;
  while (secondsOf(work, count) < BATCH_SECONDS) count *= 2;
  const costs: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) costs.push(secondsOf(work, count) / count);
  costs.sort((a, b) => a - b);
  const [leastNs, medianNs] = [nanoseconds(costs[0]!), nanoseconds(costs[BATCHES >> 1]!)];
  rows.push({ what, leastNs, medianNs, ...(goalNs === undefined ? {} : { goalNs }) });
  const verdict = medianNs <= (goalNs ?? 0) ? "met" : "missed";
  const goal = goalNs === undefined ? "" : `  goal ${goalNs} ns ${verdict}`;
  console.log(`${what.padEnd(56)} least ${leastNs} ns  median ${medianNs} ns${goal}`);
}

/** Writes bench/results/<name>.json. */
export function writeMeasured(name: string): void {
  writeResults(name, before, rows);
}

function secondsOf(work: () => void, count: number): number {
  const start = process.cpuUsage();
  for (let turn = 0; turn < count; turn++) work();
  const used = process.cpuUsage(start);
  return (used.user + used.system) / 1e6;
}

function nanoseconds(seconds: number): number {
  return Number((seconds * 1e9).toPrecision(3));
}
