/**
 * Whether a thread of this process still runs, asked without an event loop.
 *
 * Node tells of a thread's end by an event, which never comes to whoever blocks until that very
 * thread has done something. Linux lists the threads of a process as files; elsewhere nothing is
 * known, and a thread counts as running until its event comes.
 */

import { existsSync, readlinkSync } from "node:fs";

/** What is told where there is no such list. */
export const UNKNOWN_THREAD = 0;

/** @returns the number by which the system knows the thread that asks. */
export function ownThread(): number {
  try {
    // "<process>/task/<thread>"
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return UNKNOWN_THREAD;
  }
}

export function hasThreadEnded(thread: number): boolean {
  return thread !== UNKNOWN_THREAD && !existsSync(`/proc/self/task/${thread}`);
}
