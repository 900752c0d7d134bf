/**
 * `ema validate`: the request log of a real engine against the same work simulated.
 *
 * Registered by main.ts. It reads options and prints; the replay and the statistics are the
 * validation layer's.
 *
 * Invariants: with --json stdout holds one object and nothing else; bad input is one line
 * (edge.ts).
 */

import type { Command } from "commander";
import { EmaError } from "../base/index.ts";
import { validate, type Validation, type ValidateInputs } from "../validation/index.ts";

const BLOCKS_MAX = 10_000_000;

const EXAMPLES = `
The log holds one JSON object a line: queued_ts, first_token_ts, last_token_ts (seconds of one
clock), input_toks, output_toks. The meta file says how the engine was set up (engine_kwargs, and
where known kv_cache, hardware, resolved_config); what it leaves out is assumed and listed.

Examples:
  $ ema validate --requests run.jsonl --meta run.json --profile tables/
  $ ema validate --requests run.jsonl --meta run.json --gpu rtx-4090 --kv-blocks 3200 --json`;

/** Options as commander hands them over: texts, unchecked. */
interface RawOptions {
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
    .action((options: RawOptions) => {
      const validation = validate(inputsOf(options));
      const text =
        options.json === true
          ? `${JSON.stringify(validation, null, 2)}\n`
          : validationText(validation);
      process.stdout.write(text);
    });
}

/** @throws EmaError on options that contradict each other or are no numbers. */
function inputsOf(options: RawOptions): ValidateInputs {
  if (options.profileName !== undefined && options.profile === undefined) {
    throw new EmaError("E_ARGUMENT", "--profile-name goes with --profile");
  }
  return {
    requestsPath: options.requests,
    metaPath: options.meta,
    profileFolder: options.profile ?? null,
    profileName: options.profileName ?? null,
    gpu: options.gpu ?? null,
    blockCount: options.kvBlocks === undefined ? null : blocksOf(options.kvBlocks),
  };
}

function blocksOf(text: string): number {
  const blocks = /^\d{1,8}$/.test(text) ? Number(text) : NaN;
  if (blocks >= 2 && blocks <= BLOCKS_MAX) return blocks;
  const expected = `expected a whole number from 2 to ${BLOCKS_MAX}`;
  throw new EmaError("E_ARGUMENT", `--kv-blocks ${JSON.stringify(text)}: ${expected}`);
}

function validationText(validation: Validation): string {
  const lines = [`${validation.requests} requests`, "", row("", "real", "simulated", "error")];
  for (const [name, { real, simulated, errorPercent }] of Object.entries(validation.statistics)) {
    const error = errorPercent === null ? "-" : `${signed(errorPercent)} %`;
    lines.push(row(name, seconds(real), seconds(simulated), error));
  }
  lines.push("", "assumed, because the files do not say it:");
  for (const [key, value] of Object.entries(validation.assumed)) lines.push(`  ${key}: ${value}`);
  return `${lines.join("\n")}\n`;
}

function row(name: string, real: string, simulated: string, error: string): string {
  return `${name.padEnd(12)}${real.padStart(12)}${simulated.padStart(12)}${error.padStart(12)}`;
}

function seconds(value: number | null): string {
  if (value === null) return "-";
  return value < 1 ? `${(value * 1000).toFixed(1)} ms` : `${value.toFixed(3)} s`;
}

function signed(value: number): string {
  return `${value < 0 ? "" : "+"}${value.toFixed(1)}`;
}
