/**
 * A comparison as the one object of `ema compare --json`.
 *
 * Called by compare.ts. It renames and orders, it computes nothing. Keys come in the order of the
 * scenario, so that the same comparison gives the same bytes.
 */

import type { Comparison, Line, SystemComparison } from "./comparison.ts";
import type { CompareJson, Intervals, Ratios, SystemResult } from "./compare-schema.ts";
import { verdictOf } from "./verdict.ts";
import { warningsOf } from "./warnings.ts";

export function toJson(comparison: Comparison): CompareJson {
  const bySystem = <T>(of: (system: SystemComparison) => T): Record<string, T> =>
    Object.fromEntries(comparison.systems.map((system) => [system.settings.name, of(system)]));
  const versusStatic = <T>(of: (line: Line) => T): Record<string, ReturnType<typeof split<T>>> => {
    const paired = comparison.systems.filter((system) => system.total.versus !== null);
    return Object.fromEntries(paired.map((system) => [system.settings.name, split(system, of)]));
  };
  return {
    formatVersion: 1,
    scenario: comparison.scenario.name,
    seeds: [...comparison.seeds],
    systems: bySystem(systemJson),
    versus: versusStatic((line): Ratios => line.versus!),
    verdict: verdictOf(comparison),
    warnings: warningsOf(comparison),
    capacities: bySystem((system) => system.capacities),
    intervals: {
      confidence: 0.95,
      systems: bySystem((system) => split(system, (line): Intervals => line.intervals)),
      versus: versusStatic((line): Intervals => line.versusIntervals!),
    },
  };
}

function systemJson(system: SystemComparison): SystemResult {
  return {
    base: system.settings.base,
    admission: system.admission,
    ...split(system, (line) => line.result),
    recalls: system.recalls,
    ladder: system.ladder,
    links: system.links,
    digest: system.digest,
  };
}

function split<T>(
  system: SystemComparison,
  of: (line: Line) => T,
): { engines: Record<string, T>; total: T } {
  const engines = Object.entries(system.engines).map(([name, line]) => [name, of(line)] as const);
  return { engines: Object.fromEntries(engines), total: of(system.total) };
}
