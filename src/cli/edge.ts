/**
 * Where every failure of a command ends: one line on stderr and an exit code.
 *
 * Called once, by main.ts. Commands throw; nothing below this file prints a failure or ends the
 * process. It does not know any command.
 *
 * Invariants: stdout holds only what a command printed; a user never sees a stack trace unless
 * EMA_DEBUG is set; a reader that closes the pipe early (`| head`) is no failure.
 */

import { CommanderError } from "commander";
import { EmaError } from "../base/index.ts";

/** As the contract has them. Commands set `process.exitCode` to `systemFailed` themselves. */
export const EXIT = { ok: 0, bug: 1, badInput: 2, systemFailed: 3 } as const;

/** What is said and with which code the process ends; no lines: nothing is left to say. */
export interface Outcome {
  readonly lines: readonly string[];
  readonly exitCode: number;
}

/** Runs a command to its end. Never rejects. */
export async function runAtEdge(command: () => Promise<void>): Promise<void> {
  process.stdout.on("error", endQuietlyOnClosedPipe);
  process.stderr.on("error", endQuietlyOnClosedPipe);
  process.on("uncaughtException", (error) => {
    report(error);
    // The state after an uncaught exception is unknown: nothing else may run.
    process.exit();
  });
  try {
    await command();
  } catch (error) {
    report(error);
  }
}

/** What a failure means for the user. Pure: tests call it with every kind of error. */
export function outcomeOf(error: unknown, isDebug: boolean): Outcome {
  if (error instanceof CommanderError) return outcomeOfUsage(error);
  if (error instanceof EmaError) {
    const lines = [`ema: ${oneLine(error.message)}`];
    if (isDebug && error.stack !== undefined) lines.push(error.stack);
    return { lines, exitCode: EXIT.badInput };
  }
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const hint = isDebug ? "" : " (EMA_DEBUG=1 shows where; please report it with the command line)";
  const lines = [`ema: this is a bug in EMA: ${oneLine(text)}${hint}`];
  if (isDebug && error instanceof Error && error.stack !== undefined) lines.push(error.stack);
  return { lines, exitCode: EXIT.bug };
}

/** Help and version are answers, not failures; everything else commander throws is bad usage. */
function outcomeOfUsage(error: CommanderError): Outcome {
  if (error.code === "commander.helpDisplayed" || error.code === "commander.version") {
    return { lines: [], exitCode: EXIT.ok };
  }
  // Commander has printed the help already: because of `ema help`, or of `ema` alone.
  if (error.code === "commander.help") {
    return { lines: [], exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.badInput };
  }
  const text = oneLine(error.message)
    .replace(/^error: /, "")
    .replace(/ ?\(Did you mean (.+?)\?\)$/, "; did you mean $1?");
  return { lines: [`ema: ${text}`], exitCode: EXIT.badInput };
}

function report(error: unknown): void {
  const { lines, exitCode } = outcomeOf(error, isSet(process.env["EMA_DEBUG"]));
  for (const line of lines) process.stderr.write(`${line}\n`);
  process.exitCode = exitCode;
}

function endQuietlyOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  // What was asked for has been read; a failure reported before keeps its code.
  process.exit();
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0";
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").trim();
}
