/**
 * A scenario from options alone: `ema compare --server S --model M --trace F ...`.
 *
 * Called by the command line. One engine a GPU, all of one model, each its own tenant; the n-th
 * trace drives GPU n, and GPUs without a trace idle and lend.
 */

import { EmaError } from "../base/index.ts";
import { Checker } from "./checker.ts";
import { applyOverrides } from "./overrides.ts";
import { resolveScenario } from "./resolve.ts";
import type { ScenarioOptions } from "./scenario-file.ts";
import type { KeyPath } from "./scenario-text.ts";
import type { Scenario } from "./scenario.ts";
import { resolveServer } from "./server-part.ts";

export interface QuickOptions extends ScenarioOptions {
  /** A short name or the path of a server.yaml. */
  readonly server: string;
  /** A name or the path of a config.json. */
  readonly model: string;
  readonly seed?: number | undefined;
}

/** Engines are named gpu0, gpu1, ... @throws EmaError that names the option. */
export function quickScenario(options: QuickOptions): Scenario {
  const locate = (file: string): string => file;
  const { server, model, traces, seed } = options;
  const probe = new Checker({ server }, where);
  const gpuCount = resolveServer(probe, locate, undefined).gpus.length;
  if (traces.length > gpuCount) {
    const count = `${gpuCount} GPUs and ${traces.length} traces`;
    throw new EmaError("E_ARGUMENT", `--trace: ${server} has ${count}; expected one a GPU at most`);
  }
  const engines = Array.from({ length: gpuCount }, (_, index) => ({
    name: `gpu${index}`,
    gpus: [index],
    model,
    ...(index < traces.length ? { workload: { trace: `@${index + 1}` } } : {}),
  }));
  const written = { server, engines, ...(seed === undefined ? {} : { seed }) };
  const { value, originOf } = applyOverrides(written, options.set);
  return resolveScenario({
    checker: new Checker(value, (path) => originOf(path) ?? where(path)),
    defaultName: `${server} ${model}`,
    traces,
    locate,
  });
}

/** The option that a value came from. */
function where(path: KeyPath): string {
  if (path[0] === "server") return "--server";
  if (path[0] === "seed") return "--seed";
  if (path[0] !== "engines") return "options";
  return path[2] === "workload" ? "--trace" : "--model";
}
