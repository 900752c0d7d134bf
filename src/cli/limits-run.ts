/**
 * `ema limits` once its options are read: checks them, asks, and prints.
 *
 * Loaded by limits-command.ts. Where the numbers come from is limits-inputs.ts, how they look is
 * limits-text.ts, what they mean is the limits layer.
 */

import { EmaError, parseBytes, parsePercent } from "../base/index.ts";
import type { LimitMode } from "../limits/index.ts";
import type { MemoryLimit } from "../scenario/index.ts";
import type { RawLimitsOptions } from "./limits-command.ts";
import { inputsOfServer, type Question } from "./limits-inputs.ts";
import { inputsOfScenario } from "./limits-scenario.ts";
import { limitsJson, limitsText } from "./limits-text.ts";

const MODES: readonly LimitMode[] = ["staged", "direct", "mixed"];

/** @throws EmaError on options that miss, contradict each other or are no numbers. */
export function runLimits(scenario: string | undefined, options: RawLimitsOptions): void {
  const question = resolve(scenario, options);
  for (const note of question.notes) process.stderr.write(`note: ${note}\n`);
  const output =
    options.json === true
      ? `${JSON.stringify(limitsJson(question), null, 2)}\n`
      : limitsText(question, isColourWanted());
  process.stdout.write(output);
}

function resolve(scenario: string | undefined, options: RawLimitsOptions): Question {
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

function argumentError(message: string): EmaError {
  return new EmaError("E_ARGUMENT", message);
}

function isColourWanted(): boolean {
  const { NO_COLOR } = process.env;
  return process.stdout.isTTY === true && (NO_COLOR === undefined || NO_COLOR === "");
}
