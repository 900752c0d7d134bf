/**
 * Clears an engine's own slices before other tenants may borrow them.
 *
 * Implements the arena's port over the device's background clearing. It knows rows and addresses;
 * whoever drives the server lets it advance where time is left.
 */

import { BackgroundClearing, type DeviceMemory } from "../device/index.ts";
import type { SliceClearing } from "../kvcache/index.ts";
import type { KvGeometry } from "./kv-geometry.ts";

export class EmulatedClearing implements SliceClearing {
  /** Slices cleared so far. */
  clearedSlices = 0;
  readonly #clearing: BackgroundClearing;
  readonly #geometry: KvGeometry;

  constructor(memory: DeviceMemory, geometry: KvGeometry) {
    this.#clearing = new BackgroundClearing(memory);
    this.#geometry = geometry;
  }

  get hasWork(): boolean {
    return this.#clearing.pendingBytes > 0;
  }

  begin(row: number): void {
    const { rowAddress, layout } = this.#geometry;
    this.#clearing.submit(row, rowAddress[row]!, layout.sliceBytes);
  }

  cancel(row: number): void {
    this.#clearing.cancel(row);
  }

  advance(bytesMax: number): void {
    this.#clearing.advance(bytesMax);
  }

  poll(): number {
    const row = this.#clearing.poll();
    if (row >= 0) this.clearedSlices++;
    return row;
  }
}
