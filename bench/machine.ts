/**
 * What a benchmark ran on, and where its results go.
 *
 * Used by every benchmark: each writes one file of bench/results with the machine and its load
 * beside the figures, because figures without them say little.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { fileURLToPath } from "node:url";

const RESULTS = fileURLToPath(new URL("results/", import.meta.url));

export type Machine = Readonly<Record<string, string | number | readonly number[]>>;

export function machine(): Machine {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? "unknown",
    cores: all.length,
    memoryGigabytes: Math.round(totalmem() / 1e9),
    node: process.version,
    loadAverages: loadavg().map((load) => Number(load.toFixed(1))),
  };
}

/** @param before the machine as it was when the benchmark began. */
export function writeResults(name: string, before: Machine, rows: readonly object[]): void {
  mkdirSync(RESULTS, { recursive: true });
  const result = { machine: before, loadAveragesAfter: machine()["loadAverages"], rows };
  writeFileSync(`${RESULTS}${name}.json`, `${JSON.stringify(result, null, 2)}\n`);
  console.log(`wrote bench/results/${name}.json`);
}
