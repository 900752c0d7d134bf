/**
 * Prints what a comparison says under each of the two interference models.
 *
 * Run by hand (`npx tsx tools/interference.ts [scenario...] [--seeds N] [--setting NAME]`);
 * docs/METHOD.md and docs/EXPERIMENTS.md quote it. Pacing bounds what a lender can lose, so each
 * scenario is run with the lenders' share as it is and with none. `static` and `double` lend
 * nothing and are the same under both models. It knows nothing of how memory is lent.
 */

import { parseArgs } from "node:util";
import { compare, type CompareJson } from "../src/report/index.ts";
import { readScenario, systemsByName, type Scenario } from "../src/scenario/index.ts";
import { simulate, type AdmissionSetting } from "../src/sim/index.ts";
import { admissionSettings, runTool, wholeNumber } from "./command-line.ts";

const SCENARIOS = ["paper-a100-40", "h100-32b", "recall"];
const MODELS = ["subtractive", "ceiling"];
const SHARES = ["2%", "none"];

function main(args: string[]): void {
  const { values, positionals } = parseArgs({
    args,
    options: { seeds: { type: "string", default: "1" }, setting: { type: "string" } },
    allowPositionals: true,
  });
  const seeds = wholeNumber("--seeds", values.seeds);
  const settings = admissionSettings(values.setting);
  for (const name of positionals.length > 0 ? positionals : SCENARIOS) {
    console.log(`\n${name}, ${seeds} seeds`);
    for (const share of SHARES) {
      for (const model of MODELS) report(name, model, share, seeds, settings);
    }
  }
}

function report(
  name: string,
  model: string,
  share: string,
  seedCount: number,
  settings: readonly AdmissionSetting[],
): void {
  const set = [`pool.interference=${model}`, `pool.lenderShare=${share}`];
  const read = readScenario(`scenarios/${name}.yaml`, { set, traces: [] });
  const scenario = { ...read, systems: systemsByName(read, ["static", "double", "ema"]) };
  const seeds = Array.from({ length: seedCount }, (_, index) => scenario.seed + index);
  const simulator = { admissionSettings: settings, simulate };
  const { json } = compare(scenario, { simulator, seeds });
  console.log(`  ${model}, lender share ${share}: ${line(json, scenario)}`);
  console.log(`    ${json.verdict.text}`);
}

/** The first engine is the borrower; of the others the worst is given. */
function line(json: CompareJson, scenario: Scenario): string {
  const [borrower, ...lenders] = scenario.engines.map((engine) => engine.name);
  const versus = json.versus["ema"]!.engines;
  const gain = versus[borrower!]!.throughput!;
  const double = json.versus["double"]!.engines[borrower!]!.throughput!;
  const worst = (of: (lender: string) => number | null): string =>
    Math.max(...lenders.map((lender) => of(lender) ?? 0)).toFixed(4);
  return [
    `borrower ${gain.toFixed(3)}x static, ${(gain / double).toFixed(3)} of double`,
    `lenders' steps longer by ${worst((lender) => lossOf(json, lender))}`,
    `tpot mean ${worst((lender) => versus[lender]!.tpotMean)}`,
    `ttft mean ${worst((lender) => versus[lender]!.ttftMean)}`,
  ].join(", ");
}

function lossOf(json: CompareJson, lender: string): number | null {
  return json.systems["ema"]!.engines[lender]!.slowdownAsLender;
}

await runTool(
  "npx tsx tools/interference.ts [--seeds N] [--setting NAME] [SCENARIO]...\n" +
    `scenarios: ${SCENARIOS.join(", ")}`,
  main,
);
