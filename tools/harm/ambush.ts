/**
 * Bursts at the worst moment: a lender's users come back right after it has lent.
 *
 * Called by the sweep once a server is drawn. A scout run tells when each ambushing engine's loans
 * rise; a burst as large as its memory, or larger, is laid just behind each rise. The result is a
 * plain scenario again: what it replays does not depend on the run.
 */

import type { MemorySample } from "../../src/sim/index.ts";
import { simulate } from "../../src/sim/index.ts";
import { Draw } from "./draw.ts";
import { admissionNamed } from "./paired-runs.ts";
import { concurrent, REQUESTS_MIN } from "./random-loads.ts";
import type { RandomServer } from "./random-server.ts";
import { scenarioOf, type EnginePlan, type ServerPlan } from "./server-plan.ts";

const BURSTS_MAX = 24;
const BURSTS_MIN = 6;
const TRIES_MAX = 400;

/** @returns the server as it is when nobody lies in ambush. */
export function withAmbushes(server: RandomServer): ServerPlan {
  const { plan, loads } = server;
  if (!loads.includes("ambush")) return plan;
  const scenario = scenarioOf(plan);
  const system = { name: "ema", base: "ema", pool: scenario.pool } as const;
  const scout = simulate(scenario, system, scenario.seed, admissionNamed(plan.admission));
  const draw = new Draw(plan.scenario.seed, 2);
  const engines = plan.scenario.engines.map((engine, index) => {
    if (loads[index] !== "ambush") return engine;
    const lastArrivalNs = scout.engines[index]!.window.endNs;
    const rises = riseSeconds(scout.samples[index]!, lastArrivalNs);
    const gpu = plan.scenario.server.gpus[index]!;
    return withBursts(draw, engine, gpu, momentsOf(draw, rises, lastArrivalNs / 1e9));
  });
  return { ...plan, scenario: { ...plan.scenario, engines } };
}

/** Seconds at which more is lent than at the sample before. */
export function riseSeconds(samples: readonly MemorySample[], untilNs: number): number[] {
  const rises: number[] = [];
  for (let at = 1; at < samples.length; at++) {
    const { timeNs, lentBytes } = samples[at]!;
    if (timeNs < untilNs && lentBytes > samples[at - 1]!.lentBytes) rises.push(timeNs / 1e9);
  }
  return rises;
}

/** Behind some of the rises, and at any moments besides: after a burst it lends anew. */
function momentsOf(draw: Draw, rises: readonly number[], spanSeconds: number): number[] {
  const count = draw.integer(BURSTS_MIN, BURSTS_MAX);
  const apartSeconds = spanSeconds / (2 * count);
  const moments: number[] = [];
  for (let tries = 0; moments.length < count && tries < TRIES_MAX; tries++) {
    const isAtRise = rises.length > 0 && tries < TRIES_MAX / 2;
    const rise = isAtRise ? draw.pick(rises) : draw.between(0, spanSeconds);
    const moment = Number((rise + draw.pick([0, 0.05, 0.3, 1])).toFixed(2));
    if (moments.every((other) => Math.abs(other - moment) >= apartSeconds)) moments.push(moment);
  }
  return moments.sort((a, b) => a - b);
}

/** Each fills the memory it calls home, some of them several times. */
function withBursts(
  draw: Draw,
  engine: EnginePlan,
  gpu: string,
  moments: readonly number[],
): EnginePlan {
  const parts = engine.workload ?? [];
  const lengths = parts[0]!.lengths;
  const held = concurrent(gpu, engine.model, lengths);
  const least = (0.7 * REQUESTS_MIN) / moments.length;
  const bursts = moments.map((offsetSeconds) => ({
    arrivals: "backlog" as const,
    requests: Math.round(Math.max(least, held * draw.between(0.6, 1.6))),
    offsetSeconds,
    lengths,
  }));
  return { ...engine, workload: [...parts, ...bursts] };
}
