/**
 * Samples every engine's memory over time, for pictures.
 *
 * Asked after every event. The interval starts at a 300th of the arrivals' span and doubles, with
 * every other sample thinned out, when a long drain would exceed 500.
 */

import { LOCAL_SOURCE } from "../kvcache/index.ts";
import type { EngineMemorySize } from "./build-cluster.ts";
import type { Cluster } from "./cluster.ts";
import type { MemorySample } from "./run-record.ts";

const SAMPLES_MAX = 500;
const SAMPLES_IN_SPAN = 300;

export class MemorySampler {
  readonly samples: MemorySample[][];
  readonly #cluster: Cluster;
  readonly #sizes: readonly EngineMemorySize[];
  readonly #lastTokens: Float64Array;
  #intervalNs: number;
  #nextNs = 0;

  constructor(cluster: Cluster, sizes: readonly EngineMemorySize[]) {
    this.#cluster = cluster;
    this.#sizes = sizes;
    this.samples = cluster.members.map(() => []);
    this.#lastTokens = new Float64Array(cluster.members.length);
    let lastNs = 0;
    for (const { requests } of cluster.members) {
      if (requests.count > 0) lastNs = Math.max(lastNs, requests.arrivalNs[requests.count - 1]!);
    }
    this.#intervalNs = Math.max(1e6, lastNs / SAMPLES_IN_SPAN);
  }

  observe(): void {
    if (this.#cluster.nowNs < this.#nextNs) return;
    this.#nextNs = this.#cluster.nowNs + this.#intervalNs;
    this.#cluster.members.forEach((member, index) => {
      const { engine, recorder } = member;
      const { layout, kvBytes } = this.#sizes[index]!;
      const used = engine.kv.usedBlocks(LOCAL_SOURCE) * layout.blockBytes;
      const lentBytes = engine.arena.lentSlices * layout.sliceBytes;
      const ownBytes = Math.min(used, kvBytes - lentBytes);
      this.samples[index]!.push({
        timeNs: this.#cluster.nowNs,
        ownBytes,
        lentBytes,
        freeBytes: kvBytes - lentBytes - ownBytes,
        borrowedBytes: engine.arena.borrowedSlices * layout.sliceBytes,
        tokens: recorder.tokens - this.#lastTokens[index]!,
      });
      this.#lastTokens[index] = recorder.tokens;
    });
    if (this.samples[0] !== undefined && this.samples[0].length > SAMPLES_MAX) this.#thin();
  }

  #thin(): void {
    this.#intervalNs *= 2;
    for (const list of this.samples) {
      const kept: MemorySample[] = [];
      for (let index = 1; index < list.length; index += 2) {
        const sample = list[index]!;
        kept.push({ ...sample, tokens: sample.tokens + list[index - 1]!.tokens });
      }
      list.splice(0, list.length, ...kept);
    }
  }
}
