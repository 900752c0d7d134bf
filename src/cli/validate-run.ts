/**
 * `ema validate` once its options are read: replays, and prints both sides.
 *
 * Loaded by validate-command.ts. The replay and the statistics are the validation layer's.
 *
 * Invariants: with --json stdout holds one object and nothing else; bad input is one line
 * (edge.ts).
 */

import { EmaError } from "../base/index.ts";
import { validate, type Validation, type ValidateInputs } from "../validation/index.ts";
import type { RawValidateOptions } from "./validate-command.ts";

const BLOCKS_MAX = 10_000_000;

/** @throws EmaError on options that contradict each other or are no numbers. */
export function runValidate(options: RawValidateOptions): void {
  const validation = validate(inputsOf(options));
  const text =
    options.json === true
      ? `${JSON.stringify(validation, null, 2)}\n`
      : validationText(validation);
  process.stdout.write(text);
}

function inputsOf(options: RawValidateOptions): ValidateInputs {
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
