/**
 * The queue in front of one device's copy engine: whose bytes cross next, cut into chunks.
 *
 * One a device, shared by the staging of its own steps and by moves into it. Transfers go by their
 * deadlines (prefetch/transfers.ts); a few chunks are under way at a time, so that an urgent one
 * waits for no bulk. It knows places and pieces, not blocks.
 *
 *     push -> [TransferQueue] -> chunk -> DeviceCopies -> ended
 *
 * Invariant: a transfer is told as ended once, when its last chunk has arrived, unless cancelled.
 */

import { assert } from "../base/index.ts";
import type { CopyPath, CopyPiece, DeviceCopies } from "../device/index.ts";
import { TransferQueue } from "../prefetch/index.ts";

export interface IngressTransfer {
  readonly path: CopyPath;
  /** Whose pace counts: an index of `setRate`. */
  readonly lane: number;
  readonly pieces: readonly CopyPiece[];
  readonly deadlineNs: number;
  /** Arrival counter that its chunks count in; 0 for none of its own. */
  readonly arrivalCell: number;
}

interface Open {
  readonly transfer: IngressTransfer;
  readonly bytes: number;
  chunksLeft: number;
  isCancelled: boolean;
}

const CHUNK_BYTES = 256 * 1024;
/** Enough that the copy thread finds the next chunk when one has ended. */
const CHUNKS_UNDER_WAY_MAX = 4;
const COPY_IDS = 2 ** 30;

export class IngressQueue {
  /** Transfers that have ended, for their submitters to take. */
  readonly ended: number[] = [];
  readonly copies: DeviceCopies;
  readonly #queue: TransferQueue;
  readonly #open = new Map<number, Open>();
  /** Transfer of each chunk under way, by copy id. */
  readonly #underWay = new Map<number, number>();
  #nextTransfer = 1;
  #nextCopy = 0;

  constructor(copies: DeviceCopies, laneCount: number) {
    this.copies = copies;
    this.#queue = new TransferQueue(laneCount, CHUNK_BYTES);
  }

  /** Chunks that a transfer of so many bytes is cut into: how often its cell goes up. */
  static chunksOf(bytes: number): number {
    return Math.ceil(bytes / CHUNK_BYTES);
  }

  setRate(lane: number, bytesPerSecond: number): void {
    this.#queue.setRate(lane, bytesPerSecond);
  }

  /** @returns the transfer's id. */
  push(transfer: IngressTransfer): number {
    const bytes = transfer.pieces.reduce((sum, piece) => sum + piece.bytes, 0);
    const id = this.#nextTransfer++;
    const { lane: source, deadlineNs } = transfer;
    const isTaken = this.#queue.push({ id, source, bytes, deadlineNs });
    assert(isTaken, () => `ingress queue: ${this.#queue.size} transfers wait`);
    const chunksLeft = IngressQueue.chunksOf(bytes);
    this.#open.set(id, { transfer, bytes, chunksLeft, isCancelled: false });
    return id;
  }

  /**
   * Nothing more of the transfer is sent for, and it is not told as ended.
   * @returns chunks that had not been sent for.
   */
  cancel(id: number): number {
    const open = this.#open.get(id);
    if (open === undefined) return 0;
    const unsentBytes = this.#queue.cancel(id) ?? 0;
    const unsent = IngressQueue.chunksOf(unsentBytes);
    open.chunksLeft -= unsent;
    open.isCancelled = true;
    if (open.chunksLeft === 0) this.#open.delete(id);
    return unsent;
  }

  /** Whether chunks of the transfer are still to arrive. */
  isOpen(id: number): boolean {
    return this.#open.has(id);
  }

  /** Takes what has arrived, sends for what may be sent for. */
  pump(nowNs: number): void {
    for (let copy = this.copies.poll(nowNs); copy >= 0; copy = this.copies.poll(nowNs)) {
      this.#arrived(copy);
    }
    while (this.#underWay.size < CHUNKS_UNDER_WAY_MAX) {
      const chunk = this.#queue.next(nowNs);
      if (chunk === null) return;
      const { transfer } = this.#open.get(chunk.id)!;
      const copy = this.#nextCopy;
      this.#nextCopy = (this.#nextCopy + 1) % COPY_IDS;
      this.#underWay.set(copy, chunk.id);
      const pieces = cut(transfer.pieces, chunk.offsetBytes, chunk.bytes);
      this.copies.submit(copy, transfer.path, pieces, Infinity, nowNs, transfer.arrivalCell);
    }
  }

  /** When sending is next worth a try; what is under way wakes by its arrival. */
  nextDueNs(): number {
    return this.#underWay.size < CHUNKS_UNDER_WAY_MAX ? this.#queue.nextDueNs() : Infinity;
  }

  /** Whether nothing waits and nothing is under way. */
  get isIdle(): boolean {
    return this.#open.size === 0;
  }

  #arrived(copy: number): void {
    const id = this.#underWay.get(copy)!;
    this.#underWay.delete(copy);
    const open = this.#open.get(id)!;
    if (--open.chunksLeft > 0) return;
    this.#open.delete(id);
    if (!open.isCancelled) this.ended.push(id);
  }
}

/** The part of a list of pieces from an offset on. */
function cut(pieces: readonly CopyPiece[], offsetBytes: number, bytes: number): CopyPiece[] {
  const parts: CopyPiece[] = [];
  let skip = offsetBytes;
  let left = bytes;
  for (const piece of pieces) {
    if (left === 0) break;
    if (skip >= piece.bytes) {
      skip -= piece.bytes;
      continue;
    }
    const taken = Math.min(left, piece.bytes - skip);
    parts.push({
      sourceAddress: piece.sourceAddress + skip,
      targetAddress: piece.targetAddress + skip,
      bytes: taken,
    });
    left -= taken;
    skip = 0;
  }
  return parts;
}
