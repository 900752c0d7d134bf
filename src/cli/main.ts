#!/usr/bin/env node
/**
 * The program `ema`: its commands, their help, and nothing else.
 *
 * Run by the user's shell. A composition root: each command is made by a file of its own, and
 * failures end in edge.ts. It knows no scenario, no system and no format.
 */

import { readFileSync } from "node:fs";
import { Command } from "commander";
import { registerChat } from "./chat-command.ts";
import { registerCompare } from "./compare-command.ts";
import { runAtEdge } from "./edge.ts";
import { registerLimits } from "./limits-command.ts";
import { registerServe } from "./serve-command.ts";
import { registerValidate } from "./validate-command.ts";

const EXAMPLES = `
Examples:
  $ ema compare scenarios/quickstart.yaml
      replay a workload on several memory systems: a table, a picture and a verdict
  $ ema limits --server 4xa100-40g --model OPT-13B --context 1024
      what a saturated engine could gain at best, before anything is simulated
  $ ema limits scenarios/paper-a100-40.yaml --json
      the same for the most loaded engine of a scenario, as one JSON object
  $ ema validate --requests run.jsonl --meta run.json --profile tables/
      how true the simulator is to the log of a real engine
  $ ema serve --devices emulated:4x64MiB
      serve a model on emulated devices that share memory, as OpenAI's API does
  $ ema chat
      talk to it in the terminal, and see where its KV cache lies

Exit codes: 0 done, 1 a bug in EMA, 2 bad input, 3 a system could not run the scenario.
Set NO_COLOR to switch colours off, EMA_DEBUG=1 to see where an error came from.`;

/** The whole command line. */
function ema(): Command {
  const program = new Command("ema");
  program
    .description(
      "Elastic memory across the GPUs of one server: engines borrow idle KV cache " +
        "memory from their neighbours, and give it back on demand.",
    )
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    .addHelpText("after", EXAMPLES)
    .showSuggestionAfterError(true)
    .allowExcessArguments(false)
    // Commands inherit both: every usage error reaches edge.ts and is printed there, once.
    .exitOverride()
    .configureOutput({ outputError: () => {} });
  registerCompare(program);
  registerLimits(program);
  registerValidate(program);
  registerServe(program);
  registerChat(program);
  return program;
}

/** package.json lies two folders up from src/cli and from dist/cli alike. */
function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

await runAtEdge(async () => {
  await ema().parseAsync(process.argv);
});
