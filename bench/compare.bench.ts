/**
 * What comparisons cost: `npm run build && npx tsx bench/compare.bench.ts [trace.csv] [--quick]`.
 *
 * Whole processes (start, trace, up to three admission settings, statistics), engine steps with the
 * pool off and on, and growth with requests and GPUs. CPU seconds are the figure to compare on a
 * machine that others use too; wall seconds stand beside them, with the load. At the end stands
 * each goal with what was measured. Writes bench/results/compare.json.
 *
 * The trace is the hour of Azure's conversation service; without it those parts are left out.
 */

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readScenario, systemsByName } from "../src/scenario/index.ts";
import { ADMISSION_SETTINGS, simulate } from "../src/sim/index.ts";
import { runTool } from "../tools/command-line.ts";
import { machine, writeResults } from "./machine.ts";
import { measureBest } from "./measure-process.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TRACE = "../shared/data/azure2023/AzureLLMInferenceTrace_conv.csv";
const FACTORS = [1, 4, 16];
/** Cost for each request at sixteen times the size, over that at the smallest; it is measured. */
const LINEAR_MOST = 1.15;

interface Row {
  readonly what: string;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly [figure: string]: string | number;
}

/** What should hold, and what was measured. */
interface Goal {
  readonly goal: string;
  readonly measured: number;
  readonly isMet: boolean;
}

const rows: Row[] = [];
const goals: Goal[] = [];

function atMost(goal: string, measured: number, most: number): void {
  goals.push({ goal: `${goal}, at most ${most}`, measured, isMet: measured <= most });
}

function note(row: Row): void {
  rows.push(row);
  const { what, ...figures } = row;
  const texts = Object.entries(figures).map(([name, value]) => `${name} ${shown(value)}`);
  console.log(`${what.padEnd(52)} ${texts.join("  ")}`);
}

function shown(value: string | number): string {
  if (typeof value === "string") return value;
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}

/** The cheapest of some simulated runs in this process: the others met more of the neighbours. */
function simulatedBest(times: number, ...inputs: Parameters<typeof simulated>) {
  const runs = Array.from({ length: times }, () => simulated(...inputs));
  return runs.reduce((best, run) => (run.cpuSeconds < best.cpuSeconds ? run : best));
}

/** One simulated run in this process. */
function simulated(path: string, systemName: string, set: readonly string[], traces: string[]) {
  const scenario = readScenario(path, { set, traces });
  const [system] = systemsByName(scenario, [systemName]);
  for (const engine of scenario.engines) engine.requests(scenario.seed);
  const cpuStart = process.cpuUsage();
  const startMs = performance.now();
  const run = simulate(scenario, system!, scenario.seed, ADMISSION_SETTINGS[0]!);
  const wallSeconds = (performance.now() - startMs) / 1e3;
  const cpu = process.cpuUsage(cpuStart);
  const steps = run.engines.reduce((sum, engine) => sum + engine.steps, 0);
  const requests = run.engines.reduce((sum, engine) => sum + engine.requests.count, 0);
  return { cpuSeconds: (cpu.user + cpu.system) / 1e6, wallSeconds, steps, requests };
}

async function wholeProcesses(trace: string, times: number): Promise<void> {
  const hour = ["--server", "1xh100", "--model", "Llama-3.1-8B", "--trace", trace];
  const rest = ["--repeat", "1", "--json"];
  note({ what: "process: ema --help", ...(await measureBest(["--help"], times)) });
  const one = await measureBest(["compare", ...hour, "--systems", "static", ...rest], times);
  note({ what: "process: Azure hour, 1 x H100, Llama-3.1-8B, static", ...one });
  atMost("Azure hour, whole process, CPU seconds", one.cpuSeconds, 1);
  atMost("Azure hour, whole process, MB", one.peakMegabytes, 120);
  const words = ["compare", "scenarios/azure-hour.yaml", "--trace", trace, ...rest, "--systems"];
  const off = await measureBest([...words, "static"], times);
  note({ what: "process: azure-hour.yaml, static", ...off });
  const on = await measureBest([...words, "ema"], times);
  note({ what: "process: azure-hour.yaml, ema", ...on });
  const ratio = on.cpuSeconds / off.cpuSeconds;
  note({
    what: "process: azure-hour.yaml, pool on over pool off",
    cpuSeconds: ratio,
    wallSeconds: on.wallSeconds / off.wallSeconds,
  });
  atMost("azure-hour.yaml, pool on, whole process, CPU seconds", on.cpuSeconds, 8);
  atMost("azure-hour.yaml, pool on over pool off", ratio, 2);
}

/** Pool off and on over the same hour: seconds for each engine step, and their ratio. */
function poolCost(trace: string): void {
  const path = "scenarios/azure-hour.yaml";
  const cost = (system: string) => simulatedBest(3, path, system, [], [trace]);
  // The first runs compile; the cheapest is not one of them.
  const off = cost("static");
  const on = cost("ema");
  // The first goal was 2.5 for both; without the pool it is passed.
  for (const [system, run, most] of [["static", off, 1.5], ["ema", on, 2.5]] as const) {
    const stepsPerSecond = Math.round(run.steps / run.cpuSeconds);
    const microsecondsPerStep = (run.cpuSeconds * 1e6) / run.steps;
    const what = `steps: azure-hour.yaml, ${system}, one setting`;
    note({ what, ...run, stepsPerSecond, microsecondsPerStep });
    atMost(`azure-hour.yaml, ${system}, microseconds a step`, microsecondsPerStep, most);
  }
  note({
    what: "steps: pool on over pool off",
    cpuSeconds: on.cpuSeconds / off.cpuSeconds,
    wallSeconds: on.wallSeconds / off.wallSeconds,
    perStep: on.cpuSeconds / on.steps / (off.cpuSeconds / off.steps),
  });
}

/** Every engine has bursts beyond its capacity, in turn: it borrows in them and lends between. */
function growthScenario(gpus: number, seconds: number): string {
  const engines = Array.from({ length: gpus }, (_, gpu) => {
    const offsetSeconds = (gpu * 60) % 240;
    return (
      `  - {name: e${gpu}, gpus: [${gpu}], model: OPT-13B, tenant: t${gpu}, workload: ` +
      `{arrivals: on-off, rate: 2.4, onSeconds: 60, offSeconds: 180, seconds: ${seconds}, ` +
      `offsetSeconds: ${offsetSeconds}, lengths: sharegpt}}`
    );
  });
  const path = join(tmpdir(), `ema-bench-${process.pid}-${gpus}-${seconds}.yaml`);
  writeFileSync(path, [`server: ${gpus}xa100-40g`, "engines:", ...engines].join("\n"));
  return path;
}

/** CPU time for each request, over that of the smallest case: 1 is linear. */
function growth(): void {
  const ofRequests = FACTORS.map((factor) => ({ gpus: 4, seconds: 720 * factor }));
  // One GPU has nobody to borrow from, so the pool's growth is counted from four GPUs; what one
  // costs stands beside it.
  const ofGpus = FACTORS.map((gpus) => ({ gpus, seconds: 1440 }));
  for (const system of ["static", "ema"]) {
    grow(`requests, ${system}`, system, ofRequests, 0);
    grow(`GPUs, ${system}`, system, ofGpus, system === "static" ? 0 : 1);
  }
}

/** @param baseIndex the case that the others are compared with. */
function grow(
  what: string,
  system: string,
  cases: readonly { readonly gpus: number; readonly seconds: number }[],
  baseIndex: number,
): void {
  const runs = cases.map(({ gpus, seconds }, index) => {
    const path = growthScenario(gpus, seconds);
    // The first run of a kind compiles; it is not counted.
    if (index === 0) simulated(path, system, [], []);
    const run = simulatedBest(2, path, system, [], []);
    rmSync(path);
    return { ...run, microsecondsPerRequest: (run.cpuSeconds * 1e6) / run.requests };
  });
  const base = runs[baseIndex]!.microsecondsPerRequest;
  for (const [index, run] of runs.entries()) {
    const { gpus, seconds } = cases[index]!;
    const overLinear = run.microsecondsPerRequest / base;
    note({ what: `growth: ${what}, ${gpus} GPUs, ${seconds} s`, ...run, overLinear });
    const isLargest = index === runs.length - 1;
    if (isLargest) atMost(`growth with ${what}, over linear`, overLinear, LINEAR_MOST);
  }
}

process.chdir(ROOT);
await runTool("npx tsx bench/compare.bench.ts [trace.csv] [--quick]", async (args) => {
  const options = { quick: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const trace = positionals[0] ?? TRACE;
  const before = machine();
  console.log(before);
  if (existsSync(trace)) {
    await wholeProcesses(trace, values.quick ? 1 : 3);
    poolCost(trace);
  } else console.log(`no trace at ${trace}: the parts with it are left out`);
  growth();
  for (const { goal, measured, isMet } of goals) {
    const verdict = isMet ? "met" : "missed";
    console.log(`${goal.padEnd(66)} ${measured.toPrecision(3).padStart(6)}  ${verdict}`);
  }
  writeResults("compare", before, [...rows, ...goals]);
});
