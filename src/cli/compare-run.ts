/**
 * `ema compare` once its options are read: seeds, runs, and what is printed or written.
 *
 * Loaded by compare-command.ts. A composition root: it joins the scenario reader, the simulator and
 * the report, and is the one place that knows stdout, stderr, the clock and the environment for
 * them.
 *
 * With `--capacity` the highest rate that one engine serves within the SLO is searched instead.
 *
 * Invariants: with --json stdout holds one object and nothing else; notes and progress go to
 * stderr; a system that cannot run the scenario ends with exit code 3, bad input with 2 (edge.ts).
 */

import { accessSync, constants, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { EmaError } from "../base/index.ts";
import {
  capacities,
  capacityText,
  compare,
  createPaint,
  htmlReport,
  ProgressLine,
  textReport,
  type CompareProgress,
  type CompareResult,
  type Simulator,
} from "../report/index.ts";
import { quickScenario, readScenario, systemsByName, type Scenario } from "../scenario/index.ts";
import { ADMISSION_SETTINGS, simulate } from "../sim/index.ts";
import type { ScenarioSource } from "./compare-capacity.ts";
import type { RawCompareOptions } from "./compare-command.ts";
import { EXIT } from "./edge.ts";

/**
 * Seeds by default: enough for an interval where they change anything, one where they do not, and
 * one for each of the many runs of a search.
 */
const GENERATED_REPEAT = 3;
const SINGLE_REPEAT = 1;
const REPEAT_MAX = 1000;
/** Of a pipe or file, which has no width: the whole table in one piece. */
const PLAIN_COLUMNS = 120;

const SIMULATOR: Simulator = { admissionSettings: ADMISSION_SETTINGS, simulate };

/**
 * @param simulator another one is for tests.
 * @throws EmaError on bad input.
 */
export async function runCompare(
  path: string | undefined,
  options: RawCompareOptions,
  simulator: Simulator = SIMULATOR,
): Promise<void> {
  const source = sourceOf(path, options);
  const read = source.read([]);
  const systems = options.systems?.split(",");
  const scenario =
    systems === undefined ? read : { ...read, systems: systemsByName(read, systems) };
  const seeds = seedsOf(scenario, options);
  if (options.capacity === true) {
    if (options.report !== undefined) throw argumentError("--report does not go with --capacity");
    await runCapacity(scenario, source, seeds, options, simulator);
    return;
  }
  if (options.engine !== undefined) throw argumentError("--engine goes with --capacity only");
  // Asked before the first run: nobody wants to hear of it after an hour.
  if (options.report !== undefined) checkReportPath(options.report);
  for (const note of scenario.notes) process.stderr.write(`note: ${note}\n`);
  const result = withProgress((onProgress) => compare(scenario, { simulator, seeds, onProgress }));
  if (result === null) return;
  if (options.report !== undefined) writeReport(options.report, result);
  const text =
    options.json === true
      ? `${JSON.stringify(result.json, null, 2)}\n`
      : textReport(result, process.stdout.columns ?? PLAIN_COLUMNS, createPaint(isColored()));
  process.stdout.write(text);
}

async function runCapacity(
  scenario: Scenario,
  source: ScenarioSource,
  seeds: readonly number[],
  options: RawCompareOptions,
  simulator: Simulator,
): Promise<void> {
  // Brings the closed form with it, which no other comparison asks.
  const { scaledEngine } = await import("./compare-capacity.ts");
  const engine = scaledEngine(scenario, source, options.engine ?? null);
  for (const note of scenario.notes) process.stderr.write(`note: ${note}\n`);
  const json = withProgress((onProgress) =>
    capacities(scenario, engine, { simulator, seeds, onProgress }),
  );
  if (json === null) return;
  const text =
    options.json === true
      ? `${JSON.stringify(json, null, 2)}\n`
      : capacityText(json, createPaint(isColored()));
  process.stdout.write(text);
}

/**
 * @returns `null` when a system could not run the scenario: that has been said, and the code set.
 */
function withProgress<T>(work: (onProgress: (state: CompareProgress) => void) => T): T | null {
  const progress = new ProgressLine({
    isTerminal: process.stderr.isTTY === true,
    widthColumns: process.stderr.columns ?? PLAIN_COLUMNS,
    nowMs: () => performance.now(),
    write: (text) => process.stderr.write(text),
  });
  try {
    return work((state) => progress.update(state));
  } catch (error) {
    // The same code from a reader means an unknown name: only here it is a run that failed.
    if (!(error instanceof EmaError) || error.code !== "E_SYSTEM") throw error;
    progress.finish();
    process.stderr.write(`ema: ${error.message}\n`);
    process.exitCode = EXIT.systemFailed;
    return null;
  } finally {
    progress.finish();
  }
}

/** @throws EmaError on options that miss or contradict each other. */
function sourceOf(path: string | undefined, options: RawCompareOptions): ScenarioSource {
  const { server, model, set = [], trace: traces = [] } = options;
  if (path !== undefined) {
    for (const name of ["server", "model"] as const) {
      if (options[name] === undefined) continue;
      throw argumentError(`--${name} does not go with a scenario, which says it itself`);
    }
    const read = (sets: readonly string[]): Scenario =>
      readScenario(path, { set: [...set, ...sets], traces });
    return { path, set, traces, read };
  }
  if (server === undefined || model === undefined) {
    const missing = (["server", "model"] as const).filter((name) => options[name] === undefined);
    const names = missing.map((name) => `--${name}`).join(" and ");
    throw argumentError(`compare: ${names} missing; expected a scenario file, or both`);
  }
  const read = (sets: readonly string[]): Scenario =>
    quickScenario({ server, model, set: [...set, ...sets], traces });
  return { path: null, set, traces, read };
}

/** Consecutive seeds from the first. */
function seedsOf(scenario: Scenario, options: RawCompareOptions): number[] {
  const first =
    options.seed === undefined
      ? scenario.seed
      : wholeNumber("--seed", options.seed, 0, Number.MAX_SAFE_INTEGER - REPEAT_MAX);
  const isGenerated = scenario.engines.some((engine) => engine.isGenerated);
  const count =
    options.repeat === undefined
      ? isGenerated && options.capacity !== true
        ? GENERATED_REPEAT
        : SINGLE_REPEAT
      : wholeNumber("--repeat", options.repeat, 1, REPEAT_MAX);
  return Array.from({ length: count }, (_, index) => first + index);
}

function checkReportPath(path: string): void {
  let isFolder: boolean;
  try {
    accessSync(dirname(path), constants.W_OK);
    isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch (cause) {
    throw unwritable(path, cause);
  }
  if (isFolder) throw unwritable(path, new Error("it is a folder; expected a file"));
}

function writeReport(path: string, result: CompareResult): void {
  const text = htmlReport(result);
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw unwritable(path, cause);
  }
  process.stderr.write(`note: wrote ${path}\n`);
}

function unwritable(path: string, cause: unknown): EmaError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new EmaError("E_FILE", `--report ${path}: cannot be written (${reason})`, { cause });
}

/** Digits only: `1e3`, `3.5`, `NaN`, `-1` and the empty text are all refused. */
function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (!(value >= least && value <= most)) {
    throw argumentError(
      `${option} ${JSON.stringify(text)}: expected a whole number from ${least} to ${most}`,
    );
  }
  return value;
}

function argumentError(message: string): EmaError {
  return new EmaError("E_ARGUMENT", message);
}

/** A terminal that shows colours, and a user who did not ask for none (no-color.org). */
function isColored(): boolean {
  const { NO_COLOR, TERM } = process.env;
  const isUnwanted = (NO_COLOR !== undefined && NO_COLOR !== "") || TERM === "dumb";
  return process.stdout.isTTY === true && !isUnwanted;
}
