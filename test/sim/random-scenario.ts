/**
 * From a family and a seed, a small server with its workloads, settings and faults.
 *
 * Used by the whole-system simulations. GPUs and models are invented and tiny, so that thousands of
 * steps with every check take a second; ratios of link to memory, of memory to prompts and of
 * bursts to quiet times are drawn as widely as real ones vary. A family leans towards what it is to
 * provoke.
 */

import { Prng } from "../../src/base/index.ts";
import type { RoleTimes } from "../../src/engine/index.ts";
import type { Gpu, ModelShape, Path, Topology } from "../../src/hardware/index.ts";
import type { EngineSettings, PoolSettings, Scenario } from "../../src/scenario/index.ts";
import { ADMISSION_SETTINGS, type AdmissionSetting } from "../../src/sim/index.ts";
import type { RequestTable } from "../../src/workload/index.ts";
import { drawRequests, type Demand } from "./random-requests.ts";

export const FAMILIES = ["bursts", "links", "squeeze", "faults"] as const;
export type Family = (typeof FAMILIES)[number];

/** The worst moments for a recall, each while a borrower is in the middle of something. */
export const MOMENTS = [
  "any",
  "read in place",
  "copied into",
  "interrupted",
  "parked",
  "roomy elsewhere",
] as const;

export interface Fault {
  readonly kind: "remove" | "limit" | "cancel" | "recall" | "refill-then-demand" | "flap";
  /** Of recalls. */
  readonly moment: (typeof MOMENTS)[number];
  readonly timeNs: number;
  readonly engine: number;
  /** In [0, 1): what else the fault has to choose. */
  readonly draw: number;
}

export interface SeededRun {
  readonly family: Family;
  readonly seed: number;
}

export interface RandomRun extends SeededRun {
  readonly scenario: Scenario;
  readonly admission: AdmissionSetting;
  /** How fast engines change between lender and borrower: in seconds what takes minutes else. */
  readonly roleTimes: RoleTimes;
  /** In the order of their times. */
  readonly faults: readonly Fault[];
}

const SECOND = 1e9;
const BLOCK_TOKENS = 16;
/** Arrivals fall into so many seconds, faults into the middle of them. */
const SPAN_SECONDS = 10;

/** Draws with the words that scenarios need. */
export class Draw {
  readonly prng: Prng;

  constructor(seed: number, stream: number) {
    this.prng = new Prng(seed, stream);
  }

  chance(share: number): boolean {
    return this.prng.nextUnit() < share;
  }

  /** Both ends included. */
  integer(least: number, most: number): number {
    return least + this.prng.nextBelow(most - least + 1);
  }

  /** Uniform in the logarithm. */
  scale(least: number, most: number): number {
    return least * (most / least) ** this.prng.nextUnit();
  }

  pick<T>(from: readonly T[]): T {
    return from[this.prng.nextBelow(from.length)]!;
  }
}

export function randomRun(family: Family, seed: number): RandomRun {
  const draw = new Draw(seed, 1 + FAMILIES.indexOf(family));
  // Faults are more telling where a third can step in.
  const gpuCount = family === "faults" ? draw.integer(3, 4) : draw.integer(2, 4);
  const models = [randomModel(draw, "small"), randomModel(draw, "other")];
  const blockBytes = Math.max(...models.map((model) => model.kvBytesPerToken * BLOCK_TOKENS));
  const sliceBytes = blockBytes * draw.integer(2, 6);
  const modelOf = Array.from({ length: gpuCount }, () => draw.pick(models));
  const sliceCounts = modelOf.map(() => draw.integer(10, family === "squeeze" ? 25 : 40));
  const topology = randomTopology(draw, family, modelOf, sliceCounts, sliceBytes);
  const demands = randomDemands(draw, family, gpuCount);
  const allTokens = sliceCounts.reduce((sum, slices) => sum + slices, 0) * 6 * BLOCK_TOKENS;
  const engines = modelOf.map((model, index): EngineSettings => {
    const ownTokens =
      sliceCounts[index]! * Math.floor(sliceBytes / (model.kvBytesPerToken * 16)) * BLOCK_TOKENS;
    const memory = { ownTokens, allTokens, contextTokens: model.contextTokensMax };
    const demand = demands[index]!;
    const table: RequestTable = drawRequests(draw, demand, memory, SPAN_SECONDS * SECOND);
    return {
      name: `${demand}-${index}`,
      gpuIndex: index,
      model,
      tenant: `tenant-${index}`,
      blockTokens: BLOCK_TOKENS,
      maxBatchTokens: draw.pick([64, 128, 512]),
      maxSequences: draw.pick([4, 16, 64, 64]),
      isGenerated: true,
      requests: () => table,
      meanPromptTokens: 0,
      meanOutputTokens: 0,
    };
  });
  const pool = randomPool(draw, family, sliceBytes);
  const scenario: Scenario = {
    name: `${family}-${seed}`,
    topology,
    seed,
    slo: { ttftSeconds: 2, tpotSeconds: family === "links" ? draw.scale(0.004, 0.2) : 0.1 },
    pool,
    systems: [{ name: "ema", base: "ema", pool }],
    engines,
    notes: [],
  };
  const faults = family === "faults" ? randomFaults(draw, demands) : [];
  const roleTimes: RoleTimes = {
    lentQuietNs: draw.pick([0, 0, 0, 1]) * SECOND,
    shortageNs: draw.pick([0, 0, 0, 0.2]) * SECOND,
    keepEmptyNs: draw.pick([0.1, 1]) * SECOND,
  };
  return { family, seed, scenario, admission: draw.pick(ADMISSION_SETTINGS), roleTimes, faults };
}

/** Big in KV bytes a token, small in everything that computing costs. */
function randomModel(draw: Draw, name: string): ModelShape {
  const layers = draw.integer(4, 8);
  const [hidden, heads, headDim, ffn, vocab] = [512, 16, 128, 2048, 4096];
  const kvHeads = draw.pick([8, 16]);
  const matrices = hidden * headDim * (2 * heads + 2 * kvHeads) + 3 * hidden * ffn;
  const paramCount = 2 * vocab * hidden + layers * matrices;
  return {
    name,
    layers,
    hidden,
    heads,
    kvHeads,
    headDim,
    ffn,
    isFfnGated: true,
    vocab,
    isTied: false,
    contextTokensMax: 32_768,
    paramCount,
    weightBytes: 2 * paramCount,
    kvBytesPerToken: layers * 2 * kvHeads * headDim * 2,
  };
}

function randomTopology(
  draw: Draw,
  family: Family,
  models: readonly ModelShape[],
  sliceCounts: readonly number[],
  sliceBytes: number,
): Topology {
  const hbmBytesPerSecond = draw.scale(8e9, 150e9);
  const ratio = family === "links" ? draw.scale(0.005, 0.3) : draw.scale(0.05, 0.3);
  // Where computing is slow, what recalls make an engine compute again costs more than loans earn.
  const flopsPerSecond = family === "faults" ? draw.scale(0.1e12, 2e12) : draw.scale(0.3e12, 20e12);
  const wiring = draw.pick(["switch", "mesh", "pcie"] as const);
  const gpus = models.map((model, index): Gpu => {
    const kvBytes = (sliceCounts[index]! + 0.5) * sliceBytes;
    return {
      name: "tiny",
      label: "Tiny",
      formFactor: wiring === "pcie" ? "pcie" : "sxm",
      // What kvMemoryBytes takes off again: weights, reserve and a tenth.
      hbmBytes: (kvBytes + model.weightBytes + 2e9) / 0.9,
      hbmPeakBytesPerSecond: hbmBytesPerSecond * 1.2,
      hbmBytesPerSecond,
      flopsPerSecond,
      portBytesPerSecond: hbmBytesPerSecond * ratio,
      hostBytesPerSecond: hbmBytesPerSecond * ratio * 0.2,
    };
  });
  const missing = family === "links" ? 0.4 : draw.pick([0, 0, 0.15]);
  const width = wiring === "switch" ? 1 : wiring === "pcie" ? 0.7 : 1 / (gpus.length - 1);
  const paths: (Path | null)[] = [];
  for (let source = 0; source < gpus.length; source++) {
    for (let target = 0; target < gpus.length; target++) {
      const bytesPerSecond = gpus[source]!.portBytesPerSecond * width;
      const isThere = source !== target && !draw.chance(missing);
      paths.push(isThere ? { bytesPerSecond, latencySeconds: 7.5e-6 } : null);
    }
  }
  return { name: "tiny", wiring, gpus, paths };
}

function randomDemands(draw: Draw, family: Family, gpuCount: number): Demand[] {
  const others: readonly Demand[] =
    family === "squeeze"
      ? ["bursts", "bursts", "long", "saturated"]
      : ["bursts", "bursts", "idle", "flapping", "long", "saturated"];
  const demands = Array.from({ length: gpuCount }, () => draw.pick(others));
  const borrower = draw.integer(0, gpuCount - 1);
  demands[borrower] = draw.chance(family === "faults" ? 0.6 : 0.8) ? "saturated" : "long";
  demands[(borrower + 1) % gpuCount] = draw.pick(["bursts", "bursts", "idle", "flapping"]);
  return demands;
}

function randomPool(draw: Draw, family: Family, sliceBytes: number): PoolSettings {
  return {
    borrowLimit: draw.pick([
      { kind: "none" },
      { kind: "share", share: 1 },
      { kind: "share", share: draw.scale(0.1, 2) },
      { kind: "bytes", bytes: sliceBytes * draw.integer(0, 40) },
    ]),
    headroom: draw.pick([
      "auto",
      "auto",
      { kind: "none" },
      { kind: "share", share: draw.scale(0.02, 0.3) },
      { kind: "bytes", bytes: sliceBytes * draw.integer(1, 4) },
    ]),
    lenderShare:
      family === "links"
        ? draw.pick([0, 0.001, 0.005, 0.02])
        : draw.pick([null, 0.02, 0.02, family === "faults" ? 0.005 : 0]),
    sliceBytes,
    interference: draw.pick(["subtractive", "ceiling"]),
    accessMode: draw.pick(["staged", "direct", "mixed", "mixed"]),
    copyCostSeconds: 2.3e-6,
  };
}

function randomFaults(draw: Draw, demands: readonly Demand[]): Fault[] {
  const kinds: Fault["kind"][] = ["limit", "cancel", "refill-then-demand", "flap"];
  const faults: Fault[] = [];
  const engine = (): number => draw.integer(0, demands.length - 1);
  const timeNs = (): number => draw.scale(0.05, 0.8) * SPAN_SECONDS * SECOND;
  const add = (kind: Fault["kind"], atNs: number, on: number): void => {
    const moment = draw.pick(MOMENTS);
    faults.push({ kind, moment, timeNs: atNs, engine: on, draw: draw.prng.nextUnit() });
  };
  const count = draw.integer(10, 25);
  for (let index = 0; index < count; index++) {
    add(draw.chance(0.5) ? "recall" : draw.pick(kinds), timeNs(), engine());
  }
  // A lender that wants everything back again and again: what it lends earns nobody anything.
  if (draw.chance(0.5)) {
    const [lender, startNs] = [engine(), timeNs()];
    for (let index = 0; index < 40; index++) add("recall", startNs + index * 100e6, lender);
  }
  // Who needs others' memory and is forbidden it waits in vain.
  demands.forEach((demand, index) => {
    if (demand === "long" && draw.chance(0.5)) add("limit", 0, index);
  });
  // At most one process dies, so that somebody is left to lend and to borrow.
  if (draw.chance(0.7)) add("remove", timeNs(), engine());
  return faults.sort((a, b) => a.timeNs - b.timeNs);
}
