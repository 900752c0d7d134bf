/**
 * How a step would be that reads so many borrowed bytes: its time, and the ring it would need.
 *
 * Asked for steps that are imagined: by loan-amount.ts before every lease, and once when an engine
 * is made, to choose its layer groups. It knows bytes and rates, not who holds what.
 *
 * Layer groups: the count that serves the most is taken, for sequences of one nominal length.
 */

import type { KvLayout } from "../kvcache/index.ts";
import {
  chooseGroupLayers,
  predictStepNs,
  ringBytes,
  type AccessMode,
  type LinkCosts,
  type StepCompute,
} from "../prefetch/index.ts";
import { remoteBytesWanted } from "../scheduler/index.ts";
import type { EngineOptions } from "./engine-options.ts";
import { StepCost } from "./step-cost.ts";

/**
 * Groups are chosen before any request is known, for sequences of so many tokens. What matters is
 * the KV they fill, which is the same for long and short ones.
 */
const NOMINAL_TOKENS = 1024;

export interface LoanForecastOptions {
  readonly mode: AccessMode;
  readonly link: LinkCosts;
  readonly layout: KvLayout;
  readonly groupLayers: number;
}

export class LoanForecast {
  readonly #options: LoanForecastOptions;

  constructor(options: LoanForecastOptions) {
    this.#options = options;
  }

  /** @returns how long an imagined step takes that reads so many remote bytes. */
  stepNs(compute: StepCompute, remoteBytes: number, sourceBytesPerSecond: number): number {
    const { mode, link, groupLayers } = this.#options;
    const { layers, blocksPerSlice, blockLayerBytes } = this.#options.layout;
    const perLayer = remoteBytes / layers;
    const runBytes = blocksPerSlice * blockLayerBytes;
    return predictStepNs(
      mode,
      compute,
      link,
      groupLayers,
      perLayer,
      runBytes,
      sourceBytesPerSecond,
    );
  }

  /**
   * @returns KV bytes that the slices of such a step's ring would have held; the first loan brings
   * one with it, whether or not steps stage anything.
   */
  ringPayloadBytes(compute: StepCompute, remoteBytes: number): number {
    const { mode, groupLayers, layout } = this.#options;
    if (mode === "direct" || remoteBytes === 0) return 0;
    const direct = mode === "staged" ? 0 : this.#hiddenDirectBytes(compute);
    const staged = Math.max(0, remoteBytes / layout.layers - direct);
    const slices = Math.ceil(ringBytes(groupLayers, staged) / layout.sliceBytes);
    return Math.max(1, slices) * payloadBytes(layout);
  }

  /** Bytes of one layer that direct reads carry while attention runs anyway. */
  #hiddenDirectBytes(compute: StepCompute): number {
    const nsPerByte =
      1e9 / this.#options.link.portBytesPerSecond + 1e9 / compute.hbmBytesPerSecond;
    return compute.attentionLayerNs / nsPerByte;
  }
}

/** KV bytes in a full slice: the rest of it is lost. */
export function payloadBytes(layout: KvLayout): number {
  return layout.blocksPerSlice * layout.blockBytes;
}

/** What the choice of layer groups depends on. */
export type GroupOptions = Pick<
  EngineOptions,
  | "isElastic"
  | "layout"
  | "link"
  | "cost"
  | "ownSlices"
  | "borrowSlicesMax"
  | "maxSequences"
  | "contextTokensMax"
  | "accessMode"
  | "tpotTargetNs"
>;

/**
 * @returns how many layers of an engine's KV are laid out and copied together, should it borrow all
 * it could at the very most.
 */
export function groupLayersFor(options: GroupOptions): number {
  const { layout } = options;
  if (!options.isElastic || options.borrowSlicesMax === 0) return 1;
  const runBytes = layout.blocksPerSlice * layout.blockLayerBytes;
  return chooseGroupLayers(layout.layers, runBytes, (count) => served(options, count));
}

/** Tokens a nanosecond, lenders idle. */
function served(options: GroupOptions, groupLayers: number): number {
  const { layout, link, cost, ownSlices, borrowSlicesMax, maxSequences } = options;
  const forecast = new LoanForecast({ mode: options.accessMode, link, layout, groupLayers });
  const price = new StepCost(cost, layout.layers);
  const tokens = Math.min(NOMINAL_TOKENS, options.contextTokensMax);
  const stepOf = (count: number): StepCompute => price.decodeStep(count, count * tokens);
  return remoteBytesWanted({
    ownBytes: ownSlices * payloadBytes(layout),
    sequenceBytes: Math.ceil(tokens / layout.blockTokens) * layout.blockBytes,
    sequencesMax: maxSequences,
    remoteBytesMax: borrowSlicesMax * payloadBytes(layout),
    tpotTargetNs: options.tpotTargetNs,
    forecast: {
      stepNs: (count, bytes) => forecast.stepNs(stepOf(count), bytes, link.portBytesPerSecond),
      ringBytes: (count, bytes) => forecast.ringPayloadBytes(stepOf(count), bytes),
    },
  }).tokensPerNs;
}
