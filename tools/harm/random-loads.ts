/**
 * What the engines of a random server are asked: loads as shares of what each can serve.
 *
 * Called by random-server.ts. A load is drawn as a share of the engine's own capacity, estimated
 * from the cost model, so that "saturated" means the same for every GPU and model; lengths are cut
 * until an engine has the requests that a verdict needs.
 */

import { createCostModel, findGpu, findModel, kvMemoryBytes } from "../../src/hardware/index.ts";
import type { Draw } from "./draw.ts";
import type { LengthsPlan, WorkloadPlan } from "./server-plan.ts";

export const LOADS = ["saturated", "busy", "bursts", "quiet", "ambush", "idle"] as const;
export type Load = (typeof LOADS)[number];

/** Requests that an engine is asked at least: more than the thousand that are to finish. */
export const REQUESTS_MIN = 1150;

const LENGTHS: readonly LengthsPlan[] = [
  { prompt: 64, output: 128 },
  { prompt: 128, output: 200 },
  { prompt: 161, output: 338 },
  { prompt: 300, output: 120 },
  { prompt: 512, output: 64 },
  { prompt: 700, output: 40 },
  { prompt: 1155, output: 100 },
];

const CONCURRENT_MAX = 256;
const PROMPT_MIN = 24;
const OUTPUT_MIN = 12;
/** Waiting longer than the engines' ten minutes fails a request under every system. */
const BACKLOG_SECONDS_MAX = 300;
const LOAD_LEAST = 0.05;

export interface LoadPlace {
  readonly gpu: string;
  readonly model: string;
  readonly seconds: number;
  /** Bursts of one server come in phase or not: what all of them share. */
  readonly phase: { readonly periodSeconds: number; readonly isShared: boolean };
}

/** @returns nothing for an engine that only lends; an ambush gets its bursts later. */
export function drawLoad(draw: Draw, load: Load, place: LoadPlace): WorkloadPlan[] {
  if (load === "idle") return [];
  const { seconds } = place;
  const share = shareOf(draw, load, seconds);
  const isBursts = load === "bursts";
  const duty = draw.between(0.15, 0.5);
  const mean = isBursts ? Math.min(0.85, share * duty) : share;
  const least = load === "ambush" ? 0.4 * REQUESTS_MIN : REQUESTS_MIN;
  const lengths = fitLengths(draw.pick(LENGTHS), place, mean, least);
  const rate = requestsPerSecond(place.gpu, place.model, lengths) * mean;
  if (!isBursts) return [{ arrivals: "poisson", rate: round(rate), seconds, lengths }];
  const periodSeconds = place.phase.isShared
    ? place.phase.periodSeconds
    : Math.round(draw.between(20, 160));
  const onSeconds = round(periodSeconds * duty);
  return [
    {
      arrivals: "on-off",
      rate: round(rate / duty),
      onSeconds,
      offSeconds: round(periodSeconds - onSeconds),
      seconds,
      offsetSeconds: place.phase.isShared ? 0 : Math.round(draw.between(0, periodSeconds)),
      lengths,
    },
  ];
}

function shareOf(draw: Draw, load: Exclude<Load, "idle">, seconds: number): number {
  switch (load) {
    case "saturated":
      return Math.min(draw.between(1.05, 2.2), 1 + BACKLOG_SECONDS_MAX / seconds);
    case "busy":
      return draw.between(0.4, 0.97);
    case "bursts":
      return draw.between(0.8, 2.5);
    case "quiet":
      return draw.between(0.1, 0.35);
    case "ambush":
      return draw.between(LOAD_LEAST, 0.25);
  }
}

/** Shorter requests until as many as are wanted fit into the time. */
function fitLengths(
  drawn: LengthsPlan,
  place: LoadPlace,
  load: number,
  requestsMin: number,
): LengthsPlan {
  let lengths = drawn;
  for (;;) {
    const count = requestsPerSecond(place.gpu, place.model, lengths) * load * place.seconds;
    const isShortest = lengths.prompt === PROMPT_MIN && lengths.output === OUTPUT_MIN;
    if (count >= requestsMin || isShortest) return lengths;
    lengths = {
      prompt: Math.max(PROMPT_MIN, Math.round(lengths.prompt * 0.8)),
      output: Math.max(OUTPUT_MIN, Math.round(lengths.output * 0.8)),
    };
  }
}

/**
 * What an engine serves about in a second, its memory full of requests half done. An estimate: it
 * places loads, and no verdict depends on it.
 */
export function requestsPerSecond(gpuName: string, modelName: string, at: LengthsPlan): number {
  const gpu = findGpu(gpuName);
  const model = findModel(modelName);
  const cost = createCostModel(gpu, model);
  const sequences = concurrent(gpuName, modelName, at);
  const context = sequences * (at.prompt + at.output / 2);
  const attentionNs = cost.decodeAttentionLayerNs(sequences, context);
  const layersNs = model.layers * (cost.linearLayerNs(sequences) + attentionNs);
  const stepNs = cost.hostNs + layersNs + cost.headNs(sequences);
  const promptLayerNs =
    cost.linearLayerNs(at.prompt) + cost.prefillAttentionLayerNs(at.prompt, 0);
  return 1e9 / ((at.output * stepNs) / sequences + model.layers * promptLayerNs);
}

/** Requests that an engine's own memory holds together. */
export function concurrent(gpuName: string, modelName: string, at: LengthsPlan): number {
  const model = findModel(modelName);
  const kvTokens = kvMemoryBytes(findGpu(gpuName), model) / model.kvBytesPerToken;
  return Math.max(1, Math.min(CONCURRENT_MAX, kvTokens / (at.prompt + 0.6 * at.output)));
}

/** Three digits say all that is meant, and read well in a file. */
function round(value: number): number {
  return Number(value.toPrecision(3));
}
