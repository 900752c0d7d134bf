/**
 * Reads a scenario.yaml.
 *
 * Called by the command line. Files that a scenario names are looked for beside it, then in the
 * working directory, so that a scenario can be run from anywhere and can be moved with its traces.
 */

import { existsSync } from "node:fs";
import { basename, dirname, extname, isAbsolute, join } from "node:path";
import { Checker } from "./checker.ts";
import { applyOverrides } from "./overrides.ts";
import { resolveScenario } from "./resolve.ts";
import { readScenarioText } from "./scenario-text.ts";
import type { Scenario } from "./scenario.ts";

export interface ScenarioOptions {
  /** Texts of `--set`: `engines.chat.workload.rate=3`. */
  readonly set: readonly string[];
  /** Files of `--trace`, in order; relative to the working directory. */
  readonly traces: readonly string[];
}

/** @throws EmaError with file, line, key and what was expected. */
export function readScenario(path: string, options: ScenarioOptions): Scenario {
  const text = readScenarioText(path, "E_SCENARIO");
  const { value, originOf } = applyOverrides(text.value, options.set);
  const folder = dirname(path);
  return resolveScenario({
    checker: new Checker(value, (at) => originOf(at) ?? text.where(at)),
    defaultName: basename(path, extname(path)),
    traces: options.traces,
    locate: (file) => {
      const beside = isAbsolute(file) ? file : join(folder, file);
      return existsSync(beside) || !existsSync(file) ? beside : file;
    },
  });
}
