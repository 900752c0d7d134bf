/**
 * How tools and benchmarks take their words: usage on --help, one clear line for what they cannot
 * use, no stack trace for either.
 *
 * Called at the end of each of them. What goes wrong inside is a bug and shows as one.
 */

import { EmaError } from "../src/base/index.ts";
import { ADMISSION_SETTINGS, type AdmissionSetting } from "../src/sim/index.ts";

/** As of `ema`: bad input. */
const EXIT_BAD_INPUT = 2;

/**
 * Runs the tool with the words behind its name.
 *
 * @param usage shown for --help; its first line also where the words were of no use
 * @param main throws what `parseArgs` throws, or an EmaError, for what it cannot use
 */
export async function runTool(
  usage: string,
  main: (words: string[]) => void | Promise<void>,
): Promise<void> {
  const words = process.argv.slice(2);
  if (words.includes("--help") || words.includes("-h")) {
    console.log(usage);
    return;
  }
  try {
    await main(words);
  } catch (error) {
    const line = badInput(error);
    if (line === null) throw error;
    console.error(`${line}\nusage: ${usage.split("\n")[0]}`);
    process.exitCode = EXIT_BAD_INPUT;
  }
}

/** @throws EmaError unless `text` is a whole number from 1 */
export function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  const expected = `expected a whole number from 1, got ${JSON.stringify(text)}`;
  throw new EmaError("E_ARGUMENT", `${name}: ${expected}`);
}

/**
 * @returns the admission settings of that name, or all of them where none is given
 * @throws EmaError where there is none of that name
 */
export function admissionSettings(name: string | undefined): readonly AdmissionSetting[] {
  if (name === undefined) return ADMISSION_SETTINGS;
  const found = ADMISSION_SETTINGS.filter((setting) => setting.name === name);
  if (found.length > 0) return found;
  const names = ADMISSION_SETTINGS.map((setting) => setting.name).join(", ");
  throw new EmaError("E_ARGUMENT", `--setting: expected one of ${names}, got ${name}`);
}

/** @returns what is wrong with the words, in one line; null for a bug. */
function badInput(error: unknown): string | null {
  if (error instanceof EmaError) return error.message;
  const code = (error as { code?: unknown }).code;
  const isWord = typeof code === "string" && code.startsWith("ERR_PARSE_ARGS_");
  // Node goes on about words that begin with a dash; what was wrong comes first.
  return isWord ? (error as Error).message.split(". ")[0]! : null;
}
