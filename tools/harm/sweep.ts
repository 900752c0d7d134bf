/**
 * `npm run sweep`: a thousand random servers, and what lending cost anybody on them.
 *
 * Run by hand; docs/EXPERIMENTS.md quotes it. Ends with 1 when a bound is broken, something does
 * not add up, or nobody borrowed; what chance breaks is no failure.
 *
 *     npm run sweep -- --count 50 --from 1      # servers 1 to 50
 *     npm run sweep -- --only 17                # one server
 *     npm run sweep -- --only 17 --plan         # what it is, as a scenario
 *     npm run sweep -- --only 17 --shrink       # its worst violation on as little as shows it
 *     npm run sweep -- --noise                  # what chance breaks: `static` against itself
 */

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { runTool, wholeNumber } from "../command-line.ts";
import { noiseVerdictOf } from "./noise.ts";
import { runSweep } from "./run-sweep.ts";
import type { ServerPlan } from "./server-plan.ts";
import { isBroken, planOf, verdictOf, type ServerVerdict } from "./server-verdict.ts";
import { shrink } from "./shrink.ts";
import { SweepProgress } from "./sweep-progress.ts";
import { coverageOf, rowsOf, sweepText } from "./sweep-table.ts";

const COUNT = 1000;

async function sweep(
  seeds: readonly number[],
  processes: number,
  isNoise: boolean,
): Promise<ServerVerdict[]> {
  const output = {
    isTerminal: process.stderr.isTTY === true,
    widthColumns: process.stderr.columns ?? 80,
    nowMs: () => performance.now(),
    write: (text: string) => void process.stderr.write(text),
  };
  const progress = new SweepProgress(output, seeds.length);
  let broken = 0;
  const verdicts = await runSweep({
    seeds,
    processes,
    isNoise,
    onVerdict: (verdict, done) => {
      broken += rowsOf([verdict]).filter(({ judgement }) => judgement.isViolation).length;
      broken += verdict.errors.length;
      progress.update(done, broken);
    },
  });
  progress.finish();
  return verdicts;
}

/** The first violation of a server, on as little as still shows it. */
function shrunk(seed: number): ServerPlan {
  const worst = rowsOf([verdictOf(seed)])[0];
  if (worst === undefined || !worst.judgement.isViolation) {
    console.error(`server ${seed} breaks no bound`);
    process.exit(2);
  }
  const { engine, judgement } = worst;
  console.error(`${engine.name} breaks ${judgement.bound}: ${judgement.ratio.toFixed(3)}`);
  return shrink(planOf(seed), {
    engine: engine.name,
    holds: (plan) => isBroken(plan, engine.name, judgement.bound),
    triesMax: 400,
    onStep: ({ scenario }, tries) =>
      console.error(`${tries}: ${scenario.engines.map(({ name }) => name).join(", ")}`),
  });
}

const OPTIONS = {
  count: { type: "string", default: String(COUNT) },
  from: { type: "string", default: "1" },
  only: { type: "string" },
  plan: { type: "boolean", default: false },
  shrink: { type: "boolean", default: false },
  noise: { type: "boolean", default: false },
  processes: { type: "string", default: String(availableParallelism()) },
} as const;

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: OPTIONS });
  if (values.only !== undefined) {
    const seed = wholeNumber("--only", values.only);
    if (values.plan) console.log(JSON.stringify(planOf(seed), null, 2));
    else if (values.shrink) console.log(JSON.stringify(shrunk(seed), null, 2));
    else console.log(sweepText([values.noise ? noiseVerdictOf(seed) : verdictOf(seed)]));
  } else {
    const from = wholeNumber("--from", values.from);
    const count = wholeNumber("--count", values.count);
    const seeds = Array.from({ length: count }, (_, index) => from + index);
    const processes = wholeNumber("--processes", values.processes);
    const verdicts = await sweep(seeds, processes, values.noise);
    console.log(sweepText(verdicts));
    const hasErrors = verdicts.some(({ errors }) => errors.length > 0);
    if (hasErrors) process.exitCode = 1;
    if (values.noise) return;
    const hasBroken = rowsOf(verdicts).some(({ judgement }) => judgement.isViolation);
    const isIdle = coverageOf(verdicts)["borrowers"] === 0;
    if (isIdle) console.error("nobody borrowed: the sweep has shown nothing");
    if (hasBroken || isIdle) process.exitCode = 1;
  }
}

await runTool(
  "npm run sweep -- [--count N] [--from N] [--processes N] [--noise]\n" +
    "npm run sweep -- --only N [--plan | --shrink | --noise]",
  main,
);
