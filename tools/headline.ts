/**
 * Prints how near a saturated borrower comes to the closed form and to twice the memory.
 *
 * Run by hand (`npx tsx tools/headline.ts [scenario...] [--seeds N] [--setting NAME] [--set k=v]`);
 * docs/EXPERIMENTS.md quotes it. Every `ema` system of a scenario is a row; `ema limits` answers
 * for its pool and the scenario's first seed. Settings are chosen as in `ema compare`: each system
 * runs with the one that makes the most tokens.
 */

import { parseArgs } from "node:util";
import { inputsOfScenario } from "../src/cli/limits-scenario.ts";
import { practicalLimit, type Limit } from "../src/limits/index.ts";
import { readScenario, type SystemSettings } from "../src/scenario/index.ts";
import {
  ADMISSION_SETTINGS,
  simulate,
  type AdmissionSetting,
  type RunRecord,
} from "../src/sim/index.ts";

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

function main(args: string[]): void {
  const { values, positionals } = parseArgs({
    args,
    options: {
      seeds: { type: "string", default: "3" },
      setting: { type: "string" },
      set: { type: "string", multiple: true, default: [] },
    },
    allowPositionals: true,
  });
  const { setting, seeds, set } = values;
  const settings = ADMISSION_SETTINGS.filter(({ name }) => (setting ?? name) === name);
  for (const name of positionals.length > 0 ? positionals : SCENARIOS) {
    report(name, Number(seeds), settings, set);
  }
}

function report(
  name: string,
  seeds: number,
  settings: readonly AdmissionSetting[],
  set: readonly string[],
): void {
  const path = `scenarios/${name}.yaml`;
  const scenario = readScenario(path, { set, traces: [] });
  const run = (system: SystemSettings): Means => {
    const runs = settings.map((setting) => meansOf(scenario, system, seeds, setting));
    return runs.reduce((best, other) =>
      other.tokensPerSecond > best.tokensPerSecond ? other : best,
    );
  };
  console.log(`\n${name}, ${seeds} seeds`);
  const fixed = run(scenario.systems.find(({ base }) => base === "static")!);
  const double = run(scenario.systems.find(({ base }) => base === "double")!);
  console.log(`  static  ${tokens(fixed)}\n  double  ${tokens(double)}`);
  for (const system of scenario.systems) {
    if (system.base !== "ema" || system.pool.lenderShare === null) continue;
    const borrower = scenario.engines[BORROWER]!.name;
    const question = inputsOfScenario(path, { set, traces: [] }, borrower, {
      mode: null,
      cap: system.pool.borrowLimit,
      peers: null,
    });
    const limit = practicalLimit(question.practical);
    console.log(`  ${system.name}  ${line(run(system), fixed, double, limit)}`);
  }
}

function meansOf(
  scenario: ReturnType<typeof readScenario>,
  system: SystemSettings,
  seeds: number,
  setting: AdmissionSetting,
): Means {
  const records: RunRecord[] = [];
  for (let seed = scenario.seed; seed < scenario.seed + seeds; seed++) {
    records.push(simulate(scenario, system, seed, setting));
  }
  const engines = records.map((record) => record.engines[BORROWER]!);
  const rates = engines.map(({ outputTokensInWindow, window }) =>
    (outputTokensInWindow * 1e9) / (window.endNs - window.startNs),
  );
  const total = (of: (engine: (typeof engines)[0]) => number): number =>
    engines.reduce((sum, engine) => sum + of(engine), 0);
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / seeds;
  const squares = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0);
  return {
    admission: setting.name,
    tokensPerSecond: mean,
    halfWidth: seeds > 1 ? 1.96 * Math.sqrt(squares / (seeds - 1) / seeds) : 0,
    hiddenShare: 1 - total(({ stallNs }) => stallNs) / total(({ remoteReadNs }) => remoteReadNs),
    remoteSlowdown: total(({ stepNs }) => stepNs) / total(({ stepLocalNs }) => stepLocalNs) - 1,
    borrowedGB: total(({ borrowed }) => borrowed.meanBytes) / seeds / 1e9,
  };
}

function tokens({ tokensPerSecond, halfWidth, admission }: Means): string {
  return `${tokensPerSecond.toFixed(0)} +- ${halfWidth.toFixed(0)} tokens/s (${admission})`;
}

function line(borrower: Means, fixed: Means, double: Means, limit: Limit): string {
  const { tokensPerSecond, hiddenShare, remoteSlowdown, borrowedGB } = borrower;
  const over = (other: number): string => (tokensPerSecond / other).toFixed(3);
  return [
    tokens(borrower),
    `${over(fixed.tokensPerSecond)}x static`,
    `${over(double.tokensPerSecond)} of double`,
    // What a limit gives over static counts, not its own estimate of static.
    `${(Number(over(fixed.tokensPerSecond)) / limit.ratioToStatic).toFixed(3)} of limits' ratio`,
    `${over(limit.tokensPerSecond)} of limits' tokens (${limit.tokensPerSecond.toFixed(0)})`,
    `hidden ${hiddenShare.toFixed(3)}`,
    `slower ${remoteSlowdown.toFixed(3)} (limits ${(limit.remoteSlowdown ?? 0).toFixed(3)})`,
    `borrowed ${borrowedGB.toFixed(2)} GB (limits ${(limit.remoteBytes / 1e9).toFixed(2)})`,
  ].join(", ");
}

main(process.argv.slice(2));
