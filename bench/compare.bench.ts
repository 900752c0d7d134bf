/**
 * What comparisons cost: `npm run build && npx tsx bench/compare.bench.ts [trace.csv] [--quick]`.
 *
 * Whole processes (start, trace, up to three admission settings, statistics), engine steps with the
 * pool off and on, and growth with requests and GPUs. CPU seconds are the figure to compare on a
 * machine that others use too; wall seconds stand beside them, with the load. Writes
 * bench/results/compare.json.
 *
 * The trace is the hour of Azure's conversation service; without it those parts are left out.
 */

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readScenario, systemsByName } from "../src/scenario/index.ts";
import { ADMISSION_SETTINGS, simulate } from "../src/sim/index.ts";
import { machine, writeResults } from "./machine.ts";
import { measureBest } from "./measure-process.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TRACE = "../shared/data/azure2023/AzureLLMInferenceTrace_conv.csv";
const FACTORS = [1, 4, 16];

interface Row {
  readonly what: string;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly [figure: string]: string | number;
}

const rows: Row[] = [];

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
  note({
    what: "process: Azure hour, 1 x H100, Llama-3.1-8B, static",
    ...(await measureBest(["compare", ...hour, "--systems", "static", ...rest], times)),
  });
  for (const system of ["static", "ema"]) {
    const words = ["compare", "scenarios/azure-hour.yaml", "--trace", trace];
    note({
      what: `process: azure-hour.yaml, ${system}`,
      ...(await measureBest([...words, "--systems", system, ...rest], times)),
    });
  }
}

/** Pool off and on over the same hour: seconds for each engine step, and their ratio. */
function poolCost(trace: string): void {
  const path = "scenarios/azure-hour.yaml";
  const cost = (system: string) => simulatedBest(3, path, system, [], [trace]);
  // The first runs compile; the cheapest is not one of them.
  const off = cost("static");
  const on = cost("ema");
  for (const [system, run] of [["static", off], ["ema", on]] as const) {
    note({
      what: `steps: azure-hour.yaml, ${system}, one setting`,
      ...run,
      stepsPerSecond: Math.round(run.steps / run.cpuSeconds),
      microsecondsPerStep: (run.cpuSeconds * 1e6) / run.steps,
    });
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
  // One GPU has nobody to borrow from, so the pool's growth is counted from four.
  const ofGpus = FACTORS.map((gpus) => ({ gpus, seconds: 1440 }));
  for (const system of ["static", "ema"]) {
    grow(`requests, ${system}`, system, ofRequests);
    grow(`GPUs, ${system}`, system, system === "static" ? ofGpus : ofGpus.slice(1));
  }
}

function grow(
  what: string,
  system: string,
  cases: readonly { readonly gpus: number; readonly seconds: number }[],
): void {
  let first: number | null = null;
  for (const { gpus, seconds } of cases) {
    const path = growthScenario(gpus, seconds);
    // The first run of a kind compiles; it is not counted.
    if (first === null) simulated(path, system, [], []);
    const run = simulatedBest(2, path, system, [], []);
    rmSync(path);
    const microsecondsPerRequest = (run.cpuSeconds * 1e6) / run.requests;
    first ??= microsecondsPerRequest;
    const overLinear = microsecondsPerRequest / first;
    const label = `growth: ${what}, ${gpus} GPUs, ${seconds} s`;
    note({ what: label, ...run, microsecondsPerRequest, overLinear });
  }
}

process.chdir(ROOT);
const words = process.argv.slice(2);
const isQuick = words.includes("--quick");
const trace = words.find((word) => !word.startsWith("--")) ?? TRACE;
const before = machine();
console.log(before);
if (existsSync(trace)) {
  await wholeProcesses(trace, isQuick ? 1 : 3);
  poolCost(trace);
} else console.log(`no trace at ${trace}: the parts with it are left out`);
growth();
writeResults("compare", before, rows);
