/**
 * Runs a list of servers in several processes.
 *
 * Called by sweep.ts and by the test. Verdicts come back in the order of the seeds, whatever the
 * order in which processes finished.
 */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { failedVerdict, type ServerVerdict } from "./server-verdict.ts";

export interface SweepOptions {
  readonly seeds: readonly number[];
  readonly processes: number;
  /** `static` is held against itself instead (noise.ts). */
  readonly isNoise?: boolean;
  readonly onVerdict?: (verdict: ServerVerdict, doneCount: number) => void;
  /** A server that takes longer has failed: its process is ended and another goes on. */
  readonly serverMaxMs?: number;
}

/** Servers take about a second. */
const SERVER_MAX_MS = 300_000;

export async function runSweep(options: SweepOptions): Promise<ServerVerdict[]> {
  const { seeds, processes, isNoise = false, onVerdict, serverMaxMs = SERVER_MAX_MS } = options;
  const waiting = [...seeds];
  const verdicts = new Map<number, ServerVerdict>();
  const tell = (verdict: ServerVerdict): void => {
    verdicts.set(verdict.seed, verdict);
    onVerdict?.(verdict, verdicts.size);
  };
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      const nextSeed = (): number | null => waiting.shift() ?? null;
      const lateSeed = await runWorker(isNoise, nextSeed, tell, serverMaxMs);
      if (lateSeed === null) return;
      const error = `did not end within ${serverMaxMs / 1000} s`;
      tell(failedVerdict(lateSeed, error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(processes, seeds.length) }, work));
  return seeds.map((seed) => verdicts.get(seed)!);
}

/** @returns the server that took too long, or `null` when there was none left. */
function runWorker(
  isNoise: boolean,
  nextSeed: () => number | null,
  onVerdict: (verdict: ServerVerdict) => void,
  serverMaxMs: number,
): Promise<number | null> {
  const file = fileURLToPath(new URL("./sweep-worker.ts", import.meta.url));
  const worker = fork(file, isNoise ? ["--noise"] : [], {
    execArgv: ["--import", "tsx"],
    serialization: "advanced",
  });
  return new Promise((resolve, reject) => {
    let seed: number | null = null;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      worker.kill("SIGKILL");
    }, serverMaxMs);
    const hand = (): void => {
      seed = nextSeed();
      timer.refresh();
      worker.send(seed!);
    };
    worker.on("message", (verdict: ServerVerdict) => {
      onVerdict(verdict);
      hand();
    });
    worker.on("error", reject);
    worker.on("exit", (code) => {
      clearTimeout(timer);
      if (isLate) resolve(seed);
      else if (code === 0) resolve(null);
      else reject(new Error(`a process of the sweep ended with ${code}`));
    });
    hand();
  });
}
