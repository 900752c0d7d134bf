/**
 * A scenario from plain values in memory: what a scenario.yaml holds, without the file.
 *
 * Called by tools that make scenarios up. Keys, defaults and errors are those of a file
 * (docs/SCENARIOS.md); a place is named by its key alone. Files are looked for as they are named.
 */

import { Checker } from "./checker.ts";
import { resolveScenario } from "./resolve.ts";
import type { Scenario } from "./scenario.ts";

/** @throws EmaError with the key of the first thing that is wrong. */
export function plainScenario(values: unknown, name: string): Scenario {
  return resolveScenario({
    checker: new Checker(values, () => name),
    defaultName: name,
    traces: [],
    locate: (file) => file,
  });
}
