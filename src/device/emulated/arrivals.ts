/**
 * How a copy says that it has arrived, and how its bytes are moved.
 *
 * Called by copies in virtual time and by the thread that carries out copies in real time.
 *
 * Cell 0 counts every copy of its device: a loop with nothing else to do may wait for it
 * (Atomics.waitAsync). The cells behind it are the caller's to give meaning to.
 */

/** Cells of one device's arrival counters. */
export const ARRIVAL_CELLS = 4096;

/** @returns counters at zero, in memory that threads share. */
export function createArrivals(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(ARRIVAL_CELLS * Int32Array.BYTES_PER_ELEMENT));
}

/** The additions come after the bytes for every thread that reads a counter with Atomics. */
export function arrive(arrivals: Int32Array, cell: number): void {
  Atomics.add(arrivals, 0, 1);
  Atomics.notify(arrivals, 0);
  if (cell === 0) return;
  Atomics.add(arrivals, cell, 1);
  Atomics.notify(arrivals, cell);
}

/** Source and target may overlap, as with memmove. */
export function copyBytes(
  window: Uint8Array,
  sourceAddress: number,
  targetAddress: number,
  bytes: number,
): void {
  // On Node 24 `copyWithin` of shared memory runs at half the speed of `set`.
  window.set(window.subarray(sourceAddress, sourceAddress + bytes), targetAddress);
}
