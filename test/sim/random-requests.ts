/**
 * Workloads of small simulations, by what they do to memory.
 *
 * Used by random-scenario.ts. Amounts are in proportion to the engine's own memory, so that every
 * server is as short of memory as its workload says.
 */

import { EMPTY_TABLE, tableFromColumns, type RequestTable } from "../../src/workload/index.ts";
import type { Draw } from "./random-scenario.ts";

export type Demand = "saturated" | "bursts" | "idle" | "flapping" | "long";

export interface MemoryTokens {
  readonly ownTokens: number;
  /** More than all engines have together. */
  readonly allTokens: number;
  readonly contextTokens: number;
}

interface Rows {
  readonly arrivalNs: number[];
  readonly prompt: number[];
  readonly output: number[];
}

const REQUESTS_MAX = 90;

export function drawRequests(
  draw: Draw,
  demand: Demand,
  memory: MemoryTokens,
  spanNs: number,
): RequestTable {
  if (demand === "idle") return EMPTY_TABLE;
  const rows: Rows = { arrivalNs: [], prompt: [], output: [] };
  switch (demand) {
    case "saturated":
      return saturate(draw, memory, spanNs, rows);
    case "bursts":
      return burst(draw, memory, spanNs, rows);
    case "flapping":
      return flap(draw, spanNs, rows);
    case "long":
      return mixLong(draw, memory, spanNs, rows);
  }
}

/** Prompts of such a share of the own memory that some six to forty fit together. */
function promptTokens(draw: Draw, memory: MemoryTokens): number {
  return Math.max(4, Math.round(memory.ownTokens / draw.scale(6, 40)));
}

function add(rows: Rows, timeNs: number, prompt: number, output: number): void {
  rows.arrivalNs.push(Math.round(timeNs));
  rows.prompt.push(prompt);
  rows.output.push(output);
}

function table(rows: Rows): RequestTable {
  return tableFromColumns(rows.arrivalNs, rows.prompt, rows.output);
}

/** More than fits, most of it from the start. */
function saturate(draw: Draw, memory: MemoryTokens, spanNs: number, rows: Rows): RequestTable {
  const count = draw.integer(40, REQUESTS_MAX);
  const rampNs = spanNs * draw.scale(0.05, 0.7);
  for (let index = 0; index < count; index++) {
    const timeNs = draw.prng.nextUnit() * rampNs;
    add(rows, timeNs, promptTokens(draw, memory), draw.integer(10, 200));
  }
  return table(rows);
}

/** Quiet, then for a second or two as much as the own memory holds or more. */
function burst(draw: Draw, memory: MemoryTokens, spanNs: number, rows: Rows): RequestTable {
  const periodNs = spanNs / draw.integer(2, 4);
  const phaseNs = periodNs * draw.prng.nextUnit();
  const onNs = periodNs * draw.scale(0.05, 0.3);
  const perBurst = draw.integer(8, 32);
  for (let startNs = phaseNs; startNs < spanNs; startNs += periodNs) {
    for (let index = 0; index < perBurst; index++) {
      const timeNs = startNs + draw.prng.nextUnit() * onNs;
      add(rows, timeNs, promptTokens(draw, memory), draw.integer(1, 100));
    }
  }
  return table(rows);
}

/** Begins and ceases to run all the time, with next to no memory. */
function flap(draw: Draw, spanNs: number, rows: Rows): RequestTable {
  const count = draw.integer(20, REQUESTS_MAX);
  for (let index = 0; index < count; index++) {
    const timeNs = spanNs * (0.1 + (0.8 * (index + draw.prng.nextUnit())) / count);
    add(rows, timeNs, draw.integer(1, 40), draw.integer(1, 6));
  }
  return table(rows);
}

/** Small ones, and some that need borrowed memory, all memory, or more than there can be. */
function mixLong(draw: Draw, memory: MemoryTokens, spanNs: number, rows: Rows): RequestTable {
  const count = draw.integer(10, 30);
  for (let index = 0; index < count; index++) {
    const timeNs = spanNs * draw.prng.nextUnit() * 0.6;
    add(rows, timeNs, promptTokens(draw, memory), draw.integer(1, 40));
  }
  const long = draw.integer(1, 3);
  for (let index = 0; index < long; index++) {
    const timeNs = spanNs * (0.1 + 0.5 * draw.prng.nextUnit());
    const tokens = draw.pick([
      memory.ownTokens * 0.8,
      memory.ownTokens * 1.3,
      memory.ownTokens * 1.3,
      memory.allTokens + 16,
      memory.contextTokens,
    ]);
    add(rows, timeNs, Math.floor(tokens), draw.integer(1, 40));
  }
  return table(rows);
}
