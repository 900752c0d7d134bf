/**
 * All ingress queues of a server, and the lanes in which bytes are paced.
 *
 * Shared by the runners and copy engines in real time. A lender that runs is read, and written, at
 * its share only; what a lender asked for itself is not paced.
 *
 *     lanes of a queue:  | read from place p | unpaced | written by the engine of place p |
 */

import type { DeviceCopies } from "../device/index.ts";
import { IngressQueue, type IngressTransfer } from "./ingress-queue.ts";

/** How fast others may use a place now; Infinity where it does not run. */
export type PaceOf = (place: number) => number;

/** Why bytes cross: whose pace they keep to. */
export type CopyCause = "read" | "exempt" | "write";

export class CopyHub {
  readonly #queues: readonly IngressQueue[];
  readonly #placeCount: number;
  readonly #paceOf: PaceOf;
  /** Who takes a transfer's end, by queue and transfer. */
  readonly #owners: readonly Map<number, number[]>[];

  /** @param copies (devices) each one's copy engine */
  constructor(copies: readonly DeviceCopies[], placeCount: number, paceOf: PaceOf) {
    this.#placeCount = placeCount;
    this.#paceOf = paceOf;
    this.#queues = copies.map((engine) => new IngressQueue(engine, 2 * placeCount + 1));
    this.#owners = copies.map(() => new Map());
  }

  get deviceCount(): number {
    return this.#queues.length;
  }

  arrivals(device: number): Int32Array {
    return this.#queues[device]!.copies.arrivals;
  }

  /**
   * @param device whose copy engine carries it: the target's, or the source's towards a host
   * @param ended where the transfer's id is put when it has ended
   * @returns the transfer's id in that device's queue
   */
  push(
    device: number,
    transfer: Omit<IngressTransfer, "lane">,
    cause: CopyCause,
    ended: number[],
  ): number {
    const { from } = transfer.path;
    const lane = cause === "read" ? from : this.#placeCount + (cause === "exempt" ? 0 : 1 + from);
    const id = this.#queues[device]!.push({ ...transfer, lane });
    this.#owners[device]!.set(id, ended);
    return id;
  }

  /** @returns chunks of the transfer that had not been sent for. */
  cancel(device: number, id: number): number {
    this.#owners[device]!.delete(id);
    return this.#queues[device]!.cancel(id);
  }

  isOpen(device: number, id: number): boolean {
    return this.#queues[device]!.isOpen(id);
  }

  pump(nowNs: number): void {
    for (let device = 0; device < this.#queues.length; device++) {
      const queue = this.#queues[device]!;
      this.#setRates(queue, device);
      queue.pump(nowNs);
      for (const id of queue.ended) {
        this.#owners[device]!.get(id)?.push(id);
        this.#owners[device]!.delete(id);
      }
      queue.ended.length = 0;
    }
  }

  nextDueNs(): number {
    let dueNs = Infinity;
    for (const queue of this.#queues) dueNs = Math.min(dueNs, queue.nextDueNs());
    return dueNs;
  }

  get isIdle(): boolean {
    return this.#queues.every((queue) => queue.isIdle);
  }

  #setRates(queue: IngressQueue, device: number): void {
    const ownPace = this.#paceOf(device);
    for (let place = 0; place < this.#placeCount; place++) {
      queue.setRate(place, place === device ? Infinity : this.#paceOf(place));
      queue.setRate(this.#placeCount + 1 + place, ownPace);
    }
  }
}
