/**
 * All ingress queues of a server, and the lanes in which bytes are paced.
 *
 * Shared by the runners and copy engines in real time. A lender that runs is read, and written, at
 * its share only; what a lender asked for itself is not paced. A device whose copies fail takes no
 * others with it: what it was asked to carry stays open until the device is given up.
 *
 *     lanes of a queue:  | read from place p | unpaced | written by the engine of place p |
 */

import { EmaError } from "../base/index.ts";
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
  /** (devices) why its copies have ended, or null. */
  readonly #failures: (EmaError | null)[];

  /** @param copies (devices) each one's copy engine */
  constructor(copies: readonly DeviceCopies[], placeCount: number, paceOf: PaceOf) {
    this.#placeCount = placeCount;
    this.#paceOf = paceOf;
    this.#queues = copies.map((engine) => new IngressQueue(engine, 2 * placeCount + 1));
    this.#owners = copies.map(() => new Map());
    this.#failures = copies.map(() => null);
  }

  /** Why the device carries no copies any more, or null. */
  failureOf(device: number): EmaError | null {
    return this.#failures[device]!;
  }

  /**
   * The device is gone and the pool has said so: what others moved there counts as ended. Not
   * before, as they would read there what never arrived.
   */
  giveUp(device: number): void {
    if (this.#failures[device] === null) return;
    for (const [id, ended] of this.#owners[device]!) ended.push(id);
    this.#owners[device]!.clear();
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
    return this.#failures[device] === null && this.#queues[device]!.isOpen(id);
  }

  pump(nowNs: number): void {
    for (let device = 0; device < this.#queues.length; device++) {
      if (this.#failures[device] !== null) continue;
      const queue = this.#queues[device]!;
      this.#setRates(queue, device);
      try {
        queue.pump(nowNs);
      } catch (error) {
        if (!(error instanceof EmaError)) throw error;
        this.#failures[device] = error;
      }
      for (const id of queue.ended) {
        this.#owners[device]!.get(id)?.push(id);
        this.#owners[device]!.delete(id);
      }
      queue.ended.length = 0;
    }
  }

  /** Blocks until a copy of the device has arrived or it has failed, at most `timeoutMs`. */
  waitForArrival(device: number, seen: number, timeoutMs: number): void {
    this.#queues[device]!.copies.waitForArrival(seen, timeoutMs);
  }

  nextDueNs(): number {
    let dueNs = Infinity;
    this.#queues.forEach((queue, device) => {
      if (this.#failures[device] === null) dueNs = Math.min(dueNs, queue.nextDueNs());
    });
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
