/**
 * Scenario files in a folder of their own, and the one line that a bad one gives.
 *
 * Imported by the scenario tests. Messages come back without the folder, so that tests can say
 * whole lines.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import { readScenario, type Scenario, type ScenarioOptions } from "../../src/scenario/index.ts";

export const folder = mkdtempSync(join(tmpdir(), "ema-scenario-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

export function write(name: string, text: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

export function read(text: string, options: Partial<ScenarioOptions> = {}): Scenario {
  return readScenario(write("s.yaml", text), { set: [], traces: [], ...options });
}

/** @returns `CODE message` of the EmaError that `run` throws. */
export function failureOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(EmaError);
    const { code, message } = error as EmaError;
    expect(message).not.toMatch(/\n|NaN,|undefined|\[object/);
    return `${code} ${message.replaceAll(`${folder}/`, "")}`;
  }
  throw new Error("nothing was wrong");
}

/** Three requests a second for four seconds, prompts 1 to 12. */
export const TRACE = [
  "arrival,prompt_tokens,output_tokens",
  ...Array.from({ length: 12 }, (_, row) => `${Math.floor(row / 3) + (row % 3) / 4},${row + 1},7`),
].join("\n");

/** The example of the scenario format. */
export const EXAMPLE = `server: 4xa100-40g
seed: 1
slo: { ttftSeconds: 2, tpotSeconds: 0.1 }
systems: [static, double, ema, { name: ema-uncapped, base: ema, pool: { borrowLimit: none } }]
pool: { borrowLimit: 100%, headroom: auto, lenderShare: 2%, sliceBytes: 64MiB }
engines:
  - name: chat
    gpus: [0]
    model: OPT-13B
    tenant: a
    workload:
      arrivals: poisson
      rate: 6
      seconds: 300
      lengths: { prompt: 161, output: 338 }
  - name: code
    gpus: [1]
    model: OPT-13B
    tenant: b
    workload:
      arrivals: on-off
      rate: 4
      onSeconds: 60
      offSeconds: 240
      offsetSeconds: 100
      seconds: 900
      lengths: alpaca
  - name: replay
    gpus: [2]
    model: OPT-13B
    tenant: c
    workload: { trace: "@1", share: 1/8, rateScale: 0.5, offsetSeconds: 60 }
`;
