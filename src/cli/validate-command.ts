/**
 * `ema validate`: the request log of a real engine against the same work simulated.
 *
 * Registered by main.ts. Options alone: what validates is loaded when the command runs.
 */

import type { Command } from "commander";

const EXAMPLES = `
The log holds one JSON object a line: queued_ts, first_token_ts, last_token_ts (seconds of one
clock), input_toks, output_toks. The meta file says how the engine was set up (engine_kwargs, and
where known kv_cache, hardware, resolved_config); what it leaves out is assumed and listed.

Examples:
  $ ema validate --requests run.jsonl --meta run.json --profile tables/
  $ ema validate --requests run.jsonl --meta run.json --gpu rtx-4090 --kv-blocks 3200 --json`;

/** Options as commander hands them over: texts, unchecked. */
export interface RawValidateOptions {
  readonly requests: string;
  readonly meta: string;
  readonly profile?: string;
  readonly profileName?: string;
  readonly gpu?: string;
  readonly kvBlocks?: string;
  readonly json?: boolean;
}

/** Adds the command to the program. */
export function registerValidate(program: Command): void {
  program
    .command("validate")
    .summary("how true the simulator is to a real engine's log")
    .description("Replays a real vLLM run and shows twelve statistics of both, with their errors.")
    .requiredOption("--requests <file>", "request log of the real run, one JSON object a line")
    .requiredOption("--meta <file>", "how that run's engine was set up, JSON")
    .option("--profile <folder>", "kernel tables of the GPU and model (default: the catalogue's)")
    .option("--profile-name <name>", "which profile of the folder, like RTX4090_Llama-3.1-8B")
    .option("--gpu <name>", "the GPU, where the files do not say it")
    .option("--kv-blocks <count>", "KV blocks of the engine (default: as in meta, or computed)")
    .option("--json", "print one JSON object and nothing else")
    .addHelpText("after", EXAMPLES)
    .action(async (options: RawValidateOptions) => {
      const { runValidate } = await import("./validate-run.ts");
      runValidate(options);
    });
}
