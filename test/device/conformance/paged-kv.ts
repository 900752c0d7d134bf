// KV of one sequence in blocks that lie in any memory, in any order.

import type {
  AttentionBatch,
  AttentionShape,
  LayerPlace,
} from "../../../src/device/index.ts";
import type { FloatStore } from "./float-store.ts";

export interface PagedSequence {
  readonly sliceAddress: readonly number[];
  readonly indexInSlice: readonly number[];
}

/** How blocks of one layer lie in a slice; there is another layer's KV in front of this one's. */
export function placeOf(shape: AttentionShape, blockTokens: number): LayerPlace {
  const layerBytes = 2 * blockTokens * shape.kvHeads * shape.headDim * 4;
  return { blockStrideBytes: 3 * layerBytes, layerOffsetBytes: layerBytes };
}

/**
 * Puts KV into slices of two blocks, the second block first, one slice a store in turn.
 * @param keys (positions x kvHeads x headDim); the last block may be part full
 */
export function layOut(
  stores: readonly FloatStore[],
  keys: Float32Array,
  values: Float32Array,
  shape: AttentionShape,
  blockTokens: number,
): PagedSequence {
  const width = shape.kvHeads * shape.headDim;
  const place = placeOf(shape, blockTokens);
  const blocks = Math.ceil(keys.length / width / blockTokens);
  const sliceAddress: number[] = [];
  const indexInSlice: number[] = [];
  for (let block = 0; block < blocks; block++) {
    const store = stores[Math.floor(block / 2) % stores.length]!;
    const isFirst = block % 2 === 0;
    const slice = isFirst ? store.room((2 * place.blockStrideBytes) / 4) : sliceAddress.at(-1)!;
    const index = isFirst ? 1 : 0;
    sliceAddress.push(slice);
    indexInSlice.push(index);
    const address = slice + index * place.blockStrideBytes + place.layerOffsetBytes;
    const [first, end] = [block * blockTokens * width, (block + 1) * blockTokens * width];
    store.set(address, keys.subarray(first, end));
    store.set(address + blockTokens * width * 4, values.subarray(first, end));
  }
  return { sliceAddress, indexInSlice };
}

/** A batch of tokens, each with its sequence and position. */
export function batchOf(
  sequences: readonly PagedSequence[],
  tokens: readonly { readonly sequence: number; readonly position: number }[],
  blockTokens: number,
): AttentionBatch {
  const firstBlock = [0];
  for (const { sliceAddress } of sequences) {
    firstBlock.push(firstBlock.at(-1)! + sliceAddress.length);
  }
  return {
    tokenCount: tokens.length,
    sequenceOfToken: Int32Array.from(tokens, (token) => token.sequence),
    positionOfToken: Int32Array.from(tokens, (token) => token.position),
    firstBlock: Int32Array.from(firstBlock),
    sliceAddress: Float64Array.from(sequences.flatMap((sequence) => sequence.sliceAddress)),
    indexInSlice: Int32Array.from(sequences.flatMap((sequence) => sequence.indexInSlice)),
    blockTokens,
  };
}
