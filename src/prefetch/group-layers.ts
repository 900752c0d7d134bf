/**
 * How many layers are copied together, and the memory that costs.
 *
 * Called when an engine's layout is chosen (slices are laid out layer group by layer group) and by
 * the closed forms. It knows a typical run and the staged bytes, not the slices.
 *
 * The trade: one copy moves one run of a whole group, so a group of g layers pays g times fewer
 * copy costs; but the ring holds two groups, and what the ring takes is lost to the KV cache.
 */

import type { LinkCosts } from "./step-compute.ts";

/**
 * Where copies need no company: at 376 GB/s 1.5 MB take 4.0 us beside 2.3 us of copy cost, and at
 * 276 GB/s 5.4 us (docs/METHOD.md, "What links and copies cost": batched copies and link rates).
 */
const COPY_BYTES_ENOUGH = 1.5e6;

/** Two layer groups of staged bytes: one is read while the other is filled. */
export function ringBytes(groupLayers: number, stagedBytesPerLayer: number): number {
  return 2 * groupLayers * stagedBytesPerLayer;
}

/**
 * Layers a group. One, unless a typical copy would be under 1.5 MB; then up to the smallest count
 * that reaches it, but never more than a quarter of the layers (with fewer than four groups the
 * ring holds half the step's bytes and more). Among these counts the one with the least sum of two
 * losses is taken, the smaller count on a tie:
 *
 *     copy cost / (copy cost + g run / port)      the share of link time that moves nothing
 *     ringBytes(g) / memory                       the share of the KV memory that holds no KV
 *
 * They are added as if equally dear: link time lost shortens what may be borrowed in the same
 * proportion in which ring memory does, at the balance point.
 *
 * @param runBytesPerLayer bytes of one layer in a typical contiguous run; at least 1.
 * @param stagedBytesPerLayer what is expected to be staged.
 * @param memoryBytes the engine's KV memory, own and borrowed.
 */
export function chooseGroupLayers(
  layers: number,
  runBytesPerLayer: number,
  stagedBytesPerLayer: number,
  memoryBytes: number,
  link: LinkCosts,
): number {
  const enough = Math.ceil(COPY_BYTES_ENOUGH / runBytesPerLayer);
  const most = Math.max(1, Math.min(enough, Math.floor(layers / 4)));
  let best = 1;
  let bestLoss = Infinity;
  for (let groupLayers = 1; groupLayers <= most; groupLayers++) {
    const bytesNs = (groupLayers * runBytesPerLayer * 1e9) / link.portBytesPerSecond;
    const copyLoss = link.copyCostNs / (link.copyCostNs + bytesNs);
    const loss = copyLoss + ringBytes(groupLayers, stagedBytesPerLayer) / memoryBytes;
    if (loss < bestLoss) {
      best = groupLayers;
      bestLoss = loss;
    }
  }
  return best;
}
