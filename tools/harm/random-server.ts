/**
 * From a seed, a server with its GPUs, links, models, loads and pool settings.
 *
 * Called by the sweep. GPUs and models are real ones, chosen so that KV memory is short on some and
 * plenty on others; every wiring occurs, with explicit lists that leave paths out. Ambushes are
 * laid afterwards, by ambush.ts, when it is known when the server lends.
 */

import { ADMISSION_SETTINGS } from "../../src/sim/index.ts";
import { Draw } from "./draw.ts";
import { drawLoad, type Load } from "./random-loads.ts";
import type { EnginePlan, LinkPlan, PoolPlan, ServerPlan } from "./server-plan.ts";

/** GPU and model, and how often: those with little memory are who borrows. */
const SXM_PLACES: readonly (readonly [readonly [gpu: string, model: string], number])[] = [
  [["a100-40g", "OPT-13B"], 4],
  [["a100-40g", "Llama-2-13B"], 2],
  [["a100-40g", "Qwen2.5-14B"], 2],
  [["a100-40g", "Llama-3.1-8B"], 1],
  [["a100-80g", "Qwen3-32B"], 3],
  [["a100-80g", "OPT-30B"], 2],
  [["a100-80g", "CodeLlama-34B"], 1],
  [["a100-80g", "OPT-13B"], 1],
  [["h100", "Qwen3-32B"], 3],
  [["h100", "CodeLlama-34B"], 1],
  [["h100", "OPT-30B"], 2],
  [["h100", "Qwen2.5-14B"], 1],
  [["h200", "Qwen3-32B"], 1],
  [["h200", "OPT-30B"], 1],
];
const PCIE_PLACES: typeof SXM_PLACES = [
  [["l40s", "OPT-13B"], 3],
  [["l40s", "Llama-2-13B"], 2],
  [["l40s", "Qwen2.5-14B"], 1],
  [["rtx-4090", "Llama-2-7B"], 3],
  [["rtx-4090", "Llama-3.1-8B"], 2],
  [["rtx-pro-6000", "OPT-30B"], 2],
  [["rtx-pro-6000", "Qwen3-32B"], 1],
];

/** A mesh needs a link for each peer: A100 has 12, so 8 GPUs leave one a pair. */
const GPUS_MAX = 8;

const LOAD_WEIGHTS: readonly (readonly [Load, number])[] = [
  ["saturated", 3],
  ["busy", 3],
  ["bursts", 4],
  ["quiet", 2],
  ["ambush", 2],
  ["idle", 2],
];

export interface RandomServer {
  readonly plan: ServerPlan;
  readonly loads: readonly Load[];
}

export function randomServer(seed: number): RandomServer {
  const draw = new Draw(seed, 1);
  const count = draw.weighted(gpuCounts());
  const wiring = draw.pick(["switch", "mesh", "pcie", "list"] as const);
  const places = drawPlaces(draw, count, wiring);
  const gpus = places.map(([gpu]) => gpu);
  const loads = drawLoads(draw, count);
  const seconds = Math.round(draw.between(140, 280));
  const phase = {
    periodSeconds: Math.round(draw.between(30, 160)),
    isShared: draw.chance(0.35),
  };
  const engines = places.map(([gpu, model], index): EnginePlan => {
    const load = loads[index]!;
    const workload = drawLoad(draw, load, { gpu, model, seconds, phase });
    const engine = { name: `${load}${index}`, gpus: [index] as const, model };
    return workload.length === 0 ? engine : { ...engine, workload };
  });
  const plan: ServerPlan = {
    admission: draw.pick(ADMISSION_SETTINGS).name,
    scenario: {
      name: `server-${seed}`,
      server: { gpus, links: wiring === "list" ? drawLinks(draw, count) : wiring },
      seed,
      slo: {
        ttftSeconds: 2,
        tpotSeconds: draw.pick([0.1, 0.1, 0.1, 0.05, 0.2]),
      },
      pool: drawPool(draw),
      engines,
    },
  };
  return { plan, loads };
}

/** Small servers are cheap and as telling. */
function gpuCounts(): (readonly [number, number])[] {
  const counts: (readonly [number, number])[] = [];
  for (let count = 2; count <= GPUS_MAX; count++) counts.push([count, count ** -1.5]);
  return counts;
}

function drawPlaces(
  draw: Draw,
  count: number,
  wiring: "switch" | "mesh" | "pcie" | "list",
): (readonly [gpu: string, model: string])[] {
  const hasNvlink = wiring === "switch" || wiring === "mesh" || draw.chance(0.4);
  const choices = hasNvlink ? SXM_PLACES : PCIE_PLACES;
  // Half of the servers have one kind of GPU and model, as most racks do.
  const isMixed = draw.chance(0.6);
  const first = draw.weighted(choices);
  return Array.from({ length: count }, () => (isMixed ? draw.weighted(choices) : first));
}

/** At least one that may want memory, and one that may have some. */
function drawLoads(draw: Draw, count: number): Load[] {
  const loads = Array.from({ length: count }, () => draw.weighted(LOAD_WEIGHTS));
  const wants = draw.integer(0, count - 1);
  loads[wants] = draw.pick(["saturated", "saturated", "bursts", "busy"]);
  loads[(wants + 1) % count] = draw.pick(["bursts", "quiet", "ambush", "ambush", "idle"]);
  return loads;
}

/** Every direction with a speed of its own; some are missing. */
function drawLinks(draw: Draw, count: number): LinkPlan[] {
  const links: LinkPlan[] = [];
  const missing = draw.pick([0, 0.2, 0.4]);
  for (let from = 0; from < count; from++) {
    for (let to = 0; to < count; to++) {
      const bytesPerSecond = Number((10e9 * 25 ** draw.unit()).toPrecision(2));
      if (from !== to && !draw.chance(missing)) links.push({ from, to, bytesPerSecond });
    }
  }
  return links.length > 0 ? links : [{ from: 0, to: 1, bytesPerSecond: 50e9 }];
}

/** Mostly what everybody has; a twelfth gives away more than the bounds hold for. */
function drawPool(draw: Draw): PoolPlan {
  const lenderShare = draw.weighted([
    ["2%", 5],
    ["1%", 2],
    ["0.3%", 1],
    ["0%", 2],
    ["5%", 0.4],
    ["20%", 0.2],
    ["none", 0.3],
  ]);
  const borrowLimit = draw.pick(["100%", "100%", "none", "40%", "200%"]);
  const interference = draw.weighted([
    ["subtractive" as const, 3],
    ["ceiling" as const, 1],
  ]);
  const accessMode = draw.weighted([
    ["mixed" as const, 4],
    ["staged" as const, 1],
    ["direct" as const, 1],
  ]);
  const sliceBytes = draw.pick(["64MiB", "64MiB", "32MiB", "128MiB"]);
  return { lenderShare, borrowLimit, sliceBytes, interference, accessMode };
}
