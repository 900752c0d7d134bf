/**
 * A comparison as data: what compare.ts makes and the table, the picture, the verdict, the
 * warnings and the HTML page read.
 *
 * Means over seeds under the names of the output; nothing here knows how it is shown.
 */

import type { Scenario, SystemSettings } from "../scenario/index.ts";
import type {
  Capacity,
  CompareJson,
  EngineResult,
  Intervals,
  Ratios,
  SystemResult,
} from "./compare-schema.ts";
import type { EngineGroup } from "./engine-groups.ts";
import type { RunRecord } from "./simulation.ts";

/** One line's worth of a system: an engine, a group of engines or all of them. */
export interface Line {
  readonly result: EngineResult;
  readonly intervals: Intervals;
  /** `null` when `static` was not run. */
  readonly versus: Ratios | null;
  readonly versusIntervals: Intervals | null;
  readonly finishedPerSecond: number | null;
  readonly runningShare: number;
}

/** One system with its best admission setting. */
export interface SystemComparison {
  readonly settings: SystemSettings;
  readonly admission: string;
  readonly engines: Readonly<Record<string, Line>>;
  /** By the label of the group. */
  readonly groups: Readonly<Record<string, Line>>;
  readonly total: Line;
  readonly recalls: SystemResult["recalls"];
  readonly ladder: Readonly<Record<string, number>>;
  readonly links: SystemResult["links"];
  readonly digest: string;
  readonly capacities: Readonly<Record<string, Capacity>>;
  /** The first seed's run: what pictures are drawn from. */
  readonly firstRun: RunRecord;
}

export interface Comparison {
  readonly scenario: Scenario;
  readonly seeds: readonly number[];
  readonly groups: readonly EngineGroup[];
  /** In the order of the scenario. */
  readonly systems: readonly SystemComparison[];
}

/** What `compare` returns: the data, what was concluded from it, and the JSON of both. */
export interface CompareResult {
  readonly comparison: Comparison;
  readonly json: CompareJson;
}

/** The system that ratios are of: the one called `static`, else the first on its base. */
export function referenceOf<T extends { readonly name: string; readonly base: string }>(
  systems: readonly T[],
): T | null {
  return (
    systems.find((system) => system.name === "static") ??
    systems.find((system) => system.base === "static") ??
    null
  );
}
