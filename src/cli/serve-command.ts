/**
 * `ema serve`: engines over emulated devices behind an OpenAI-compatible server.
 *
 * Registered by main.ts. Options alone: what serves is loaded when the command runs, so that the
 * other commands start without it.
 */

import type { Command } from "commander";
import { DEVICES_DEFAULT } from "./serve-devices.ts";

const EXAMPLES = `
The engines of all devices serve the same model over one pool of memory: one that runs out of KV
cache borrows from the others. A request for the model's name goes to the engine with the least to
do; MODEL@gpu2 addresses one engine. What is answered, and every limit: docs/SERVING.md.

Examples:
  $ ema serve
      the model that comes with the project, on four emulated devices, at http://127.0.0.1:8000
  $ ema serve --devices emulated:2x32MiB --model stories15M.gguf --port 9000
  $ EMA_API_KEY=secret ema serve --host 0.0.0.0
      other machines may ask, with the key

The first Ctrl-C (or SIGTERM) lets running requests finish, the second ends at once.`;

/** Options as commander hands them over: texts, unchecked. */
export interface RawServeOptions {
  readonly devices: string;
  readonly model?: string;
  readonly name?: string;
  readonly static?: boolean;
  readonly host: string;
  readonly port: string;
  readonly apiKey?: string;
  readonly maxRequests: string;
  readonly maxWaiting: string;
  readonly maxBody: string;
  readonly grace: string;
  readonly logLevel: string;
}

/** Adds the command to the program. */
export function registerServe(program: Command): void {
  program
    .command("serve")
    .summary("serve a model over HTTP, as OpenAI's API does")
    .description("Serves a model from emulated devices over an OpenAI-compatible HTTP API.")
    .option("--devices <spec>", "devices, like emulated:4x64MiB, one engine each", DEVICES_DEFAULT)
    .option("--model <path>", "a GGUF file, a Hugging Face folder or a llama2.c file")
    .option("--name <name>", "what clients call the model (default: what it calls itself)")
    .option("--static", "engines keep to their own memory: no lending, for comparison")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes a free one", "8000")
    .option("--api-key <key>", "what clients must send; better set EMA_API_KEY")
    .option("--max-requests <count>", "requests answered at a time; 429 beyond", "256")
    .option("--max-waiting <count>", "requests that wait in one engine; 429 beyond", "256")
    .option("--max-body <size>", "largest body of a request; 413 beyond", "2MiB")
    .option("--grace <seconds>", "how long running requests may finish at the end", "30")
    .option("--log-level <level>", "silent, error, warn, info or debug, to stderr", "warn")
    .addHelpText("after", EXAMPLES)
    .action(async (options: RawServeOptions) => {
      const { runServe } = await import("./serve-run.ts");
      await runServe(options);
    });
}
