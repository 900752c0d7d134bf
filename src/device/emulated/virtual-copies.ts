/**
 * The copy engine of one device in virtual time: bytes move when they are polled past due.
 *
 * Implements DeviceCopies for runs in which time jumps. When a copy is due is the ports' business.
 *
 * Invariant: until a copy has been polled its target is untouched, so that a read before arrival
 * shows in a test instead of being right by luck.
 */

import { assert, EventHeap } from "../../base/index.ts";
import type { CopyPath, CopyPiece, DeviceCopies } from "../ports.ts";
import { arrive, copyBytes } from "./arrivals.ts";
import type { LinkPorts } from "./link-ports.ts";

interface PendingCopy {
  readonly pieces: readonly CopyPiece[];
  readonly arrivalCell: number;
}

export class VirtualCopies implements DeviceCopies {
  readonly arrivals: Int32Array;
  /** No thread has to end. */
  readonly ended = Promise.resolve();
  readonly #bytes: Uint8Array;
  readonly #ports: LinkPorts;
  readonly #due = new EventHeap();
  readonly #pending = new Map<number, PendingCopy>();

  /** @param bytes of a window in which the targets can be written */
  constructor(bytes: Uint8Array, ports: LinkPorts, arrivals: Int32Array) {
    this.#bytes = bytes;
    this.#ports = ports;
    this.arrivals = arrivals;
  }

  submit(
    id: number,
    path: CopyPath,
    pieces: readonly CopyPiece[],
    bytesPerSecondMax: number,
    nowNs: number,
    arrivalCell = 0,
  ): void {
    assert(!this.#pending.has(id), `copy ${id} is under way already`);
    const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0);
    const dueNs = this.#ports.reserve(path, pieces.length, bytes, bytesPerSecondMax, nowNs);
    this.#pending.set(id, { pieces: pieces.map((piece) => ({ ...piece })), arrivalCell });
    this.#due.push(dueNs, id);
  }

  poll(nowNs: number): number {
    if (this.#due.peekTimeNs() > nowNs) return -1;
    const id = this.#due.pop();
    const { pieces, arrivalCell } = this.#pending.get(id)!;
    this.#pending.delete(id);
    for (const { sourceAddress, targetAddress, bytes } of pieces) {
      copyBytes(this.#bytes, sourceAddress, targetAddress, bytes);
    }
    arrive(this.arrivals, arrivalCell);
    return id;
  }

  nextDueNs(): number {
    return this.#due.peekTimeNs();
  }

  waitForArrival(): void {
    // Time stands still for whoever waits.
  }

  close(): void {
    // Nothing runs by itself; what is pending is dropped with this object.
  }
}
