/**
 * Where staged blocks lie in the ring: two halves of equal units, over slices that are not
 * neighbours.
 *
 * Made anew when the planner has changed the ring. A unit takes one block of any layer group; the
 * halves take turns, one group each. It knows addresses, not who is staged.
 *
 *     ring row 5: | unit 0 | 1 | 2 | rest |   ring row 9: | 3 | 4 | 5 | rest |
 *     half 0: units 0, 1, 2                    half 1: units 3, 4, 5
 */

import type { KvGeometry } from "./kv-geometry.ts";

export class RingPlaces {
  readonly unitsPerHalf: number;
  readonly #rowAddress: readonly number[];
  readonly #unitBytes: number;
  readonly #unitsPerRow: number;

  /** @param rowAddress of each of the ring's slices, in the order in which they joined it */
  constructor(geometry: KvGeometry, rowAddress: readonly number[]) {
    this.#rowAddress = rowAddress;
    this.#unitBytes = geometry.groupBlockBytes(0);
    this.#unitsPerRow = Math.floor(geometry.layout.sliceBytes / this.#unitBytes);
    this.unitsPerHalf = Math.floor((rowAddress.length * this.#unitsPerRow) / 2);
  }

  address(half: number, unit: number): number {
    const index = half * this.unitsPerHalf + unit;
    const row = Math.floor(index / this.#unitsPerRow);
    return this.#rowAddress[row]! + (index - row * this.#unitsPerRow) * this.#unitBytes;
  }
}
