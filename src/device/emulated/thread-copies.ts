/**
 * The copy engine of one device in real time: a thread of its own carries copies out.
 *
 * Implements DeviceCopies. The ports say when a copy is due, as in virtual time; the thread moves
 * the bytes as soon as it can and tells of them when they are due, or later if the machine is slow.
 *
 *     submit -> [overflow, in order] -> ring -> thread -> ring -> poll
 *
 * Only the threads of a device's owner write its memory, and this one is of them.
 */

import type { Worker } from "node:worker_threads";
import { assert, EmaError, EventHeap } from "../../base/index.ts";
import type { CopyPath, CopyPiece, DeviceCopies } from "../ports.ts";
import { arrive } from "./arrivals.ts";
import {
  CopySender,
  createCopyRing,
  NO_ID,
  PIECES_MAX,
  type CopyCommand,
} from "./copy-ring.ts";
import type { CopyThreadData } from "./copy-thread.ts";
import type { LinkPorts } from "./link-ports.ts";
import { siblingModule, startThread } from "./module-thread.ts";
import { hasThreadEnded, UNKNOWN_THREAD } from "./thread-life.ts";
import type { WindowHandle } from "./window-handle.ts";

/** A thread that has not stopped by then is at a piece of gigabytes, or gone. */
const STOP_TIMEOUT_MS = 5000;

export class ThreadCopies implements DeviceCopies {
  readonly arrivals: Int32Array;
  readonly #device: number;
  readonly #ports: LinkPorts;
  readonly #sender: CopySender;
  readonly #thread: Worker;
  /** Commands for which the ring has no room yet; those before `#overflowSent` have gone. */
  #overflow: CopyCommand[] = [];
  #overflowSent = 0;
  /** When each copy under way is due, on the caller's clock. */
  readonly #dueNs = new Map<number, number>();
  /** The same in order of time; times at which nothing is under way go when they come up. */
  readonly #due = new EventHeap();
  /** How many copies under way are due at a time. */
  readonly #countAt = new Map<number, number>();
  /** The system's, once the thread has come up. */
  #threadNumber = UNKNOWN_THREAD;
  #failure: EmaError | null = null;
  #isOpen = true;
  readonly #ready: Promise<void>;
  /** Resolves when the thread has gone. */
  readonly ended: Promise<void>;

  private constructor(device: number, ports: LinkPorts, data: CopyThreadData) {
    this.#device = device;
    this.#ports = ports;
    this.arrivals = data.arrivals;
    this.#sender = new CopySender(data.ring);
    this.#thread = startThread(siblingModule("copy-thread", import.meta.url), {
      workerData: data,
      name: `ema-copy-${device}`,
    });
    this.#thread.on("error", (cause) => this.#fail(cause));
    this.ended = new Promise((resolve) => {
      this.#thread.on("exit", () => {
        if (this.#isOpen) this.#fail(null);
        resolve();
      });
    });
    this.#ready = new Promise((resolve) => {
      this.#thread.once("message", (threadNumber: number) => {
        this.#threadNumber = threadNumber;
        resolve();
      });
    });
  }

  /**
   * Resolves when the thread takes commands: its caller may then block and still be served.
   * @throws EmaError E_DEVICE when the thread does not come up
   */
  static async start(
    device: number,
    window: WindowHandle,
    ports: LinkPorts,
    arrivals: Int32Array,
  ): Promise<ThreadCopies> {
    const ring = createCopyRing();
    const copies = new ThreadCopies(device, ports, { ring, arrivals, window });
    await Promise.race([copies.#ready, copies.ended]);
    if (copies.#failure !== null) throw copies.#failure;
    return copies;
  }

  submit(
    id: number,
    path: CopyPath,
    pieces: readonly CopyPiece[],
    bytesPerSecondMax: number,
    nowNs: number,
    arrivalCell = 0,
  ): void {
    this.#assertAlive();
    assert(!this.#dueNs.has(id), `copy ${id} is under way already`);
    const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0);
    const dueNs = this.#ports.reserve(path, pieces.length, bytes, bytesPerSecondMax, nowNs);
    this.#dueNs.set(id, dueNs);
    this.#due.push(dueNs, id);
    this.#countAt.set(dueNs, (this.#countAt.get(dueNs) ?? 0) + 1);
    const clockNs = Number(process.hrtime.bigint()) + (dueNs - nowNs);
    let first = 0;
    for (; pieces.length - first > PIECES_MAX; first += PIECES_MAX) {
      const part = pieces.slice(first, first + PIECES_MAX);
      this.#overflow.push({ id: NO_ID, dueNs: clockNs, arrivalCell: 0, pieces: part });
    }
    this.#overflow.push({ id, dueNs: clockNs, arrivalCell, pieces: pieces.slice(first) });
    this.#flush();
  }

  poll(_nowNs: number): number {
    this.#assertAlive();
    const id = this.#sender.takeEnded();
    if (id !== -1) this.#forget(id);
    this.#flush();
    return id;
  }

  nextDueNs(): number {
    while (this.#due.size > 0 && !this.#countAt.has(this.#due.peekTimeNs())) this.#due.pop();
    return this.#due.peekTimeNs();
  }

  waitForArrival(seen: number, timeoutMs: number): void {
    if (Atomics.wait(this.arrivals, 0, seen, timeoutMs) !== "timed-out") return;
    // Who blocks gets no event of its end.
    if (hasThreadEnded(this.#threadNumber)) this.#fail(null);
  }

  /** Waits for the piece in flight: afterwards no byte moves. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#failure === null) this.#sender.stop(STOP_TIMEOUT_MS);
    void this.#thread.terminate();
  }

  #forget(id: number): void {
    const dueNs = this.#dueNs.get(id)!;
    this.#dueNs.delete(id);
    const left = this.#countAt.get(dueNs)! - 1;
    if (left > 0) this.#countAt.set(dueNs, left);
    else this.#countAt.delete(dueNs);
  }

  #flush(): void {
    const overflow = this.#overflow;
    let sent = this.#overflowSent;
    while (sent < overflow.length && this.#sender.push(overflow[sent]!)) sent++;
    // What has gone is dropped when it is all or most of the list, so that this costs little.
    if (sent === overflow.length) this.#overflow = [];
    else if (sent > overflow.length / 2) this.#overflow = overflow.slice(sent);
    this.#overflowSent = this.#overflow === overflow ? sent : 0;
  }

  #fail(cause: unknown): void {
    const why = cause instanceof Error ? `: ${cause.message.split("\n")[0]}` : "";
    const text = `the copy thread of device ${this.#device} has ended${why}`;
    this.#failure ??= new EmaError("E_DEVICE", text, { cause });
    // Whoever waits for a copy looks again, and finds out.
    arrive(this.arrivals, 0);
  }

  #assertAlive(): void {
    assert(this.#isOpen, `the copy engine of device ${this.#device} is used after close`);
    if (this.#failure !== null) throw this.#failure;
  }
}
