/**
 * Runs the built program as a process of its own and says what that took.
 *
 * Used by compare.bench.ts. The child itself reports its peak memory and CPU time when it exits,
 * over a pipe beside stdout and stderr: no tool of the system is needed.
 */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** Imported by the child before the program: writes its resource usage to the fourth pipe. */
const REPORTER =
  'import{writeSync}from"node:fs";' +
  'process.on("exit",()=>writeSync(3,JSON.stringify(process.resourceUsage())))';

export interface ProcessCost {
  readonly wallSeconds: number;
  /** User and system time of all its threads. */
  readonly cpuSeconds: number;
  /** Peak resident memory, MB of 1e6 bytes. */
  readonly peakMegabytes: number;
}

/** @throws Error with the program's own message when it does not end with exit code 0. */
export async function measureProcess(args: readonly string[]): Promise<ProcessCost> {
  const startMs = performance.now();
  const reporter = `--import=data:text/javascript,${encodeURIComponent(REPORTER)}`;
  const child = spawn(process.execPath, [reporter, MAIN, ...args], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  let said = "";
  let usageText = "";
  child.stderr!.on("data", (text: Buffer) => (said += text.toString()));
  child.stdio[3]!.on("data", (text: Buffer) => (usageText += text.toString()));
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (exitCode !== 0) throw new Error(`ema ${args.join(" ")}: exit code ${exitCode}: ${said}`);
  const wallSeconds = (performance.now() - startMs) / 1e3;
  const usage = JSON.parse(usageText) as NodeJS.ResourceUsage;
  return {
    wallSeconds,
    cpuSeconds: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    peakMegabytes: (usage.maxRSS * 1024) / 1e6,
  };
}

/** The run of least CPU time: what is measured is the program, not its neighbours. */
export async function measureBest(args: readonly string[], times: number): Promise<ProcessCost> {
  const costs: ProcessCost[] = [];
  for (let index = 0; index < times; index++) costs.push(await measureProcess(args));
  return costs.reduce((best, cost) => (cost.cpuSeconds < best.cpuSeconds ? cost : best));
}
