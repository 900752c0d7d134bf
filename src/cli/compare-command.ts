/**
 * `ema compare`: a workload on several memory systems, as table, JSON or page.
 *
 * Registered by main.ts. Options alone: what compares is loaded when the command runs, so that the
 * other commands start without it.
 */

import type { Command } from "commander";
import type { Simulator } from "../report/index.ts";

const EXAMPLES = `
Each system replays the same requests: "static" (each engine its own GPU's memory), "double" (twice
the KV memory, a yardstick), "ema" (engines lend and borrow), or variants that the scenario names.

Examples:
  $ ema compare scenarios/quickstart.yaml
  $ ema compare scenarios/paper-a100-40.yaml --report out.html
  $ ema compare --server 8xh100 --model Qwen3-32B --trace day.csv --trace night.csv
  $ ema compare scenarios/paper-a100-40.yaml --capacity --systems static,ema
  $ ema compare scenarios/recall.yaml --set pool.lenderShare=none --systems static,ema --json`;

/** Options as commander hands them over: texts, unchecked. */
export interface RawCompareOptions {
  readonly server?: string;
  readonly model?: string;
  readonly trace?: readonly string[];
  readonly systems?: string;
  readonly seed?: string;
  readonly repeat?: string;
  readonly set?: readonly string[];
  readonly capacity?: boolean;
  readonly engine?: string;
  readonly json?: boolean;
  readonly report?: string;
}

/** Adds the command to the program. @param simulator another one is for tests. */
export function registerCompare(program: Command, simulator?: Simulator): void {
  program
    .command("compare")
    .summary("what elastic memory would do for a server like yours")
    .description("Replays a workload on several memory systems: a table, a picture, a verdict.")
    .argument("[scenario]", "scenario file; or give --server and --model")
    .option("--server <name>", "a server like 4xa100-40g, or the path of a server.yaml")
    .option("--model <name>", "a model by name, or the path of its config.json")
    .option("--trace <file>", "a trace of requests, the n-th for @n or GPU n; repeatable", append)
    .option("--systems <names>", "which systems, like static,ema (default: the scenario's)")
    .option("--seed <number>", "the first seed (default: the scenario's)")
    .option("--repeat <count>", "how many seeds (default: 3; 1 for traces alone)")
    .option("--set <key=value>", "change a value of the scenario; repeatable", append)
    .option("--capacity", "search the highest rate within the SLO instead, per system; 1 seed")
    .option("--engine <name>", "whose rate --capacity changes (default: the most loaded engine's)")
    .option("--json", "print one JSON object and nothing else")
    .option("--report <file>", "also write one HTML page that opens offline")
    .addHelpText("after", EXAMPLES)
    .action(async (path: string | undefined, options: RawCompareOptions) => {
      const { runCompare } = await import("./compare-run.ts");
      await runCompare(path, options, simulator);
    });
}

function append(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}
