/**
 * A borrower's ingress port during one step: a FIFO of layer groups' copies, with direct reads
 * first.
 *
 * Driven by the timeline, group by group, in the order first, take, next, read, take, next, read
 * ... It knows no compute: only when a group is wanted and when a ring slot is free. Times are
 * float nanoseconds after the step's start.
 *
 *     first --> [copies in flight] --take--> [group at hand] --next--> [copies of the next group]
 *                                                                 read: pushes them back
 *
 * Invariant: a train begins when its slot is free and the port has ended the train before.
 */

import type { StepLoads } from "./step-loads.ts";

export class IngressPort {
  /** When the copies last begun begin, direct reads left aside, and when they end. */
  beginNs = 0;
  arriveNs = 0;
  /** From when the port could work on them: laying the step again from that group starts here. */
  fromNs = 0;
  /** Time remote reads were under way for the group taken last: its copies, then its reads. */
  busyNs = 0;
  #isStaged = false;
  #isInFlight = false;
  #latencyNs = 0;
  /** Of a full group and of the step's last one, which may be smaller. */
  #fullCopyNs = 0;
  #lastCopyNs = 0;
  #fullPushNs = 0;
  #lastPushNs = 0;
  /** Of the copies in flight. */
  #copyNs = 0;
  #pushNs = 0;
  #copyBusyNs = 0;

  open(loads: StepLoads, latencyNs: number, groupLayers: number, lastLayers: number): void {
    this.#isStaged = loads.stagedBytes > 0;
    this.#isInFlight = false;
    this.#latencyNs = latencyNs;
    this.#fullCopyNs = loads.copyNs(groupLayers);
    this.#lastCopyNs = loads.copyNs(lastLayers);
    this.#fullPushNs = loads.pushNs(groupLayers, groupLayers);
    this.#lastPushNs = loads.pushNs(groupLayers, lastLayers);
    this.busyNs = 0;
    this.#copyBusyNs = 0;
  }

  /** The first group: a share of it could be copied from aheadNs on, the rest from the start. */
  first(aheadNs: number, aheadShare: number, isLast: boolean): void {
    this.#pick(isLast);
    this.fromNs = aheadNs;
    if (!this.#isStaged) return;
    const aheadCopyNs = aheadShare * this.#copyNs;
    const aheadEndNs = aheadCopyNs > 0 ? aheadNs + this.#latencyNs + aheadCopyNs : aheadNs;
    const lateNs = Math.max(aheadEndNs, this.#latencyNs);
    this.beginNs = aheadCopyNs > 0 ? aheadNs + this.#latencyNs : lateNs;
    this.arriveNs = aheadShare === 1 ? aheadEndNs : lateNs + this.#copyNs - aheadCopyNs;
    this.#copyBusyNs = this.#latencyNs + this.#copyNs;
  }

  /** The compute wants the group at hand. @returns how long it waits. */
  take(wantedNs: number): number {
    this.#isInFlight = false;
    this.busyNs = this.#copyBusyNs;
    if (!this.#isStaged) return 0;
    return Math.max(this.arriveNs - wantedNs, 0);
  }

  /** The next group's copies; the port has ended those before, the slot is free at slotFreeNs. */
  next(slotFreeNs: number, isLast: boolean): void {
    if (!this.#isStaged) {
      this.fromNs = slotFreeNs;
      return;
    }
    this.#pick(isLast);
    const freeNs = Math.max(this.arriveNs, slotFreeNs);
    // A latency that began when the slot became free has passed while the port was busy.
    this.beginNs = Math.max(this.arriveNs, slotFreeNs + this.#latencyNs);
    this.arriveNs = this.beginNs + this.#copyNs;
    this.fromNs = this.beginNs - this.#latencyNs;
    this.#copyBusyNs = this.arriveNs - freeNs;
    this.#isInFlight = true;
  }

  /** Direct reads of the group at hand, from attendNs on: copies in flight wait for them. */
  read(attendNs: number, readNs: number): void {
    if (readNs === 0) return;
    if (!this.#isInFlight || this.arriveNs <= attendNs) {
      this.busyNs += readNs;
      return;
    }
    const copiedNs = this.arriveNs;
    // Copies that are still in their latency give way only for what is left of the reads then.
    const againNs = Math.min(this.beginNs, attendNs) + this.#pushNs;
    const pushedNs = Math.max(againNs - this.beginNs, 0);
    this.arriveNs += pushedNs;
    this.fromNs += pushedNs;
    this.busyNs += Math.max(this.arriveNs, attendNs + readNs) - copiedNs;
  }

  /** @returns when the port has ended what the last group needed. */
  idleNs(attendNs: number, readNs: number): number {
    const readEndNs = readNs > 0 ? attendNs + readNs : 0;
    return this.#isStaged ? Math.max(this.arriveNs, readEndNs) : readEndNs;
  }

  #pick(isLast: boolean): void {
    this.#copyNs = isLast ? this.#lastCopyNs : this.#fullCopyNs;
    this.#pushNs = isLast ? this.#lastPushNs : this.#fullPushNs;
  }
}
