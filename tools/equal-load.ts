/**
 * Prints what users of a borrower see beside those of an engine with twice the memory, at loads
 * that static memory can serve, when outputs grow longer in mid-run, and when all come at once.
 *
 * Run by hand (`npx tsx tools/equal-load.ts [scenario...] [--seeds N] [--setting NAME]`);
 * docs/EXPERIMENTS.md quotes it. The scenario gives server, lenders and their load; the first
 * engine's workload is replaced. Loads are shares of what `static` serves when saturated, which is
 * measured first. All systems run with one admission setting, and seeds are pooled: as many as
 * asked for, and more at a load where they hold fewer requests than percentiles want.
 */

import { parseArgs } from "node:util";
import { EmaError } from "../src/base/index.ts";
import { quantile } from "../src/report/quantiles.ts";
import { readScenario, systemsByName, type Scenario } from "../src/scenario/index.ts";
import { simulate, type AdmissionSetting, type EngineRecord } from "../src/sim/index.ts";
import { admissionSettings, runTool, wholeNumber } from "./command-line.ts";

const LENGTHS: Readonly<Record<string, readonly [prompt: number, output: number]>> = {
  "paper-a100-40": [161, 338],
  "paper-a100-40-conv": [1155, 211],
  "paper-a100-80": [161, 338],
  "h100-32b": [161, 338],
  "h100-32b-conv": [1155, 211],
};
const SHARES = [0.4, 0.6, 0.8, 0.9, 0.95];
const BORROWER = 0;
const SYSTEMS = ["static", "double", "ema"];
/** Requests that the seeds of a load hold together: fifty are then beyond p99. */
const POOLED_MIN = 5000;

interface Question {
  readonly path: string;
  readonly name: string;
  readonly seeds: number;
  readonly setting: AdmissionSetting;
}

function main(args: string[]): void {
  const { values, positionals } = parseArgs({
    args,
    options: {
      seeds: { type: "string", default: "3" },
      setting: { type: "string", default: "growth-10" },
    },
    allowPositionals: true,
  });
  const [setting] = admissionSettings(values.setting);
  const seeds = wholeNumber("--seeds", values.seeds);
  const names = positionals.length > 0 ? positionals : ["paper-a100-40", "h100-32b"];
  for (const name of names) {
    if (LENGTHS[name] === undefined) {
      throw new EmaError("E_ARGUMENT", `${name}: its lengths are not known here`);
    }
    report({ path: `scenarios/${name}.yaml`, name, seeds, setting: setting! });
  }
}

function report(question: Question): void {
  const { path, name, seeds } = question;
  const own = readScenario(path, { set: [], traces: [] });
  const engineName = own.engines[BORROWER]!.name;
  const [prompt, output] = LENGTHS[name]!;
  const [fixed] = systemsByName(own, ["static"]);
  const saturated = simulate(own, fixed!, own.seed, question.setting).engines[BORROWER]!;
  const { outputTokens, arrivalNs, count } = saturated.requests;
  const meanOutput = outputTokens.reduce((sum, tokens) => sum + tokens, 0) / count;
  const rate = tokensPerSecond(saturated) / meanOutput;
  const seconds = Math.ceil(arrivalNs[count - 1]! / 1e9);
  console.log(`\n${name}, ${seeds} seeds, ${question.setting.name}`);
  console.log(`  static serves ${rate.toFixed(2)} requests/s when saturated`);
  const run = (workload: string, pooledMin = 0): EngineRecord[][] => {
    const set = [`engines.${engineName}.workload=${workload}`];
    return records(readScenario(path, { set, traces: [] }), question, pooledMin);
  };
  const maxPrompt = Math.min(8192, own.engines[BORROWER]!.model.contextTokensMax / 2);
  const poisson = (perSecond: number, from: number, to: number, tokens: number): string =>
    `{ arrivals: poisson, rate: ${perSecond}, seconds: ${to - from}, offsetSeconds: ${from}, ` +
    `lengths: { prompt: ${prompt}, output: ${tokens}, maxPrompt: ${maxPrompt} } }`;
  for (const share of SHARES) {
    const workload = poisson(share * rate, 0, seconds, output);
    print(`load ${share}`, own, run(workload, POOLED_MIN));
  }
  // Twice as long from the middle on, at half the rate: as many tokens, and sequences half as many.
  const half = Math.round(seconds / 2);
  const drifting = (times: number): string =>
    `[${poisson(times * rate, 0, half, output)}, ` +
    `${poisson((times * rate) / 2, half, seconds, 2 * output)}]`;
  print("drift at 0.6", own, run(drifting(0.6), POOLED_MIN));
  print("drift, saturated", own, run(drifting(3)));
  const backlog =
    `{ arrivals: backlog, requests: ${Math.round(600 * rate)}, ` +
    `lengths: { prompt: ${prompt}, output: ${output}, maxPrompt: ${maxPrompt} } }`;
  print("all at once", own, run(backlog));
}

/** (systems, seeds) the borrower; seeds go on until so many requests arrive in them. */
function records(
  scenario: Scenario,
  { seeds, setting }: Question,
  pooledMin: number,
): EngineRecord[][] {
  const drawn: number[] = [];
  let requests = 0;
  for (let seed = scenario.seed; drawn.length < seeds || requests < pooledMin; seed++) {
    drawn.push(seed);
    requests += scenario.engines[BORROWER]!.requests(seed).count;
  }
  return systemsByName(scenario, SYSTEMS).map((system) =>
    drawn.map((seed) => simulate(scenario, system, seed, setting).engines[BORROWER]!),
  );
}

function print(what: string, { slo }: Scenario, [fixed, double, ema]: EngineRecord[][]): void {
  const finished = pooled(ema!, ttft).length;
  const ratio = (mine: number, theirs: number): string => (mine / theirs).toFixed(3);
  const of = (list: EngineRecord[], values: typeof tpot, at: number): number =>
    quantile(pooled(list, values), at) ?? NaN;
  const speed = (list: EngineRecord[]): number =>
    list.reduce((sum, engine) => sum + madePerSecond(engine), 0) / list.length;
  const tpotP99 = of(ema!, tpot, 0.99);
  const isWithin = tpotP99 <= slo.tpotSeconds * 1e9 ? "within" : "BEYOND";
  const borrowed = ema!.reduce((sum, engine) => sum + engine.borrowed.meanBytes, 0) / ema!.length;
  console.log(
    `  ${what.padEnd(16)} tokens/s ${speed(ema!).toFixed(0)}, ` +
      `${ratio(speed(ema!), speed(fixed!))}x static, ` +
      `${ratio(speed(ema!), speed(double!))} of double; ` +
      `TPOT p99 ${(tpotP99 / 1e6).toFixed(1)} ms ${isWithin} the SLO, ` +
      `${ratio(tpotP99, of(double!, tpot, 0.99))} of double's, ` +
      `${ratio(tpotP99, of(fixed!, tpot, 0.99))} of static's, ` +
      `p50 ${ratio(of(ema!, tpot, 0.5), of(double!, tpot, 0.5))}; ` +
      `TTFT p95 ${(of(ema!, ttft, 0.95) / 1e9).toFixed(3)} s, ` +
      `${ratio(of(ema!, ttft, 0.95), of(double!, ttft, 0.95))} of double's, ` +
      `${ratio(of(ema!, ttft, 0.95), of(fixed!, ttft, 0.95))} of static's; ` +
      `${finished} requests, borrowed ${(borrowed / 1e9).toFixed(2)} GB`,
  );
}

function tokensPerSecond({ outputTokensInWindow, window }: EngineRecord): number {
  return (outputTokensInWindow * 1e9) / (window.endNs - window.startNs);
}

/** Of a backlog, whose arrivals span no time, all it made until the last token. */
function madePerSecond(engine: EngineRecord): number {
  const { arrivalNs, count, outputTokens, lastTokenNs } = engine.requests;
  if (arrivalNs[count - 1]! > arrivalNs[0]!) return tokensPerSecond(engine);
  const tokens = outputTokens.reduce((sum, made) => sum + made, 0);
  return (tokens * 1e9) / lastTokenNs.reduce((last, time) => Math.max(last, time), 0);
}

function pooled(list: EngineRecord[], values: typeof tpot): Float64Array {
  return Float64Array.from(list.flatMap((engine) => values(engine))).sort();
}

function ttft({ requests }: EngineRecord): number[] {
  const { arrivalNs, firstTokenNs } = requests;
  return Array.from(arrivalNs, (at, row) => firstTokenNs[row]! - at).filter((value) => value >= 0);
}

function tpot({ requests }: EngineRecord): number[] {
  const { outputTokens, firstTokenNs, lastTokenNs } = requests;
  return Array.from(outputTokens, (tokens, row) =>
    tokens > 1 ? (lastTokenNs[row]! - firstTokenNs[row]!) / (tokens - 1) : NaN,
  ).filter((value) => value >= 0);
}

await runTool(
  "npx tsx tools/equal-load.ts [--seeds N] [--setting NAME] [SCENARIO]...\n" +
    `scenarios: ${Object.keys(LENGTHS).join(", ")}`,
  main,
);
