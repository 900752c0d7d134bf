/**
 * `ema limits`: the closed form for one engine, as text or JSON.
 *
 * Registered by main.ts. Options alone: what answers is loaded when the command runs.
 */

import { Option, type Command } from "commander";

const EXAMPLES = `
Two answers. "ideal" counts bandwidths only: decode at one context length, free copies, lenders
that never run. "with costs" takes the operators' times from measured tables and adds the staging
ring, copies, whole slices and blocks, and lenders that run steps of their own; with a scenario also
its lengths, prompts, and how often lenders run.

Examples:
  $ ema limits --server 8xh100 --model Qwen3-32B --context 1024 --cap none --peers 3
  $ ema limits scenarios/paper-a100-40.yaml --engine chat
  $ ema limits scenarios/paper-a100-40.yaml --set pool.lenderShare=none --json`;

/** Options as commander hands them over: texts, unchecked. */
export interface RawLimitsOptions {
  readonly engine?: string;
  readonly server?: string;
  readonly model?: string;
  readonly context?: string;
  readonly mode?: string;
  readonly cap?: string;
  readonly peers?: string;
  readonly set?: readonly string[];
  readonly trace?: readonly string[];
  readonly json?: boolean;
}

/** Adds the command to the program. */
export function registerLimits(program: Command): void {
  program
    .command("limits")
    .summary("what borrowing could give at best, in closed form")
    .description("What an engine that never runs out of requests could gain by borrowing, at best.")
    .argument("[scenario]", "scenario file; or give --server, --model and --context")
    .option("--engine <name>", "the scenario's engine to look at (default: the most loaded one)")
    .option("--server <name>", "a server like 4xa100-40g, or the path of a server.yaml")
    .option("--model <name>", "a model by name, or the path of its config.json")
    .option("--context <tokens>", "context of every sequence, in tokens")
    .addOption(new Option("--mode <mode>", "staged, direct or mixed (default: mixed)"))
    .option("--cap <limit>", "most it may borrow: 100% of its own KV memory, 4GB, or none")
    .option("--peers <count>", "how many GPUs lend (default: all others)")
    .option("--set <key=value>", "change a value of the scenario; may be repeated", append)
    .option("--trace <file>", "a trace the scenario names @1, @2, ...; may be repeated", append)
    .option("--json", "print one JSON object and nothing else")
    .addHelpText("after", EXAMPLES)
    .action(async (scenario: string | undefined, options: RawLimitsOptions) => {
      const { runLimits } = await import("./limits-run.ts");
      runLimits(scenario, options);
    });
}

function append(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}
