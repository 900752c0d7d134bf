/**
 * The thread of one copy engine: takes commands, moves bytes, says when they are due.
 *
 * Started by ThreadCopies; knows neither paths nor ports. It moves the bytes at once and tells of
 * their arrival when it is due, so that pacing costs no waiting copies behind it.
 *
 *     sleep -> take commands, move their bytes -> tell what is due -> sleep until woken or due
 */

import { parentPort, workerData } from "node:worker_threads";
import { arrive, copyBytes } from "./arrivals.ts";
import { NO_ID, CopyReceiver, type CopyCommand, type CopyRingMemory } from "./copy-ring.ts";
import { ownThread } from "./thread-life.ts";
import { openWindow, type WindowHandle } from "./window-handle.ts";

export interface CopyThreadData {
  readonly ring: CopyRingMemory;
  readonly arrivals: Int32Array;
  readonly window: WindowHandle;
}

const NS_PER_MS = 1e6;

/** Copies whose bytes are there and whose time has not come, the earliest first. */
const early: CopyCommand[] = [];

function run({ ring, arrivals, window: handle }: CopyThreadData): void {
  const receiver = new CopyReceiver(ring);
  const window = openWindow(handle);
  parentPort!.postMessage(ownThread(), []);
  while (!receiver.isStopping) {
    const { wakeCount } = receiver;
    for (let command = receiver.take(); command !== null; command = receiver.take()) {
      for (const { sourceAddress, targetAddress, bytes } of command.pieces) {
        copyBytes(window.bytes, sourceAddress, targetAddress, bytes);
      }
      if (command.id !== NO_ID) hold(command);
      tellDue(receiver, arrivals);
      if (receiver.isStopping) break;
    }
    tellDue(receiver, arrivals);
    const waitNs = early.length > 0 ? early[0]!.dueNs - nowNs() : Infinity;
    if (waitNs > 0) receiver.sleep(wakeCount, waitNs / NS_PER_MS);
  }
  window.close();
  receiver.stopped();
}

/** Equal times stay in the order in which they came. */
function hold(command: CopyCommand): void {
  let index = early.length;
  while (index > 0 && early[index - 1]!.dueNs > command.dueNs) index--;
  early.splice(index, 0, command);
}

function tellDue(receiver: CopyReceiver, arrivals: Int32Array): void {
  while (early.length > 0 && early[0]!.dueNs <= nowNs()) {
    const { id, arrivalCell } = early.shift()!;
    receiver.end(id);
    arrive(arrivals, arrivalCell);
  }
}

function nowNs(): number {
  return Number(process.hrtime.bigint());
}

run(workerData as CopyThreadData);
