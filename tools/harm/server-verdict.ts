/**
 * One server of the sweep, from its seed to a verdict that fits into a message.
 *
 * Called by the sweep's processes and by tests. A run that fails is a verdict too.
 */

import { EmaError } from "../../src/base/index.ts";
import type { Scenario } from "../../src/scenario/index.ts";
import { accountingErrors } from "./accounting.ts";
import { withAmbushes } from "./ambush.ts";
import { judge, type BoundName, type Judgement } from "./bounds.ts";
import { runPairs, type PairedRuns, type PoolChange } from "./paired-runs.ts";
import { randomServer } from "./random-server.ts";
import { scenarioOf, type ServerPlan } from "./server-plan.ts";

export interface EngineVerdict {
  readonly name: string;
  readonly role: "borrower" | "lender" | "neither";
  readonly finished: number;
  /** Empty where the engine had too few requests, or gives away more than the bounds hold for. */
  readonly judgements: readonly Judgement[];
}

export interface ServerVerdict {
  readonly seed: number;
  readonly engines: readonly EngineVerdict[];
  /** Within the lender's shares that the bounds hold for. */
  readonly isBound: boolean;
  readonly wiring: string;
  readonly recalls: { readonly refill: number; readonly demand: number };
  /** Requests that no run was given, as `static` cannot serve them. */
  readonly leftOut: number;
  /** What did not add up, or how the run failed. */
  readonly errors: readonly string[];
}

/** Of a running lender's bandwidth: what may be lent with the bounds kept. */
const LENDER_SHARE_MAX = 0.02;

export function planOf(seed: number): ServerPlan {
  return withAmbushes(randomServer(seed));
}

export function verdictOf(seed: number, plant?: PoolChange): ServerVerdict {
  try {
    const plan = planOf(seed);
    const verdict = judgeScenario(scenarioOf(plan), plan.admission, plant);
    return { ...verdict, seed, wiring: wiringOf(seed) };
  } catch (failure) {
    return failedVerdict(seed, (failure as Error).stack ?? String(failure));
  }
}

/** Of a server whose run did not end well. */
export function failedVerdict(seed: number, error: string): ServerVerdict {
  const recalls = { refill: 0, demand: 0 };
  const wiring = wiringOf(seed);
  return { seed, wiring, engines: [], isBound: false, recalls, leftOut: 0, errors: [error] };
}

export function wiringOf(seed: number): string {
  const { links } = randomServer(seed).plan.scenario.server;
  return typeof links === "string" ? links : "list";
}

/** The same for a server without a seed: made smaller, or kept in a file. */
export function judgeScenario(
  scenario: Scenario,
  admission: string,
  plant?: PoolChange,
  finishedMin?: number,
): Omit<ServerVerdict, "seed" | "wiring"> {
  const runs = runPairs(scenario, admission, plant);
  const { lenderShare } = scenario.pool;
  const isBound = lenderShare !== null && lenderShare <= LENDER_SHARE_MAX;
  const tpotSloNs = scenario.slo.tpotSeconds * 1e9;
  const engines = runs.engines.map((pair): EngineVerdict => ({
    name: pair.name,
    role: pair.hasBorrowed ? "borrower" : pair.hasLent ? "lender" : "neither",
    finished: pair.finished,
    judgements: isBound ? judge(pair, tpotSloNs, finishedMin) : [],
  }));
  const errors = [...accountingErrors(runs.static), ...accountingErrors(runs.ema)];
  return { engines, isBound, recalls: recallsOf(runs), leftOut: runs.leftOut, errors };
}

/** Requests that show harm on a server made smaller: enough for an interval. */
export const SHRUNK_FINISHED_MIN = 150;

/** @returns whether this engine breaks this bound on the server; one that cannot run does not. */
export function isBroken(plan: ServerPlan, engineName: string, bound: BoundName): boolean {
  try {
    const scenario = scenarioOf(plan);
    const { engines } = judgeScenario(scenario, plan.admission, undefined, SHRUNK_FINISHED_MIN);
    const engine = engines.find(({ name }) => name === engineName);
    return engine!.judgements.some((found) => found.bound === bound && found.isViolation);
  } catch (failure) {
    if (failure instanceof EmaError) return false;
    throw failure;
  }
}

function recallsOf({ ema }: PairedRuns): ServerVerdict["recalls"] {
  const refill = ema.recalls.filter(({ kind }) => kind === "refill").length;
  return { refill, demand: ema.recalls.length - refill };
}
