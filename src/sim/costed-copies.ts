/**
 * Moves blocks in virtual time: one FIFO for each pair of places.
 *
 * Implements the engine's CopyEngine. A copy takes latency once a train, its fixed cost a piece and
 * its bytes at the path's rate; from or to a GPU that runs steps it keeps to the lender's share,
 * unless that GPU asked for it itself (recalls are exempt).
 */

import { EventHeap, NS_PER_SECOND } from "../base/index.ts";
import type { CopyEngine, PricedCopy } from "../engine/index.ts";
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

/** Copies of one pair that follow each other without a gap; their load is there once. */
interface Train {
  readonly key: number;
  readonly loads: readonly CopyLoad[];
  copies: number;
}

/** What a train adds to a GPU's load. */
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
  /** The train that each copy under way belongs to, by id. */
  readonly #trainOf = new Map<number, Train>();
  /** Trains under way by pair of places. */
  readonly #trains = new Map<number, Train>();

  constructor(options: CostedCopiesOptions, load: ServerLoad) {
    this.#options = options;
    this.#load = load;
  }

  submit(request: PricedCopy, nowNs: number): void {
    const { gpuOfSource, copyCostNs, latencyNs } = this.#options;
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
    const bytesPerSecond = Math.min(rate, (request.bytes * NS_PER_SECOND) / busyNs);
    const ends = [source, target];
    const train = this.#trains.get(key) ?? this.#begin(key, ends, bytesPerSecond, request);
    train.copies++;
    this.#trainOf.set(request.id, train);
    if (source >= 0 && target >= 0) this.#load.recordPath(source, target, request.bytes, busyNs);
  }

  poll(nowNs: number): number {
    if (this.#due.peekTimeNs() > nowNs) return -1;
    const id = this.#due.pop();
    const train = this.#trainOf.get(id)!;
    this.#trainOf.delete(id);
    if (--train.copies > 0) return id;
    this.#trains.delete(train.key);
    for (const { gpu, bytesPerSecond, isExempt } of train.loads) {
      this.#load.addCopies(gpu, this.#options.gpu, -bytesPerSecond, isExempt);
    }
    return id;
  }

  nextDueNs(): number {
    return this.#due.peekTimeNs();
  }

  /** The first copy of a train puts its load on the GPUs at both ends; the last takes it off. */
  #begin(
    key: number,
    ends: readonly number[],
    bytesPerSecond: number,
    { isExempt }: PricedCopy,
  ): Train {
    const loads: CopyLoad[] = [];
    for (const end of ends) {
      if (end < 0 || end === this.#options.gpu) continue;
      this.#load.addCopies(end, this.#options.gpu, bytesPerSecond, isExempt);
      loads.push({ gpu: end, bytesPerSecond, isExempt });
    }
    const train: Train = { key, loads, copies: 0 };
    this.#trains.set(key, train);
    return train;
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
