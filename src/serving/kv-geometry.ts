/**
 * Where the KV of blocks lies in device memory: rows of slices, layer groups in them, blocks.
 *
 * Used by runners and copy engines that move real bytes. It knows addresses and a layout; whose a
 * slice is, and what is in it, it does not.
 *
 *     slice:  | group 0: block 0 | block 1 | ... | group 1: block 0 | block 1 | ... |
 *     block of a group:  | layer first | layer first + 1 | ...
 *
 * The last group may have fewer layers, and its blocks are as much shorter.
 */

import { assert } from "../base/index.ts";
import type { CopyPiece, LayerPlace } from "../device/index.ts";
import type { KvLayout } from "../kvcache/index.ts";

export class KvGeometry {
  readonly layout: KvLayout;
  readonly groupLayers: number;
  readonly groupCount: number;
  /** (rows) address of every slice of the server and of the host's; NaN where there is none. */
  readonly rowAddress: Float64Array;
  /** (groups) offset of each in a slice. */
  readonly #groupOffsetBytes: Float64Array;

  constructor(layout: KvLayout, groupLayers: number, rowAddress: Float64Array) {
    this.layout = layout;
    this.groupLayers = groupLayers;
    this.groupCount = Math.ceil(layout.layers / groupLayers);
    this.rowAddress = rowAddress;
    const groupBytes = groupLayers * layout.blockLayerBytes * layout.blocksPerSlice;
    this.#groupOffsetBytes = Float64Array.from(
      { length: this.groupCount },
      (_, group) => group * groupBytes,
    );
  }

  firstLayer(group: number): number {
    return group * this.groupLayers;
  }

  layersOf(group: number): number {
    return Math.min(this.groupLayers, this.layout.layers - this.firstLayer(group));
  }

  /** Bytes of one block in a group. */
  groupBlockBytes(group: number): number {
    return this.layersOf(group) * this.layout.blockLayerBytes;
  }

  groupOffsetBytes(group: number): number {
    return this.#groupOffsetBytes[group]!;
  }

  /** Where a layer lies in every block of its group. */
  layerPlace(layer: number): LayerPlace {
    const group = Math.floor(layer / this.groupLayers);
    const within = (layer - this.firstLayer(group)) * this.layout.blockLayerBytes;
    return {
      blockStrideBytes: this.groupBlockBytes(group),
      layerOffsetBytes: this.groupOffsetBytes(group) + within,
    };
  }

  /** The address of a slot's part of a layer group. */
  blockAddress(handle: number, group: number): number {
    const { blocksPerSlice } = this.layout;
    const row = Math.floor(handle / blocksPerSlice);
    const address = this.rowAddress[row]!;
    assert(address > 0, () => `geometry: slice ${row} lies nowhere`);
    const slot = handle - row * blocksPerSlice;
    return address + this.groupOffsetBytes(group) + slot * this.groupBlockBytes(group);
  }

  /** Whole blocks from slots to slots, in as few contiguous pieces as their places allow. */
  pieces(sourceHandles: Int32Array, targetHandles: Int32Array): CopyPiece[] {
    const pieces: CopyPiece[] = [];
    for (let group = 0; group < this.groupCount; group++) {
      const bytes = this.groupBlockBytes(group);
      for (let index = 0; index < sourceHandles.length; index++) {
        const sourceAddress = this.blockAddress(sourceHandles[index]!, group);
        const targetAddress = this.blockAddress(targetHandles[index]!, group);
        addPiece(pieces, sourceAddress, targetAddress, bytes);
      }
    }
    return pieces;
  }
}

/** Adds to the last piece what follows it at both ends. */
export function addPiece(
  pieces: CopyPiece[],
  sourceAddress: number,
  targetAddress: number,
  bytes: number,
): void {
  const last = pieces.at(-1);
  const isNext =
    last !== undefined &&
    last.sourceAddress + last.bytes === sourceAddress &&
    last.targetAddress + last.bytes === targetAddress;
  if (!isNext) {
    pieces.push({ sourceAddress, targetAddress, bytes });
    return;
  }
  pieces[pieces.length - 1] = { ...last, bytes: last.bytes + bytes };
}
