/**
 * Prints how near a saturated borrower comes to the closed form and to twice the memory.
 *
 * Run by hand (`npx tsx tools/headline.ts [scenario...] [--seeds N] [--setting NAME] [--set k=v]
 * [--breakdown]`); docs/EXPERIMENTS.md quotes it. Every `ema` system of a scenario is a row;
 * `ema limits` answers for its pool and the requests of each seed that runs. Settings are chosen
 * as in `ema compare`: each system runs with the one that makes the most tokens. The breakdown says
 * for the first seed where each per cent of the limit is.
 */

import { parseArgs } from "node:util";
import { inputsOfScenario } from "../src/cli/limits-scenario.ts";
import {
  practicalLimit,
  type Limit,
  type LocalPoint,
  type PracticalInputs,
} from "../src/limits/index.ts";
import { readScenario, type Scenario, type SystemSettings } from "../src/scenario/index.ts";
import { simulate, type AdmissionSetting } from "../src/sim/index.ts";
import { admissionSettings, runTool, wholeNumber } from "./command-line.ts";
import { breakdown, breakdownText } from "./headline-breakdown.ts";
import { stepLedger } from "./step-ledger.ts";

const SCENARIOS = [
  "paper-a100-40",
  "paper-a100-40-conv",
  "paper-a100-80",
  "h100-32b",
  "h100-32b-conv",
  "idle-a100-40-conv",
  "idle-h100-32b",
  "idle-h100-32b-conv",
];
const BORROWER = 0;

/** One engine's means over seeds. */
interface Means {
  readonly admission: string;
  readonly tokensPerSecond: number;
  /** Half of the 95 % interval, by the normal approximation; 0 with one seed. */
  readonly halfWidth: number;
  readonly hiddenShare: number;
  readonly remoteSlowdown: number;
  readonly borrowedGB: number;
}

/** What is asked about one scenario. */
interface Question {
  readonly path: string;
  readonly scenario: Scenario;
  readonly seeds: readonly number[];
  readonly settings: readonly AdmissionSetting[];
  readonly set: readonly string[];
}

function main(args: string[]): void {
  const { values, positionals } = parseArgs({
    args,
    options: {
      seeds: { type: "string", default: "3" },
      setting: { type: "string" },
      set: { type: "string", multiple: true, default: [] },
      breakdown: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  const { setting, set } = values;
  const settings = admissionSettings(setting);
  for (const name of positionals.length > 0 ? positionals : SCENARIOS) {
    const path = `scenarios/${name}.yaml`;
    const scenario = readScenario(path, { set, traces: [] });
    const count = wholeNumber("--seeds", values.seeds);
    const seeds = Array.from({ length: count }, (_, index) => scenario.seed + index);
    console.log(`\n${name}, ${count} seeds`);
    report({ path, scenario, seeds, settings, set }, values.breakdown);
  }
}

function report(question: Question, hasBreakdown: boolean): void {
  const { systems } = question.scenario;
  const fixed = bestMeans(question, systems.find(({ base }) => base === "static")!);
  const double = bestMeans(question, systems.find(({ base }) => base === "double")!);
  for (const system of systems) {
    if (system.base === "ema" && system.pool.lenderShare === null) continue;
    const { seeds } = question;
    const limits = seeds.map((seed) => practicalLimit(limitInputs(question, system, seed)));
    if (system.base === "ema") {
      const means = bestMeans(question, system);
      console.log(`  ${system.name}  ${line(means, fixed, double, limits)}`);
      if (hasBreakdown) explain(question, system, means.admission, limits[0]!);
      continue;
    }
    const isDouble = system.base === "double";
    const means = isDouble ? double : fixed;
    const own = limits.map((limit) => (isDouble ? limit.double : limit.static));
    const limit = meanOf(own, ({ tokensPerSecond }) => tokensPerSecond);
    const share = (means.tokensPerSecond / limit).toFixed(3);
    console.log(`  ${system.name}  ${tokens(means)}, ${share} of its limit (${limit.toFixed(0)})`);
    if (hasBreakdown) explain(question, system, means.admission, own[0]!);
  }
}

/** Where the first seed's distance from the limit is. */
function explain(
  question: Question,
  system: SystemSettings,
  admission: string,
  limit: Limit | LocalPoint,
): void {
  const { scenario, seeds } = question;
  const [setting] = admissionSettings(admission);
  const run = stepLedger(scenario, system, seeds[0]!, setting!, BORROWER);
  const parts = breakdown(limitInputs(question, system, seeds[0]!), limit, run);
  console.log(breakdownText(parts, run).join("\n"));
}

/** What `ema limits` is asked for the borrower with the requests of a seed. */
function limitInputs(question: Question, system: SystemSettings, seed: number): PracticalInputs {
  const { path, scenario } = question;
  const source = { set: [...question.set, `seed=${seed}`], traces: [] };
  const cap = system.pool.borrowLimit;
  const { name } = scenario.engines[BORROWER]!;
  return inputsOfScenario(path, source, name, { mode: null, cap, peers: null }).practical;
}

/** With the setting that makes the most tokens. */
function bestMeans(question: Question, system: SystemSettings): Means {
  const runs = question.settings.map((setting) => meansOf(question, system, setting));
  return runs.reduce((best, one) => (one.tokensPerSecond > best.tokensPerSecond ? one : best));
}

function meansOf(
  { scenario, seeds }: Question,
  system: SystemSettings,
  setting: AdmissionSetting,
): Means {
  const engines = seeds.map((seed) => simulate(scenario, system, seed, setting).engines[BORROWER]!);
  const rates = engines.map(({ outputTokensInWindow, window }) =>
    (outputTokensInWindow * 1e9) / (window.endNs - window.startNs),
  );
  const total = (of: (engine: (typeof engines)[0]) => number): number =>
    engines.reduce((sum, engine) => sum + of(engine), 0);
  const mean = meanOf(rates, (rate) => rate);
  const squares = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0);
  const count = seeds.length;
  return {
    admission: setting.name,
    tokensPerSecond: mean,
    halfWidth: count > 1 ? 1.96 * Math.sqrt(squares / (count - 1) / count) : 0,
    hiddenShare: 1 - total(({ stallNs }) => stallNs) / total(({ remoteReadNs }) => remoteReadNs),
    remoteSlowdown: total(({ stepNs }) => stepNs) / total(({ stepLocalNs }) => stepLocalNs) - 1,
    borrowedGB: total(({ borrowed }) => borrowed.meanBytes) / count / 1e9,
  };
}

function tokens({ tokensPerSecond, halfWidth, admission }: Means): string {
  return `${tokensPerSecond.toFixed(0)} +- ${halfWidth.toFixed(0)} tokens/s (${admission})`;
}

function line(borrower: Means, fixed: Means, double: Means, limits: readonly Limit[]): string {
  const { tokensPerSecond, hiddenShare, remoteSlowdown, borrowedGB } = borrower;
  const over = (other: number): string => (tokensPerSecond / other).toFixed(3);
  const limit = meanOf(limits, (one) => one.tokensPerSecond);
  const ratio = limit / meanOf(limits, (one) => one.static.tokensPerSecond);
  const slower = meanOf(limits, (one) => one.remoteSlowdown ?? 0);
  const remoteGB = meanOf(limits, (one) => one.remoteBytes) / 1e9;
  return [
    tokens(borrower),
    `${over(fixed.tokensPerSecond)}x static`,
    `${over(double.tokensPerSecond)} of double`,
    `${over(limit)} of limits' tokens (${limit.toFixed(0)})`,
    // The limit's own static is further above a simulated one than the limit is above `ema`.
    `${(Number(over(fixed.tokensPerSecond)) / ratio).toFixed(3)} of limits' ratio`,
    `hidden ${hiddenShare.toFixed(4)}`,
    `slower ${remoteSlowdown.toFixed(3)} (limits ${slower.toFixed(3)})`,
    `borrowed ${borrowedGB.toFixed(2)} GB (limits ${remoteGB.toFixed(2)})`,
  ].join(", ");
}

function meanOf<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((sum, value) => sum + of(value), 0) / values.length;
}

await runTool(
  "npx tsx tools/headline.ts [--seeds N] [--setting NAME] [--set KEY=VALUE]... [--breakdown] " +
    `[SCENARIO]...\nscenarios: ${SCENARIOS.join(", ")}`,
  main,
);
