/**
 * Makes a server smaller as long as it still shows the same harm.
 *
 * Called by `npm run sweep -- --only N --shrink` and by tests, with whatever decides that the harm
 * is still there. Greedy: of the simpler servers it takes the first that holds, and begins again
 * (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002, with our own
 * steps in place of halves).
 */

import type { EnginePlan, ScenarioPlan, ServerPlan, WorkloadPlan } from "./server-plan.ts";

export interface ShrinkOptions {
  /** The engine that stays whatever else goes. */
  readonly engine: string;
  /** Runs the server; what throws does not hold. */
  readonly holds: (plan: ServerPlan) => boolean;
  /** Tries at most: each is a few simulations. */
  readonly triesMax: number;
  readonly onStep?: (plan: ServerPlan, tries: number) => void;
}

const SECONDS_MIN = 10;

export function shrink(plan: ServerPlan, options: ShrinkOptions): ServerPlan {
  let best = plan;
  let tries = 0;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const candidate of simplerPlans(best, options.engine)) {
      if (tries >= options.triesMax) return best;
      tries++;
      if (!options.holds(candidate)) continue;
      best = candidate;
      isSmaller = true;
      options.onStep?.(best, tries);
      break;
    }
  }
  return best;
}

/** One step simpler each, the largest steps first; none is equal to `plan`. */
export function simplerPlans(plan: ServerPlan, keep: string): ServerPlan[] {
  const { scenario } = plan;
  const candidates: ServerPlan[] = [];
  const add = (simpler: Partial<ScenarioPlan>): void => {
    candidates.push({ ...plan, scenario: { ...scenario, ...simpler } });
  };
  for (const [index, { name, workload }] of scenario.engines.entries()) {
    if (name === keep) continue;
    if (scenario.engines.length > 1) add(withoutEngine(scenario, index));
    if (workload !== undefined) add(withIdleEngine(scenario, index));
  }
  for (const engines of withSimplerLoads(scenario.engines)) add({ engines });
  for (const key of ["accessMode", "interference", "sliceBytes", "borrowLimit"] as const) {
    const { [key]: value, ...pool } = scenario.pool;
    if (value !== undefined) add({ pool });
  }
  if (scenario.pool.lenderShare !== "2%") add({ pool: { ...scenario.pool, lenderShare: "2%" } });
  if (typeof scenario.server.links !== "string") {
    for (const links of ["switch", "pcie"] as const) add({ server: { ...scenario.server, links } });
    const even = scenario.server.links.map((link) => ({ ...link, bytesPerSecond: 50e9 }));
    if (scenario.server.links.some((link) => link.bytesPerSecond !== 50e9)) {
      add({ server: { ...scenario.server, links: even } });
    }
  }
  if (scenario.slo.tpotSeconds !== 0.1) add({ slo: { ...scenario.slo, tpotSeconds: 0.1 } });
  if (plan.admission !== "growth-10") candidates.push({ ...plan, admission: "growth-10" });
  return candidates;
}

function withIdleEngine({ engines }: ScenarioPlan, index: number): Partial<ScenarioPlan> {
  const { name, gpus, model } = engines[index]!;
  return { engines: engines.with(index, { name, gpus, model }) };
}

/** The engine, its GPU and its links; the other GPUs move up. */
function withoutEngine(scenario: ScenarioPlan, index: number): Partial<ScenarioPlan> {
  const gone = scenario.engines[index]!.gpus[0];
  const moved = (gpu: number): number => (gpu > gone ? gpu - 1 : gpu);
  const { gpus, links } = scenario.server;
  const isLeft = ({ from, to }: { from: number; to: number }): boolean =>
    from !== gone && to !== gone;
  return {
    server: {
      gpus: gpus.toSpliced(gone, 1),
      links:
        typeof links === "string"
          ? links
          : links
              .filter((link) => isLeft(link))
              .map((link) => ({ ...link, from: moved(link.from), to: moved(link.to) })),
    },
    engines: scenario.engines
      .toSpliced(index, 1)
      .map((engine) => ({ ...engine, gpus: [moved(engine.gpus[0])] })),
  };
}

function withSimplerLoads(engines: readonly EnginePlan[]): EnginePlan[][] {
  const results: EnginePlan[][] = [];
  if (engines.some(({ workload }) => workload?.some((part) => isLong(part)) === true)) {
    results.push(engines.map((engine) => mapParts(engine, (part) => halfAsLong(part))));
  }
  for (const [index, engine] of engines.entries()) {
    const parts = engine.workload ?? [];
    if (parts.length < 2) continue;
    // Half of many parts at once, then each by itself.
    const halves = [parts.slice(0, parts.length / 2), parts.slice(parts.length / 2)];
    for (const workload of [...halves, ...parts.map((_, at) => parts.toSpliced(at, 1))]) {
      results.push(engines.with(index, { ...engine, workload }));
    }
  }
  return results;
}

function mapParts(engine: EnginePlan, map: (part: WorkloadPlan) => WorkloadPlan): EnginePlan {
  if (engine.workload === undefined) return engine;
  return { ...engine, workload: engine.workload.map((part) => map(part)) };
}

/** Half of it would still be long enough for anything to happen. */
function isLong(part: WorkloadPlan): boolean {
  return part.arrivals !== "backlog" && part.seconds >= 2 * SECONDS_MIN;
}

function halfAsLong(part: WorkloadPlan): WorkloadPlan {
  if (part.arrivals === "backlog" || !isLong(part)) return part;
  return { ...part, seconds: Math.ceil(part.seconds / 2) };
}
