/**
 * `ema limits`: the closed form for one engine, as text or JSON.
 *
 * Registered by main.ts. It reads options and checks them; where the numbers come from is
 * limits-inputs.ts, how they look is limits-text.ts, what they mean is the limits layer.
 */

import { Option, type Command } from "commander";
import { EmaError, parseBytes, parsePercent } from "../base/index.ts";
import type { LimitMode } from "../limits/index.ts";
import type { MemoryLimit } from "../scenario/index.ts";
import { inputsOfServer, type Question } from "./limits-inputs.ts";
import { inputsOfScenario } from "./limits-scenario.ts";
import { limitsJson, limitsText } from "./limits-text.ts";

const MODES: readonly LimitMode[] = ["staged", "direct", "mixed"];

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
interface RawOptions {
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
    .action((scenario: string | undefined, options: RawOptions) => {
      const question = resolve(scenario, options);
      for (const note of question.notes) process.stderr.write(`note: ${note}\n`);
      const output =
        options.json === true
          ? `${JSON.stringify(limitsJson(question), null, 2)}\n`
          : limitsText(question, isColourWanted());
      process.stdout.write(output);
    });
}

/** @throws EmaError on options that miss, contradict each other or are no numbers. */
function resolve(scenario: string | undefined, options: RawOptions): Question {
  const choice = {
    mode: options.mode === undefined ? null : modeOf(options.mode),
    cap: options.cap === undefined ? null : capOf(options.cap),
    peers: options.peers === undefined ? null : wholeNumber("--peers", options.peers, 0),
  };
  if (scenario !== undefined) {
    for (const name of ["server", "model", "context"] as const) {
      if (options[name] === undefined) continue;
      throw argumentError(`--${name} does not go with a scenario, which says it itself`);
    }
    return inputsOfScenario(
      scenario,
      { set: options.set ?? [], traces: options.trace ?? [] },
      options.engine ?? null,
      choice,
    );
  }
  for (const name of ["engine", "trace"] as const) {
    if (options[name] !== undefined) throw argumentError(`--${name} needs a scenario file`);
  }
  const { server, model, context } = options;
  const missing = ["server", "model", "context"].filter(
    (name) => options[name as "server" | "model" | "context"] === undefined,
  );
  if (server === undefined || model === undefined || context === undefined) {
    const names = missing.map((name) => `--${name}`).join(", ");
    throw argumentError(`limits: ${names} missing: give them, or a scenario file`);
  }
  const names = { server, model, set: options.set ?? [] };
  return inputsOfServer(names, wholeNumber("--context", context, 1), choice);
}

function modeOf(text: string): LimitMode {
  const mode = MODES.find((name) => name === text);
  if (mode === undefined) throw argumentError(`--mode "${text}": expected ${MODES.join(", ")}`);
  return mode;
}

function capOf(text: string): MemoryLimit {
  if (text === "none") return { kind: "none" };
  const share = parsePercent(text);
  if (share !== null && Number.isFinite(share)) return { kind: "share", share };
  // A bare number could mean either; it is not guessed.
  const bytes = /[A-Za-z]/.test(text) ? parseBytes(text) : null;
  if (bytes !== null) return { kind: "bytes", bytes };
  throw argumentError(`--cap "${text}": expected a share like 100%, a size like 4GB, or none`);
}

/** Digits only: `1e3`, `3.5`, `NaN`, `-1` and the empty text are all refused. */
function wholeNumber(option: string, text: string, least: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value < least) {
    throw argumentError(`${option} "${text}": expected a whole number of at least ${least}`);
  }
  return value;
}

function append(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}

function argumentError(message: string): EmaError {
  return new EmaError("E_ARGUMENT", message);
}

function isColourWanted(): boolean {
  const { NO_COLOR } = process.env;
  return process.stdout.isTTY === true && (NO_COLOR === undefined || NO_COLOR === "");
}
