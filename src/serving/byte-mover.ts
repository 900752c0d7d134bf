/**
 * Moves bytes between the places of one server at once: for virtual time, where only the clock says
 * how long it takes.
 *
 * Used by the runner and the copy engine in virtual time. It knows addresses; the memory that a
 * target belongs to writes it, as only an owner writes its device.
 */

import { assert } from "../base/index.ts";
import type { CopyPiece, DeviceMemory } from "../device/index.ts";

export class ByteMover {
  readonly #memories: readonly DeviceMemory[];

  /** @param memories of every place, devices and hosts */
  constructor(memories: readonly DeviceMemory[]) {
    this.#memories = memories;
  }

  move(pieces: readonly CopyPiece[]): void {
    for (const { sourceAddress, targetAddress, bytes } of pieces) {
      const buffer = new Uint8Array(bytes);
      this.#ownerOf(sourceAddress).read(sourceAddress, buffer);
      this.#ownerOf(targetAddress).write(targetAddress, buffer);
    }
  }

  #ownerOf(address: number): DeviceMemory {
    const owner = this.#memories.find(
      ({ baseAddress, capacityBytes }) =>
        address >= baseAddress && address < baseAddress + capacityBytes,
    );
    assert(owner !== undefined, () => `byte mover: address ${address} is nobody's`);
    return owner;
  }
}
