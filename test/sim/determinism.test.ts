/**
 * The same seed gives the same run: event by event, byte by byte, in two processes, at any hour.
 */

import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ADMISSION_SETTINGS, simulate } from "../../src/sim/index.ts";
import { runEma } from "../cli/run-ema.ts";
import { FAMILIES, randomRun, type RandomRun } from "./random-scenario.ts";
import { runSimulation } from "./simulation.ts";

/** Everything that recorders were told, in order, with times counted from `sinceNs`. */
function eventsOf(run: RandomRun, sinceNs = 0): string[] {
  const events: string[] = [];
  runSimulation(run, {
    cluster: ({ members }) => {
      members.forEach(({ recorder }, engine) => {
        const { token, finished, failed, note } = recorder;
        const log = (...what: (string | number)[]): number => events.push(what.join(" "));
        recorder.token = (request, isFirst, gapNs, nowNs) => {
          log(engine, "token", request, gapNs, nowNs - sinceNs);
          return token.call(recorder, request, isFirst, gapNs, nowNs);
        };
        recorder.finished = (request, nowNs) => {
          log(engine, "finished", request, nowNs - sinceNs);
          finished.call(recorder, request, nowNs);
        };
        recorder.failed = (request, reason, nowNs) => {
          log(engine, reason, request, nowNs - sinceNs);
          failed.call(recorder, request, reason, nowNs);
        };
        recorder.note = (kind, value, nowNs) => {
          log(engine, kind, kind === "interrupted" ? value - sinceNs : value, nowNs - sinceNs);
          note.call(recorder, kind, value, nowNs);
        };
      });
    },
  });
  return events;
}

/** The same requests and faults, later. */
function delayed(run: RandomRun, byNs: number): RandomRun {
  const engines = run.scenario.engines.map((engine) => ({
    ...engine,
    requests: (seed: number) => {
      const table = engine.requests(seed);
      return { ...table, arrivalNs: table.arrivalNs.map((timeNs) => timeNs + byNs) };
    },
  }));
  const faults = run.faults.map((fault) => ({ ...fault, timeNs: fault.timeNs + byNs }));
  return { ...run, scenario: { ...run.scenario, engines }, faults };
}

describe("a seed", () => {
  it.each(FAMILIES)("of %s gives the same events twice, at any hour", (family) => {
    const run = randomRun(family, 5);
    const events = eventsOf(run);
    expect(eventsOf(randomRun(family, 5))).toStrictEqual(events);
    // Neither a round number of seconds nor one that any clock starts from.
    const byNs = 3_612_345_678_901;
    expect(eventsOf(delayed(run, byNs), byNs)).toStrictEqual(events);
  });

  it.each(FAMILIES)("of %s gives the same bytes, and another seed others", (family) => {
    const record = (seed: number): string => {
      const { scenario } = randomRun(family, seed);
      return JSON.stringify(simulate(scenario, scenario.systems[0]!, seed, ADMISSION_SETTINGS[0]!));
    };
    expect(record(3)).toBe(record(3));
    expect(JSON.parse(record(3)).digest).not.toBe(JSON.parse(record(4)).digest);
  });
});

describe("ema compare", () => {
  it("prints the same bytes in two processes", { timeout: 180_000 }, async () => {
    const scenario = fileURLToPath(new URL("fixtures/small.yaml", import.meta.url));
    const args = ["compare", scenario, "--json", "--repeat", "1", "--systems", "static,ema"];
    const [one, other] = await Promise.all([runEma(args), runEma(args)]);
    expect(one.exitCode).toBe(0);
    expect(JSON.parse(one.stdout).formatVersion).toBe(1);
    expect(JSON.parse(one.stdout).systems.ema.engines.busy.borrowedBytes.max).toBeGreaterThan(0);
    expect(other.stdout).toBe(one.stdout);
  });
});
