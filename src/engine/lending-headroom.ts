/**
 * How many slices this engine keeps free of loans, from what it measured of itself.
 *
 * Fed at each step's end, asked before slices are offered. Sized anew once a second: the rates
 * behind it are measured in seconds.
 */

import { NS_PER_SECOND } from "../base/index.ts";
import type { KvCache } from "../kvcache/index.ts";
import { AllocationRate, headroomSlices } from "../pool/index.ts";
import type { EngineOptions } from "./engine-options.ts";

export class LendingHeadroom {
  readonly #options: EngineOptions;
  readonly #kv: KvCache;
  readonly #rate = new AllocationRate();
  #countedBlocks = 0;
  #dueNs = 0;
  #slices = 0;

  constructor(options: EngineOptions, kv: KvCache) {
    this.#options = options;
    this.#kv = kv;
  }

  /** Counts what was allocated since the last call. */
  observe(nowNs: number): void {
    const blocks = this.#kv.allocatedBlocks - this.#countedBlocks;
    this.#countedBlocks = this.#kv.allocatedBlocks;
    this.#rate.record(blocks * this.#kv.layout.blockBytes, nowNs);
  }

  slices(nowNs: number): number {
    if (nowNs < this.#dueNs) return this.#slices;
    this.#dueNs = nowNs + NS_PER_SECOND;
    const { layout, ownSlices, headroom, refillNs } = this.#options;
    this.#slices = headroomSlices({
      peakAllocationBytesPerSecond: this.#rate.peakBytesPerSecond(nowNs),
      refillNs,
      sliceBytes: layout.sliceBytes,
      ownSlices,
      setting: headroom,
    });
    return this.#slices;
  }
}
