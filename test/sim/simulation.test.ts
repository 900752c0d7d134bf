/**
 * The whole core over a hundred seeds: no check breaks after any event, and everything occurs.
 *
 * What occurs is counted over all seeds. A rung, transition or refusal that no run takes is not
 * tested by any, so a zero is a failure like any other.
 */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import type { RunReport, WorkerShare } from "./seed-worker.ts";
import { MOMENTS } from "./random-scenario.ts";
import { SIMULATED_RUNS } from "./simulated-runs.ts";

const PROCESSES = 2;
const reports: RunReport[] = [];
const totals = new Map<string, number>();

beforeAll(async () => {
  await Promise.all(Array.from({ length: PROCESSES }, (_, first) => runShare(first)));
  for (const { counts } of reports) {
    for (const [name, count] of counts) totals.set(name, (totals.get(name) ?? 0) + count);
  }
}, 600_000);

function runShare(first: number): Promise<void> {
  const file = fileURLToPath(new URL("./seed-worker.ts", import.meta.url));
  const child = fork(file, { execArgv: ["--import", "tsx"], serialization: "advanced" });
  const share: WorkerShare = { first, stride: PROCESSES };
  child.send(share);
  return new Promise((resolve, reject) => {
    child.on("message", (report: RunReport) => reports.push(report));
    child.on("error", reject);
    child.on("exit", () => resolve());
  });
}

/** Counted by the watchers or the engines; those of the pool are all that it names. */
const EXPECTED = [
  "interrupts",
  "remote steps",
  "preemptions",
  "rotations",
  "parkings",
  "prefetch hit",
  "prefetch late",
  ...["out", "home", "other-lender", "host", "back"].map((reason) => `move ${reason}`),
  ...["finished", "cancelled", "engine-lost", "timeout"].map((end) => `end ${end}`),
  ...["beyond-context", "larger-than-memory"].map((end) => `end ${end}`),
  ...["remove", "limit", "cancel", "refill-then-demand", "flap"].map((kind) => `fault ${kind}`),
  ...MOMENTS.map((moment) => `fault recall when ${moment}`),
];

/** What cannot occur yet, and why. */
const UNUSED: ReadonlyMap<string, string> = new Map([
  ["rung cached", "waits for a prefix cache"],
  ["prefetch miss", "copies are asked for before their group is reached: they are late at worst"],
]);

describe("a hundred simulations of the whole core", () => {
  it("all run, and none breaks an invariant", () => {
    const failures = reports.filter(({ failure }) => failure !== null);
    expect(failures.map(({ name, failure }) => `${name}: ${failure}`)).toStrictEqual([]);
    expect(reports).toHaveLength(SIMULATED_RUNS.length);
    expect(SIMULATED_RUNS.length).toBeGreaterThanOrEqual(100);
  });

  it("let every rung, transition, refusal, event, move and fault occur", () => {
    const missing = [...totals.keys()].filter((name) => totals.get(name) === 0);
    expect(missing.sort()).toStrictEqual([...UNUSED.keys()].sort());
    expect(EXPECTED.filter((name) => !(totals.get(name)! > 0))).toStrictEqual([]);
  });
});
