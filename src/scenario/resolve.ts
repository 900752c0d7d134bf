/**
 * Makes a checked `Scenario` of plain values, whether they came from a file or from options.
 *
 * Called by scenario-file.ts and quick-scenario.ts. Parts are resolved in the order in which each
 * needs the ones before: server, pool, systems, engines with their traces.
 */

import type { Topology } from "../hardware/index.ts";
import type { Checker } from "./checker.ts";
import { DEFAULT_POOL, DEFAULT_SEED, DEFAULT_SLO } from "./defaults.ts";
import { resolveEngines } from "./engines.ts";
import type { EngineSettings, Scenario } from "./scenario.ts";
import { SCENARIO } from "./schema.ts";
import { resolveServer } from "./server-part.ts";
import { resolvePool, resolveSystems } from "./systems.ts";
import { TraceLibrary } from "./trace-library.ts";

export interface ResolveContext {
  readonly checker: Checker;
  /** For a scenario that gives itself no name. */
  readonly defaultName: string;
  /** The files of `--trace`, in order. */
  readonly traces: readonly string[];
  /** Finds a file that the scenario names. */
  readonly locate: (path: string) => string;
}

/** @throws EmaError with the place of the first thing that is wrong. */
export function resolveScenario(context: ResolveContext): Scenario {
  const { checker, locate } = context;
  const written = checker.read(SCENARIO, []);
  const topology = resolveServer(checker, locate, written.pool?.linkLatency);
  const pool = resolvePool(written.pool, DEFAULT_POOL);
  const systems = resolveSystems(checker, written.systems, pool);
  const pools = [pool, ...systems.map((system) => system.pool)];
  const seed = written.seed ?? DEFAULT_SEED;
  const traces = new TraceLibrary(context.traces, locate);
  const { engines, notes } = resolveEngines(
    { checker, topology, pools, traces, locate, seed },
    written.engines.length,
  );
  return {
    name: written.name ?? context.defaultName,
    topology,
    seed,
    slo: {
      ttftSeconds: written.slo?.ttftSeconds ?? DEFAULT_SLO.ttftSeconds,
      tpotSeconds: written.slo?.tpotSeconds ?? DEFAULT_SLO.tpotSeconds,
    },
    pool,
    systems,
    engines,
    notes: [...traces.notes(), ...notes, ...unusedGpus(topology, engines)],
  };
}

function unusedGpus(topology: Topology, engines: readonly EngineSettings[]): string[] {
  const unused = topology.gpus
    .map((_, index) => index)
    .filter((index) => !engines.some(({ gpuIndex }) => gpuIndex === index));
  if (unused.length === 0) return [];
  return [`no engine on GPU ${unused.join(", ")}: its memory takes no part`];
}
