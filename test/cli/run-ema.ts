/** Runs the program as a user does: a process of its own, its output as text. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface EmaRun {
  readonly stdout: string;
  readonly stderr: string;
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
}

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/**
 * @param environment on top of the present one, from which colours and debugging are removed.
 * @param main another program, for tests of the edge.
 */
export function runEma(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  main: string = MAIN,
): Promise<EmaRun> {
  const { NO_COLOR: _, FORCE_COLOR: __, EMA_DEBUG: ___, ...rest } = process.env;
  const child = spawn(process.execPath, ["--import", "tsx", main, ...args], {
    env: { ...rest, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ stdout, stderr, exitCode }));
  });
}
