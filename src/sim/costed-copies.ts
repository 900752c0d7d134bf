/**
 * Moves blocks in virtual time: one FIFO for each pair of places.
 *
 * Implements the engine's CopyEngine. A copy takes latency once a train, its fixed cost a piece and
 * its bytes at the path's rate; from or to a GPU that runs steps it keeps to the lender's share,
 * unless that GPU asked for it itself (recalls are exempt). A copy has the rate of its start; one
 * from or to a GPU that gives nothing starts when that has changed.
 *
 * Invariant: a lane with copies has one entry in the calendar that counts, the last one made.
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

/** What copies add to a GPU's load while they follow each other without a gap. */
interface CopyLoad {
  readonly gpu: number;
  readonly bytesPerSecond: number;
  readonly isExempt: boolean;
}

/** The copies of one pair of places; the first one is under way. */
interface Lane {
  readonly key: number;
  readonly queue: PricedCopy[];
  /** When the first one ends, or is looked at again; other entries of the calendar are stale. */
  dueNs: number;
  /** Its GPU gives nothing now: it is looked at again, and has not begun. */
  isHeldUp: boolean;
  loads: readonly CopyLoad[];
}

/** A GPU that gives less than this gives nothing. */
const RATE_LEAST_BYTES_PER_SECOND = 1e6;
/** How often a copy that is held up asks again. */
const RETRY_NS = 20e6;

export class CostedCopies implements CopyEngine {
  readonly #options: CostedCopiesOptions;
  readonly #load: ServerLoad;
  /** Lanes by when their first copy is due. */
  readonly #due = new EventHeap();
  readonly #lanes = new Map<number, Lane>();
  readonly #laneOf = new Map<number, Lane>();
  /** Given up before they began. */
  readonly #aborted: number[] = [];
  #nowNs = 0;

  constructor(options: CostedCopiesOptions, load: ServerLoad) {
    this.#options = options;
    this.#load = load;
  }

  submit(request: PricedCopy, nowNs: number): void {
    this.#nowNs = nowNs;
    const key = request.source * this.#options.gpuOfSource.length + request.target;
    const lane = this.#lanes.get(key) ?? newLane(key);
    this.#lanes.set(key, lane);
    this.#laneOf.set(request.id, lane);
    lane.queue.push(request);
    if (lane.queue.length === 1) this.#begin(lane, nowNs, this.#options.latencyNs);
  }

  poll(nowNs: number): number {
    this.#nowNs = nowNs;
    const aborted = this.#aborted.shift();
    if (aborted !== undefined) return aborted;
    while (this.#peekNs() <= nowNs) {
      const lane = this.#lanes.get(this.#due.pop())!;
      const { dueNs, queue } = lane;
      if (lane.isHeldUp) {
        this.#begin(lane, dueNs, this.#options.latencyNs);
        continue;
      }
      const { id } = queue.shift()!;
      this.#laneOf.delete(id);
      if (queue.length > 0) this.#begin(lane, dueNs, 0);
      else this.#rest(lane);
      return id;
    }
    return -1;
  }

  nextDueNs(): number {
    return this.#aborted.length > 0 ? this.#nowNs : this.#peekNs();
  }

  /** Its result is of no use to anybody: it ends now. */
  abort(id: number, nowNs: number): void {
    this.#nowNs = nowNs;
    const lane = this.#laneOf.get(id);
    if (lane === undefined) return;
    if (lane.queue[0]!.id === id) {
      lane.isHeldUp = false;
      this.#schedule(lane, Math.min(lane.dueNs, nowNs));
      return;
    }
    lane.queue.splice(lane.queue.findIndex((copy) => copy.id === id), 1);
    this.#laneOf.delete(id);
    this.#aborted.push(id);
  }

  /** The first copy of a lane starts at the rate of now, or is held up. */
  #begin(lane: Lane, startNs: number, latencyNs: number): void {
    const { gpuOfSource, copyCostNs } = this.#options;
    const request = lane.queue[0]!;
    const source = gpuOfSource[request.source]!;
    const target = gpuOfSource[request.target]!;
    const rate = this.#rate(source, target, request.isExempt);
    lane.isHeldUp = rate < RATE_LEAST_BYTES_PER_SECOND;
    if (lane.isHeldUp) {
      this.#rest(lane);
      this.#schedule(lane, startNs + RETRY_NS);
      return;
    }
    const busyNs = request.copies * copyCostNs + (request.bytes * NS_PER_SECOND) / rate;
    this.#schedule(lane, Math.round(startNs + latencyNs + busyNs));
    if (lane.loads.length === 0) {
      const bytesPerSecond = Math.min(rate, (request.bytes * NS_PER_SECOND) / busyNs);
      lane.loads = this.#loadsOf([source, target], bytesPerSecond, request.isExempt);
    }
    if (source >= 0 && target >= 0) this.#load.recordPath(source, target, request.bytes, busyNs);
  }

  #schedule(lane: Lane, dueNs: number): void {
    lane.dueNs = dueNs;
    this.#due.push(dueNs, lane.key);
  }

  /** The earliest time that is not stale; Infinity when there is none. */
  #peekNs(): number {
    while (this.#due.size > 0) {
      const timeNs = this.#due.peekTimeNs();
      const lane = this.#lanes.get(this.#due.peekPayload())!;
      if (lane.queue.length > 0 && lane.dueNs === timeNs) return timeNs;
      this.#due.pop();
    }
    return Infinity;
  }

  /** The load of a lane's copies is on the GPUs at both ends until it rests. */
  #loadsOf(ends: readonly number[], bytesPerSecond: number, isExempt: boolean): CopyLoad[] {
    const loads: CopyLoad[] = [];
    for (const gpu of ends) {
      if (gpu < 0 || gpu === this.#options.gpu) continue;
      this.#load.addCopies(gpu, this.#options.gpu, bytesPerSecond, isExempt);
      loads.push({ gpu, bytesPerSecond, isExempt });
    }
    return loads;
  }

  #rest(lane: Lane): void {
    for (const { gpu, bytesPerSecond, isExempt } of lane.loads) {
      this.#load.addCopies(gpu, this.#options.gpu, -bytesPerSecond, isExempt);
    }
    lane.loads = [];
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
    return rate;
  }
}

function newLane(key: number): Lane {
  return { key, queue: [], dueNs: Infinity, isHeldUp: false, loads: [] };
}
