/**
 * Runs steps in virtual time: no bytes, no math, only how long it takes.
 *
 * Implements the engine's StepRunner over the planner's timeline. A step without remote bytes is
 * collapsed to one sum, which a test holds equal to the replay to the nanosecond; any other is
 * replayed layer group by layer group.
 *
 * Other borrowers of the same lender share its egress port: a source's rate is what the port has
 * left, at least an equal part.
 */

import { assert } from "../base/index.ts";
import { noTiming, type PricedStep, type StepRunner, type StepTiming } from "../engine/index.ts";
import {
  StepTimeline,
  type LinkCosts,
  type StepCompute,
  type TimelineInput,
} from "../prefetch/index.ts";
import type { ServerLoad } from "./server-load.ts";

export interface CostedRunnerOptions {
  readonly gpu: number;
  readonly layers: number;
  readonly link: LinkCosts;
  /** (sources) GPU of each source, -1 where it is none. */
  readonly gpuOfSource: Int32Array;
  /** (gpus) egress port. */
  readonly portOfGpu: Float64Array;
}

export class CostedRunner implements StepRunner {
  readonly timing: StepTiming;
  readonly isForeseen = true;
  readonly #options: CostedRunnerOptions;
  readonly #load: ServerLoad;
  readonly #timeline: StepTimeline;
  readonly #rates: Float64Array;
  #input: TimelineInput | null = null;
  #isRunning = false;
  #endNs = Infinity;
  #aheadFromNs = -1;
  #resumeGroup = 0;
  #isReading = false;

  constructor(options: CostedRunnerOptions, load: ServerLoad) {
    this.#options = options;
    this.#load = load;
    this.#timeline = new StepTimeline(options.layers);
    const sourceCount = options.gpuOfSource.length;
    this.#rates = new Float64Array(sourceCount);
    this.timing = noTiming(sourceCount, this.#rates);
  }

  /** The layer group with which an interrupted step goes on. */
  get resumeGroup(): number {
    return this.#resumeGroup;
  }

  submit(work: PricedStep, nowNs: number): void {
    assert(!this.#isRunning, "costed runner: a step is in flight");
    this.#isRunning = true;
    const { timing } = this;
    timing.startNs = nowNs;
    const slowdown = this.#slowdown(work.compute);
    if (work.readSet.totalBytes() === 0) {
      this.#collapse(work, slowdown, nowNs);
      return;
    }
    this.#lay(work, slowdown, 0, nowNs);
  }

  interrupt(nowNs: number): number {
    assert(this.#isRunning && this.#input !== null, "costed runner: nothing to interrupt");
    const group = this.#timeline.groupAt(nowNs);
    this.#resumeGroup = group + 1;
    return this.#timeline.groupEndNs[group]!;
  }

  resume(work: PricedStep): void {
    const group = this.#resumeGroup;
    const startNs = this.#timeline.groupEndNs[group - 1]!;
    this.#lay(work, this.#slowdown(work.compute), group, startNs);
  }

  poll(nowNs: number): boolean {
    if (!this.#isRunning || nowNs < this.#endNs) return false;
    this.#isRunning = false;
    this.#endNs = Infinity;
    return true;
  }

  rest(): void {
    this.#aheadFromNs = -1;
    this.#clearLoad();
  }

  nextDueNs(): number {
    return this.#endNs;
  }

  /** What others read of this GPU makes longer what waits for its HBM, not what computes. */
  #slowdown({ linearLayerNs, attentionLayerNs, hbmLayerNs }: StepCompute): number {
    const slowdown = this.#load.slowdown(this.#options.gpu);
    const layerNs = linearLayerNs + attentionLayerNs;
    if (slowdown === 1 || hbmLayerNs === undefined || layerNs === 0) return slowdown;
    return 1 + (slowdown - 1) * Math.min(1, hbmLayerNs / layerNs);
  }

  /** One sum instead of a replay: nothing crosses a link. */
  #collapse(work: PricedStep, slowdown: number, nowNs: number): void {
    const { compute } = work;
    const layersNs = compute.layers * (compute.linearLayerNs + compute.attentionLayerNs);
    const { timing } = this;
    timing.endNs = nowNs + Math.round(compute.hostNs + layersNs * slowdown + compute.headNs);
    timing.localNs = timing.endNs - nowNs;
    timing.unlentNs = Math.round(compute.hostNs + layersNs + compute.headNs);
    timing.waitNs = 0;
    timing.linkBusyNs = 0;
    if (this.#input !== null) timing.readBytes.fill(0);
    timing.hits = 0;
    timing.lates = 0;
    timing.misses = 0;
    this.#input = null;
    this.#endNs = timing.endNs;
    this.#aheadFromNs = -1;
    this.#clearLoad();
  }

  #lay(work: PricedStep, slowdown: number, firstGroup: number, startNs: number): void {
    const { compute, groupLayers, readSet } = work;
    const groupCount = Math.ceil(compute.layers / groupLayers);
    this.#shareEgress(work, firstGroup > 0);
    const timeline = this.#timeline;
    const isFirst = firstGroup === 0;
    const aheadFromNs = isFirst ? this.#aheadFromNs : timeline.copyFromNs[firstGroup]!;
    const isAhead = aheadFromNs >= 0 && aheadFromNs < startNs;
    const input: TimelineInput = {
      startNs,
      firstGroup,
      groupCount,
      groupLayers,
      layers: compute.layers,
      compute,
      hbmSlowdown: slowdown,
      link: this.#options.link,
      stagedBytes: readSet.stagedBytes,
      stagedRuns: readSet.stagedRuns,
      directBytes: readSet.directBytes,
      sourceBytesPerSecond: this.#rates,
      aheadFromNs: isAhead ? aheadFromNs : startNs,
      aheadShare: isAhead ? work.aheadShare : 1,
    };
    timeline.lay(input);
    this.#input = input;
    const { timing } = this;
    timing.endNs = timeline.endNs;
    timing.localNs = timeline.localEndNs - timing.startNs;
    timing.unlentNs = (timing.endNs - timing.startNs) / slowdown;
    timing.waitNs = timeline.waitNs;
    timing.linkBusyNs = timeline.linkBusyNs;
    timing.hits = timeline.hits;
    timing.lates = timeline.lates;
    timing.misses = timeline.misses;
    this.#endNs = timeline.endNs;
    this.#aheadFromNs = timeline.nextAheadFromNs;
    this.#account(input);
  }

  /** Registers what this step reads where, as a mean over its duration. */
  #account(input: TimelineInput): void {
    const { gpu, gpuOfSource, link } = this.#options;
    const durationNs = Math.max(1, this.timing.endNs - this.timing.startNs);
    const share = 1 - (input.firstGroup * input.groupLayers) / input.layers;
    this.#isReading = true;
    for (let source = 1; source < gpuOfSource.length; source++) {
      const lender = gpuOfSource[source]!;
      if (lender < 0) continue;
      const perLayer = input.stagedBytes[source]! + input.directBytes[source]!;
      const bytes = perLayer * input.layers;
      const before = input.firstGroup === 0 ? 0 : this.timing.readBytes[source]! * (1 - share);
      this.timing.readBytes[source] = before + bytes * share;
      this.#load.setRate(lender, gpu, (this.timing.readBytes[source]! * 1e9) / durationNs);
      if (input.firstGroup > 0) continue;
      if (bytes === 0) continue;
      const busyNs = (bytes * 1e9) / Math.min(link.portBytesPerSecond, this.#rates[source]!);
      this.#load.recordPath(lender, gpu, bytes, busyNs);
    }
  }

  /** What is read of nobody in any part of the step has no rate of its own. */
  #shareEgress({ readSet, sourceBytesPerSecond }: PricedStep, isRest: boolean): void {
    const { gpu, gpuOfSource, portOfGpu } = this.#options;
    for (let source = 1; source < gpuOfSource.length; source++) {
      const isRead = readSet.stagedBytes[source]! + readSet.directBytes[source]! > 0;
      if (!isRead && !(isRest && this.timing.readBytes[source]! > 0)) continue;
      const lender = gpuOfSource[source]!;
      let rate = sourceBytesPerSecond[source]!;
      if (lender >= 0 && rate > 0) {
        const port = portOfGpu[lender]!;
        const others = this.#load.othersBytesPerSecond(lender, gpu);
        if (others > 0) rate = Math.min(rate, Math.max(port - others, port / 2));
      }
      this.#rates[source] = rate;
    }
  }

  #clearLoad(): void {
    if (!this.#isReading) return;
    this.#isReading = false;
    for (const lender of this.#options.gpuOfSource) {
      if (lender >= 0) this.#load.setRate(lender, this.#options.gpu, 0);
    }
  }
}
