/**
 * The same two hundred prompts on one engine, and what happens to its KV meanwhile.
 *
 * Used by the proof that tokens do not depend on where KV lies. A situation is a scenario in
 * virtual time with faults at chosen moments; prompts, sampling and model are the same in all.
 */

import { Prng } from "../../src/base/index.ts";
import { ROLE_TIMES } from "../../src/engine/index.ts";
import type { Gpu, ModelShape, Path, Topology } from "../../src/hardware/index.ts";
import type {
  EngineSettings,
  PoolSettings,
  Scenario,
  SystemSettings,
} from "../../src/scenario/index.ts";
import { ADMISSION_SETTINGS } from "../../src/sim/index.ts";
import type { GenerationRequest } from "../../src/serving/index.ts";
import { EMPTY_TABLE, tableFromColumns, type RequestTable } from "../../src/workload/index.ts";
import type { Fault, RandomRun } from "../sim/random-scenario.ts";
import { tinyConfig } from "./tiny-model.ts";

export const PROMPTS = 200;
const LAYERS = 3;
const BLOCK_TOKENS = 16;
const SLICE_BLOCKS = 4;
const SECOND = 1e9;

/** Big in KV bytes, small in everything that computing costs: what is emulated is tinier still. */
const SHAPE: ModelShape = {
  name: "small",
  layers: LAYERS,
  hidden: 512,
  heads: 16,
  kvHeads: 16,
  headDim: 128,
  ffn: 2048,
  isFfnGated: true,
  vocab: 4096,
  isTied: false,
  contextTokensMax: 2048,
  paramCount: 20e6,
  weightBytes: 40e6,
  kvBytesPerToken: LAYERS * 2 * 16 * 128 * 2,
};
const SLICE_BYTES = SHAPE.kvBytesPerToken * BLOCK_TOKENS * SLICE_BLOCKS;

export interface Situation {
  readonly isElastic: boolean;
  /** Of the engine with the prompts, and of each other. */
  readonly ownSlices: number;
  readonly lenderSlices: readonly number[];
  readonly pool?: Partial<PoolSettings>;
  readonly faults?: readonly Fault[];
  /** Link ports, as a share of the memory's bandwidth. */
  readonly portShare?: number;
  /** What lenders run themselves. */
  readonly lenderTable?: RequestTable;
}

/** Mixed lengths; the first come at once, the rest within two seconds. */
export function promptTable(): RequestTable {
  const prng = new Prng(11);
  const rows = Array.from({ length: PROMPTS }, (_, index) => ({
    arrivalNs: index < 40 ? 0 : Math.floor(prng.nextUnit() * 2 * SECOND),
    prompt: 4 + Math.floor(prng.nextExponential(40)),
    output: 2 + prng.nextBelow(48),
  }));
  return tableFromColumns(
    rows.map(({ arrivalNs }) => arrivalNs),
    rows.map(({ prompt }) => Math.min(prompt, 200)),
    rows.map(({ output }) => output),
  );
}

/** Every second one greedy, the others sampled with a seed of their own. */
export function promptOf(
  engine: number,
  index: number,
  promptTokens: number,
  outputTokens: number,
): GenerationRequest {
  const prng = new Prng(index, engine + 1);
  const { vocab } = tinyConfig(LAYERS);
  const topP = index % 4 === 1 ? 0.9 : 1;
  return {
    promptIds: Int32Array.from({ length: promptTokens }, () => prng.nextBelow(vocab)),
    outputTokensMax: outputTokens,
    sampling: { temperature: index % 2, topP, seed: 1000 + index },
    stopIds: [],
    topLogprobs: 0,
  };
}

export function runOf(situation: Situation): RandomRun {
  const { isElastic, ownSlices, lenderSlices, faults = [] } = situation;
  const pool: PoolSettings = {
    borrowLimit: { kind: "none" },
    headroom: { kind: "none" },
    lenderShare: null,
    sliceBytes: SLICE_BYTES,
    interference: "subtractive",
    accessMode: "mixed",
    copyCostSeconds: 2.3e-6,
    ...situation.pool,
  };
  const system: SystemSettings = { name: "ema", base: isElastic ? "ema" : "static", pool };
  const table = promptTable();
  const lenderTable = situation.lenderTable ?? EMPTY_TABLE;
  const slices = [ownSlices, ...lenderSlices];
  const engines = slices.map((_, index): EngineSettings => ({
    name: index === 0 ? "served" : `lender-${index}`,
    gpuIndex: index,
    model: SHAPE,
    tenant: `tenant-${index}`,
    blockTokens: BLOCK_TOKENS,
    maxBatchTokens: 64,
    maxSequences: 64,
    isGenerated: true,
    requests: () => (index === 0 ? table : lenderTable),
    meanPromptTokens: 0,
    meanOutputTokens: 0,
  }));
  const scenario: Scenario = {
    name: "situation",
    topology: topologyOf(slices, situation.portShare ?? 0.4),
    seed: 1,
    slo: { ttftSeconds: 2, tpotSeconds: 0.1 },
    pool,
    systems: [system],
    engines,
    notes: [],
  };
  const roleTimes = { ...ROLE_TIMES, lentQuietNs: 0, shortageNs: 0, keepEmptyNs: 0.1 * SECOND };
  const admission = ADMISSION_SETTINGS[0]!;
  return { family: "faults", seed: 1, scenario, admission, roleTimes, faults };
}

function topologyOf(slices: readonly number[], portShare: number): Topology {
  const hbmBytesPerSecond = 20e9;
  const gpus = slices.map((count): Gpu => ({
    name: "tiny",
    label: "Tiny",
    formFactor: "sxm",
    // What kvMemoryBytes takes off again: weights, reserve and a tenth.
    hbmBytes: ((count + 0.5) * SLICE_BYTES + SHAPE.weightBytes + 2e9) / 0.9,
    hbmPeakBytesPerSecond: hbmBytesPerSecond * 1.2,
    hbmBytesPerSecond,
    flopsPerSecond: 5e12,
    portBytesPerSecond: hbmBytesPerSecond * portShare,
    hostBytesPerSecond: hbmBytesPerSecond * portShare * 0.2,
  }));
  const paths = gpus.flatMap((gpu, from) =>
    gpus.map((_, to): Path | null =>
      from === to ? null : { bytesPerSecond: gpu.portBytesPerSecond, latencySeconds: 7.5e-6 },
    ),
  );
  return { name: "tiny", wiring: "switch", gpus, paths };
}
