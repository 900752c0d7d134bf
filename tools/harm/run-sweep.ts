/**
 * Runs a list of servers in several processes.
 *
 * Called by sweep.ts and by the test. Verdicts come back in the order of the seeds, whatever the
 * order in which processes finished.
 */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ServerVerdict } from "./server-verdict.ts";

export interface SweepOptions {
  readonly seeds: readonly number[];
  readonly processes: number;
  readonly onVerdict?: (verdict: ServerVerdict, doneCount: number) => void;
}

export async function runSweep(options: SweepOptions): Promise<ServerVerdict[]> {
  const { seeds, processes, onVerdict } = options;
  const waiting = [...seeds];
  const verdicts = new Map<number, ServerVerdict>();
  const count = Math.min(processes, seeds.length);
  await Promise.all(
    Array.from({ length: count }, () =>
      runWorker(
        () => waiting.shift() ?? null,
        (verdict) => {
          verdicts.set(verdict.seed, verdict);
          onVerdict?.(verdict, verdicts.size);
        },
      ),
    ),
  );
  return seeds.map((seed) => verdicts.get(seed)!);
}

function runWorker(
  nextSeed: () => number | null,
  onVerdict: (verdict: ServerVerdict) => void,
): Promise<void> {
  const file = fileURLToPath(new URL("./sweep-worker.ts", import.meta.url));
  const worker = fork(file, { execArgv: ["--import", "tsx"], serialization: "advanced" });
  return new Promise((resolve, reject) => {
    worker.on("message", (verdict: ServerVerdict) => {
      onVerdict(verdict);
      worker.send(nextSeed()!);
    });
    worker.on("error", reject);
    worker.on("exit", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`a process of the sweep ended with ${code}`));
    });
    worker.send(nextSeed()!);
  });
}
