/**
 * How many layers are copied together, and the memory that costs.
 *
 * Called when an engine is made and by the closed forms. It knows how long a typical run is, not
 * the slices, and is told what each count of layers serves.
 *
 * The trade: one copy moves one run of a whole group, so a group of g layers pays g times fewer
 * copy costs; but the ring holds two groups, and what the ring takes is lost to the KV cache. Where
 * little may be borrowed the link has time for many copies and the ring costs more; where much may
 * be borrowed it is the other way round.
 */

/**
 * Where copies need no more company: at 376 GB/s 6 MB take 16 us beside 2.3 us of copy cost, and at
 * 276 GB/s 22 us (docs/METHOD.md, "What links and copies cost": batched copies and link rates).
 */
const COPY_BYTES_ENOUGH = 6e6;
/** Gains below it are not worth a larger ring. */
const GAIN_MIN = 1e-3;

/** Two layer groups of staged bytes: one is read while the other is filled. */
export function ringBytes(groupLayers: number, stagedBytesPerLayer: number): number {
  return 2 * groupLayers * stagedBytesPerLayer;
}

/**
 * Layers a group: the count that serves the most, the smaller one where it makes no difference. No
 * more than a typical copy of 6 MB needs, and never more than a quarter of the layers: with fewer
 * than four groups the ring holds half the step's bytes and more.
 *
 * @param runBytesPerLayer bytes of one layer in a typical contiguous run; at least 1.
 * @param servedBy tokens a second, in any unit, with so many layers a group.
 */
export function chooseGroupLayers(
  layers: number,
  runBytesPerLayer: number,
  servedBy: (groupLayers: number) => number,
): number {
  const enough = Math.ceil(COPY_BYTES_ENOUGH / runBytesPerLayer);
  const most = Math.max(1, Math.min(enough, Math.floor(layers / 4)));
  let best = 1;
  if (most === 1) return best;
  let bestServed = servedBy(1);
  for (let groupLayers = 2; groupLayers <= most; groupLayers++) {
    const served = servedBy(groupLayers);
    if (served <= bestServed * (1 + GAIN_MIN)) continue;
    best = groupLayers;
    bestServed = served;
  }
  return best;
}
