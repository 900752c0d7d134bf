/**
 * Asks once whether WASM kernels can compute in memory of the operating system here.
 *
 * Called by the composition before it maps anything. The question is put to a process of its own
 * (mapping-self-test.ts), which a wrong answer may end.
 */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nodeOptionsFor, siblingModule } from "./module-thread.ts";

/** A machine that needs longer gets plain kernels. */
const TIMEOUT_MS = 20_000;

/**
 * Kept because it is a fact of this Node on this machine, the same for every server in the process:
 * not state of any of them.
 */
let answer: Promise<boolean> | null = null;

export function canMapUnderWasm(): Promise<boolean> {
  answer ??= ask();
  return answer;
}

function ask(): Promise<boolean> {
  const module = siblingModule("mapping-self-test", import.meta.url);
  const args = [...nodeOptionsFor(module), fileURLToPath(module)];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: TIMEOUT_MS }, (error) => resolve(error === null));
  });
}
