// Floats in device memory, as tests put and read them.

import type { DeviceMemory } from "../../../src/device/index.ts";

/** Takes all of a device's memory and gives it out in order, on addresses of no great roundness. */
export class FloatStore {
  readonly memory: DeviceMemory;
  readonly #start: number;
  #usedBytes = 0;

  constructor(memory: DeviceMemory) {
    this.memory = memory;
    this.#start = memory.allocate(memory.capacityBytes)!;
  }

  /** @returns the address of `count` floats at zero. */
  room(count: number): number {
    const address = this.#start + this.#usedBytes;
    this.#usedBytes += 4 * (count + 1);
    if (this.#usedBytes > this.memory.capacityBytes) throw new Error("the test needs more memory");
    return address;
  }

  put(values: ArrayLike<number>): number {
    const address = this.room(values.length);
    this.set(address, values);
    return address;
  }

  set(address: number, values: ArrayLike<number>): void {
    this.memory.write(address, new Uint8Array(Float32Array.from(values).buffer));
  }

  get(address: number, count: number): Float32Array {
    const bytes = new Uint8Array(count * 4);
    this.memory.read(address, bytes);
    return new Float32Array(bytes.buffer);
  }

  /** Makes all that was put void. */
  reset(): void {
    this.memory.clear(this.#start, this.#usedBytes);
    this.#usedBytes = 0;
  }
}
