/**
 * Prints how near the simulator's steady state comes to the closed form: GPUs, models, contexts,
 * access modes, with and without a cap, lenders that idle and lenders that run.
 *
 * Run by hand (`npx tsx tools/limit-sweep.ts [text]`; the text picks rows that contain it);
 * docs/EXPERIMENTS.md quotes it. Takes half a minute.
 */

import { parseArgs } from "node:util";
import { runTool } from "./command-line.ts";
import { comparePoint, type SweptPoint } from "./limit-sweep-compare.ts";
import type { SteadyCase } from "./limit-sweep-run.ts";

const PLACES: readonly (readonly [server: string, model: string, contextTokens: number])[] = [
  ["4xa100-40g", "OPT-13B", 512],
  ["4xa100-40g", "OPT-13B", 1024],
  ["4xa100-80g", "Qwen3-32B", 1024],
  ["4xh100", "Qwen3-32B", 1024],
  ["4xh100", "Qwen3-32B", 2048],
  ["4xh100", "CodeLlama-34B", 1024],
  ["4xh100", "Qwen2.5-14B", 2048],
  ["4xh100", "Llama-3.1-8B", 2048],
  ["4xh200", "Qwen3-32B", 2048],
];

const HEADINGS =
  "server      model            context  mode    cap   lenders  closed  simulated  difference" +
  "   of limits   sequences      step, ms        borrowed, GB    staged, GB";

function main(filter: string): void {
  console.log(HEADINGS);
  const points: SweptPoint[] = [];
  for (const [server, model, contextTokens] of PLACES) {
    for (const cap of ["100%", "none"] as const) {
      for (const mode of ["mixed", "staged", "direct"] as const) {
        for (const areLendersRunning of cap === "none" ? [false] : [false, true]) {
          const asked: SteadyCase = { server, model, contextTokens, mode, cap, areLendersRunning };
          if (!textOf(asked).includes(filter)) continue;
          const point = comparePoint(asked);
          points.push(point);
          console.log(lineOf(point));
        }
      }
    }
  }
  const near = points.filter(({ difference }) => Math.abs(difference) <= 0.02).length;
  const above = points.filter(isAbove).length;
  console.log(`\n${near} of ${points.length} within 2 %, ${above} above what \`ema limits\` gives`);
}

/** What the filter is looked for in. */
function textOf(asked: SteadyCase): string {
  const { server, model, contextTokens, mode, cap } = asked;
  return [server, model, contextTokens, mode, cap, lendersOf(asked)].join(" ");
}

function lendersOf({ areLendersRunning }: SteadyCase): string {
  return areLendersRunning ? "run" : "idle";
}

function lineOf(point: SweptPoint): string {
  const { asked, simulated, closed, difference, limitTokensPerSecond } = point;
  const pair = (mine: number, theirs: number, digits: number): string =>
    `${mine.toFixed(digits)} / ${theirs.toFixed(digits)}`.padEnd(15);
  return [
    asked.server.padEnd(11),
    asked.model.padEnd(15),
    String(asked.contextTokens).padStart(8),
    ` ${asked.mode.padEnd(7)}`,
    asked.cap.padEnd(5),
    lendersOf(asked).padEnd(7),
    closed.tokensPerSecond.toFixed(0).padStart(7),
    simulated.tokensPerSecond.toFixed(0).padStart(10),
    `${(100 * difference).toFixed(1)} %`.padStart(11),
    (simulated.tokensPerSecond / limitTokensPerSecond).toFixed(3).padStart(10),
    `  ${pair(simulated.sequences, closed.sequences, 1)}`,
    pair(1e3 * simulated.stepSeconds, 1e3 * closed.stepSeconds, 2),
    pair(simulated.remoteBytes / 1e9, closed.remoteBytes / 1e9, 2),
    pair(simulated.stagedBytes / 1e9, closed.stagedBytes / 1e9, 2),
  ]
    .join(" ")
    .trimEnd();
}

function isAbove({ simulated, limitTokensPerSecond }: SweptPoint): boolean {
  return simulated.tokensPerSecond > limitTokensPerSecond;
}

await runTool(
  "npx tsx tools/limit-sweep.ts [TEXT]\nTEXT picks the rows that contain it, such as h100, staged",
  (args) => main(parseArgs({ args, allowPositionals: true }).positionals[0] ?? ""),
);
