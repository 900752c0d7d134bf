/**
 * Copy commands on their way to a copy thread, and the ids of copies on their way back.
 *
 * One thread submits, one carries out; neither waits for the other's lock, for there is none. Both
 * directions are rings in shared memory.
 *
 *     words (float64):  | id | dueNs | arrivalCell | pieces | source | target | bytes | source ...
 *     control (int32):  | head | tail | endHead | endTail | wake | isStopping | isStopped |
 *
 * The submitter writes words, then moves head; the thread reads words, then moves tail. Positions
 * are counts of words modulo 2^32; the rings' lengths are powers of two.
 *
 * Invariant: at most END_SLOTS copies are between `push` and `takeEnded`, so that the thread always
 * has room to say that one has ended.
 */

import { assert } from "../../base/index.ts";
import type { CopyPiece } from "../ports.ts";

const WORDS = 2 ** 16;
const HEAD_WORDS = 4;
const PIECE_WORDS = 3;
const END_SLOTS = 2 ** 12;

/** Pieces of one command; longer copies are several commands of which the last has the id. */
export const PIECES_MAX = 4096;

const HEAD = 0;
const TAIL = 1;
const END_HEAD = 2;
const END_TAIL = 3;
const WAKE = 4;
const STOPPING = 5;
const STOPPED = 6;
const CONTROL_CELLS = 7;

/** What both threads hold; can be posted. */
export interface CopyRingMemory {
  readonly words: Float64Array;
  readonly ended: Int32Array;
  readonly control: Int32Array;
}

/** A command without an end of its own: more pieces of the copy follow. */
export const NO_ID = -1;

export interface CopyCommand {
  readonly id: number;
  /** On the machine's monotonic clock; not before. */
  readonly dueNs: number;
  readonly arrivalCell: number;
  readonly pieces: readonly CopyPiece[];
}

export function createCopyRing(): CopyRingMemory {
  const shared = (bytes: number): SharedArrayBuffer => new SharedArrayBuffer(bytes);
  return {
    words: new Float64Array(shared(WORDS * Float64Array.BYTES_PER_ELEMENT)),
    ended: new Int32Array(shared(END_SLOTS * Int32Array.BYTES_PER_ELEMENT)),
    control: new Int32Array(shared(CONTROL_CELLS * Int32Array.BYTES_PER_ELEMENT)),
  };
}

/** The submitter's side. */
export class CopySender {
  readonly #memory: CopyRingMemory;
  #underWay = 0;

  constructor(memory: CopyRingMemory) {
    this.#memory = memory;
  }

  /** @returns whether there was room; nothing has changed if not */
  push(command: CopyCommand): boolean {
    const { words, control } = this.#memory;
    assert(command.pieces.length <= PIECES_MAX, `${command.pieces.length} pieces in one command`);
    const head = control[HEAD]!;
    const used = (head - Atomics.load(control, TAIL)) >>> 0;
    const length = HEAD_WORDS + PIECE_WORDS * command.pieces.length;
    if (used + length > WORDS || this.#underWay === END_SLOTS) return false;
    let at = head;
    const put = (word: number): void => {
      words[at++ & (WORDS - 1)] = word;
    };
    put(command.id);
    put(command.dueNs);
    put(command.arrivalCell);
    put(command.pieces.length);
    for (const piece of command.pieces) {
      put(piece.sourceAddress);
      put(piece.targetAddress);
      put(piece.bytes);
    }
    if (command.id !== NO_ID) this.#underWay++;
    Atomics.store(control, HEAD, at | 0);
    this.#wake();
    return true;
  }

  /** @returns the id of a copy that has ended, or -1. */
  takeEnded(): number {
    const { ended, control } = this.#memory;
    const tail = control[END_TAIL]!;
    if (tail === Atomics.load(control, END_HEAD)) return -1;
    const id = ended[tail & (END_SLOTS - 1)]!;
    Atomics.store(control, END_TAIL, (tail + 1) | 0);
    this.#underWay--;
    return id;
  }

  /** Lets the thread finish the piece it is at. @returns whether it stopped within `timeoutMs`. */
  stop(timeoutMs: number): boolean {
    const { control } = this.#memory;
    Atomics.store(control, STOPPING, 1);
    this.#wake();
    return Atomics.wait(control, STOPPED, 0, timeoutMs) !== "timed-out";
  }

  #wake(): void {
    Atomics.add(this.#memory.control, WAKE, 1);
    Atomics.notify(this.#memory.control, WAKE);
  }
}

/** The copy thread's side. */
export class CopyReceiver {
  readonly #memory: CopyRingMemory;

  constructor(memory: CopyRingMemory) {
    this.#memory = memory;
  }

  get isStopping(): boolean {
    return Atomics.load(this.#memory.control, STOPPING) === 1;
  }

  /** Read before looking for work, so that `sleep` does not miss what comes in between. */
  get wakeCount(): number {
    return Atomics.load(this.#memory.control, WAKE);
  }

  /** @returns the next command, or `null`: none is there. */
  take(): CopyCommand | null {
    const { words, control } = this.#memory;
    let at = control[TAIL]!;
    if (at === Atomics.load(control, HEAD)) return null;
    const get = (): number => words[at++ & (WORDS - 1)]!;
    const [id, dueNs, arrivalCell, count] = [get(), get(), get(), get()];
    const pieces: CopyPiece[] = [];
    for (let piece = 0; piece < count; piece++) {
      pieces.push({ sourceAddress: get(), targetAddress: get(), bytes: get() });
    }
    Atomics.store(control, TAIL, at | 0);
    return { id, dueNs, arrivalCell, pieces };
  }

  end(id: number): void {
    const { ended, control } = this.#memory;
    const head = control[END_HEAD]!;
    ended[head & (END_SLOTS - 1)] = id;
    Atomics.store(control, END_HEAD, (head + 1) | 0);
  }

  /** Until somebody wakes it since `wakeCount` was read, or for `timeoutMs`. */
  sleep(wakeCount: number, timeoutMs: number): void {
    Atomics.wait(this.#memory.control, WAKE, wakeCount, timeoutMs);
  }

  stopped(): void {
    Atomics.store(this.#memory.control, STOPPED, 1);
    Atomics.notify(this.#memory.control, STOPPED);
  }
}
