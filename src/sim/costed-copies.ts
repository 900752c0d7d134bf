/**
 * Moves blocks in virtual time: one FIFO for each pair of places.
 *
 * Implements the engine's CopyEngine. A copy takes latency once a train, its fixed cost a piece and
 * its bytes at the path's rate; from or to a GPU that runs steps it keeps to the lender's share,
 * unless that GPU asked for it itself (recalls are exempt).
 */

import { EventHeap, NS_PER_SECOND } from "../base/index.ts";
import type { CopyEngine, CopyRequest } from "../engine/index.ts";
import type { ServerLoad } from "./server-load.ts";

export interface CostedCopiesOptions {
  readonly gpu: number;
  /** (sources) GPU of each source; the engine's own for 0; -1 for the host. */
  readonly gpuOfSource: Int32Array;
  /** (gpus x gpus) path rates; 0 where there is none. */
  readonly pathBytesPerSecond: Float64Array;
  readonly gpuCount: number;
  readonly hostBytesPerSecond: number;
  readonly copyCostNs: number;
  readonly latencyNs: number;
  /** @returns the bytes a second that a GPU gives to others while it runs steps; Infinity else. */
  paceOf(gpu: number): number;
}

/** What a copy under way adds to a GPU's load. */
interface CopyLoad {
  readonly gpu: number;
  readonly bytesPerSecond: number;
  readonly isExempt: boolean;
}

export class CostedCopies implements CopyEngine {
  readonly #options: CostedCopiesOptions;
  readonly #load: ServerLoad;
  readonly #due = new EventHeap();
  readonly #freeAtNs = new Map<number, number>();
  /** Loads to take off when a copy ends, by id. */
  readonly #running = new Map<number, CopyLoad[]>();

  constructor(options: CostedCopiesOptions, load: ServerLoad) {
    this.#options = options;
    this.#load = load;
  }

  submit(request: CopyRequest, nowNs: number): void {
    const { gpuOfSource, copyCostNs, latencyNs, gpu } = this.#options;
    const source = gpuOfSource[request.source]!;
    const target = gpuOfSource[request.target]!;
    const rate = this.#rate(source, target, request.isExempt);
    const key = request.source * gpuOfSource.length + request.target;
    const freeNs = this.#freeAtNs.get(key) ?? 0;
    const startNs = Math.max(nowNs, freeNs);
    const busyNs = request.copies * copyCostNs + (request.bytes * NS_PER_SECOND) / rate;
    const waitNs = freeNs > nowNs ? 0 : latencyNs;
    const endNs = Math.round(startNs + waitNs + busyNs);
    this.#freeAtNs.set(key, endNs);
    this.#due.push(endNs, request.id);
    const loads: CopyLoad[] = [];
    const bytesPerSecond = Math.min(rate, (request.bytes * NS_PER_SECOND) / busyNs);
    for (const end of [source, target]) {
      // Copies of one pair follow each other, so only the first of a train adds to the load.
      if (end < 0 || end === gpu || freeNs > nowNs) continue;
      const { isExempt } = request;
      this.#load.addCopies(end, gpu, bytesPerSecond, isExempt);
      loads.push({ gpu: end, bytesPerSecond, isExempt });
    }
    this.#running.set(request.id, loads);
    if (source >= 0 && target >= 0) this.#load.recordPath(source, target, request.bytes, busyNs);
  }

  poll(nowNs: number): number {
    if (this.#due.peekTimeNs() > nowNs) return -1;
    const id = this.#due.pop();
    for (const { gpu, bytesPerSecond, isExempt } of this.#running.get(id) ?? []) {
      this.#load.addCopies(gpu, this.#options.gpu, -bytesPerSecond, isExempt);
    }
    this.#running.delete(id);
    return id;
  }

  nextDueNs(): number {
    return this.#due.peekTimeNs();
  }

  #rate(source: number, target: number, isExempt: boolean): number {
    const { pathBytesPerSecond, gpuCount, hostBytesPerSecond, gpu } = this.#options;
    const isHost = source < 0 || target < 0;
    let rate = isHost ? hostBytesPerSecond : pathBytesPerSecond[source * gpuCount + target]!;
    // Two lenders without a path between them exchange through the host.
    if (rate <= 0) rate = hostBytesPerSecond;
    if (isExempt) return rate;
    for (const end of [source, target]) {
      if (end >= 0 && end !== gpu) rate = Math.min(rate, this.#options.paceOf(end));
    }
    return Math.max(rate, 1);
  }
}
