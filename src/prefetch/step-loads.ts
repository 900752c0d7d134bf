/**
 * What one step's remote bytes ask of the port and of the lenders, a layer or a layer group at a
 * time.
 *
 * Used by the timeline alone, which keeps one instance a timeline. It knows sums by lender and no
 * order of events. Copies share the port one after the other; lenders send side by side, each at
 * most at its own rate, so a train takes the longer of the port's sum and the slowest lender.
 *
 * Invariant: with `weigh` called, nothing here changes; all times are float nanoseconds.
 */

import { assert } from "../base/index.ts";
import type { LinkCosts } from "./step-compute.ts";

/** Sums by lender of one layer; arrays are (sourceCount) and the caller's. */
export interface RemoteReads {
  link: LinkCosts;
  stagedBytes: Float64Array;
  stagedRuns: Float64Array;
  directBytes: Float64Array;
  /** At most how fast each lender may be read: path and pace together. */
  sourceBytesPerSecond: Float64Array;
}

export class StepLoads {
  /** Of one layer, all lenders. */
  stagedBytes = 0;
  directBytes = 0;
  /** Time in which one layer's direct reads cross, nothing else on the port. */
  directNs = 0;
  /** Copies of one group, whatever its size, without their bytes. */
  #copyCostNs = 0;
  #stagedPortNs = 0;
  #directPortNs = 0;
  #stagedSlowestNs = 0;
  #reads!: RemoteReads;

  weigh(reads: RemoteReads): void {
    const { stagedBytes, stagedRuns, directBytes, sourceBytesPerSecond, link } = reads;
    let staged = 0;
    let runs = 0;
    let direct = 0;
    let stagedSlowestNs = 0;
    let directSlowestNs = 0;
    for (let source = 0; source < stagedBytes.length; source++) {
      const bytes = stagedBytes[source]! + directBytes[source]!;
      if (bytes === 0) continue;
      const rate = sourceBytesPerSecond[source]!;
      assert(rate > 0, () => `timeline: ${bytes} bytes at unreadable source ${source}`);
      staged += stagedBytes[source]!;
      runs += stagedRuns[source]!;
      direct += directBytes[source]!;
      stagedSlowestNs = Math.max(stagedSlowestNs, (stagedBytes[source]! * 1e9) / rate);
      directSlowestNs = Math.max(directSlowestNs, (directBytes[source]! * 1e9) / rate);
    }
    this.#reads = reads;
    this.stagedBytes = staged;
    this.directBytes = direct;
    this.#copyCostNs = runs * link.copyCostNs;
    this.#stagedPortNs = staged === 0 ? 0 : (staged * 1e9) / link.portBytesPerSecond;
    this.#directPortNs = direct === 0 ? 0 : (direct * 1e9) / link.portBytesPerSecond;
    this.#stagedSlowestNs = stagedSlowestNs;
    this.directNs = Math.max(this.#directPortNs, directSlowestNs);
  }

  /** @returns the time of one group's copies, once they have begun. */
  copyNs(layers: number): number {
    const portNs = this.#copyCostNs + layers * this.#stagedPortNs;
    return Math.max(portNs, layers * this.#stagedSlowestNs);
  }

  /**
   * @returns how much later the copies of a group of `copyLayers` end because a group of
   *   `directLayers` is read directly meanwhile: at most that group's direct time, less where the
   *   two wait for different lenders.
   */
  pushNs(directLayers: number, copyLayers: number): number {
    if (this.directBytes === 0 || this.stagedBytes === 0) return 0;
    const { stagedBytes, directBytes, sourceBytesPerSecond } = this.#reads;
    const copyPortNs = this.#copyCostNs + copyLayers * this.#stagedPortNs;
    let bothNs = copyPortNs + directLayers * this.#directPortNs;
    for (let source = 0; source < stagedBytes.length; source++) {
      const bytes = copyLayers * stagedBytes[source]! + directLayers * directBytes[source]!;
      if (bytes === 0) continue;
      bothNs = Math.max(bothNs, (bytes * 1e9) / sourceBytesPerSecond[source]!);
    }
    return Math.max(bothNs - this.copyNs(copyLayers), 0);
  }
}
