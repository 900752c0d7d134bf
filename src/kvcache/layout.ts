/**
 * How an engine lays KV blocks into slices.
 *
 * Asked by the cache (how many blocks fit), by the planner (how long a contiguous copy is) and by
 * moves (how many copies one takes). The pool does not know any of it.
 *
 *     slice:  | group 0                  | group 1                  | ...
 *             | block 0 | block 1 | ...  | block 0 | block 1 | ...  |
 *
 * Layer group by layer group, then block: what one layer group reads of neighbouring blocks of a
 * slice is one contiguous copy.
 */

import { assert } from "../base/index.ts";

/** Sizes in bytes of one engine's blocks and of the server's slices. */
export interface KvLayout {
  readonly blockTokens: number;
  readonly layers: number;
  /** One block over all layers. */
  readonly blockBytes: number;
  /** One block of one layer. */
  readonly blockLayerBytes: number;
  readonly sliceBytes: number;
  readonly blocksPerSlice: number;
}

/** @param kvBytesPerToken K and V of one token over all layers; the same for every layer. */
export function createKvLayout(
  kvBytesPerToken: number,
  layers: number,
  blockTokens: number,
  sliceBytes: number,
): KvLayout {
  const blockBytes = kvBytesPerToken * blockTokens;
  const blocksPerSlice = Math.floor(sliceBytes / blockBytes);
  assert(
    blocksPerSlice >= 1,
    () => `layout: a slice of ${sliceBytes} holds no block of ${blockBytes}`,
  );
  assert(
    blockBytes % layers === 0,
    () => `layout: ${layers} layers share a block of ${blockBytes}`,
  );
  return {
    blockTokens,
    layers,
    blockBytes,
    blockLayerBytes: blockBytes / layers,
    sliceBytes,
    blocksPerSlice,
  };
}
