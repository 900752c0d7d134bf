/**
 * The rows of an engine's slice table: every slice of the server, then slices of the host.
 *
 * Laid out once, by whoever makes the engines of a server. Rows of slices are alike in all of
 * them, so that a row is the pool's SliceId; which source a row belongs to is each one's own view.
 *
 *     | slices of engine 0 | ... of engine n-1 | host slices, as many as own |
 *       source 1, the own 0        source n              source n + 1
 */

export interface SliceRows {
  readonly sourceOfRow: Int16Array;
  readonly hostRows: readonly number[];
}

/**
 * @param slicesOf (engines)
 * @param index whose view it is
 * @param hasHost whether its blocks may move to the host
 */
export function laySliceRows(
  slicesOf: readonly number[],
  index: number,
  hasHost: boolean,
): SliceRows {
  const sources: number[] = [];
  slicesOf.forEach((slices, other) => {
    for (let slice = 0; slice < slices; slice++) sources.push(other === index ? 0 : other + 1);
  });
  const hostRows: number[] = [];
  const hostSlices = hasHost ? slicesOf[index]! : 0;
  for (let slice = 0; slice < hostSlices; slice++) {
    hostRows.push(sources.length);
    sources.push(slicesOf.length + 1);
  }
  return { sourceOfRow: Int16Array.from(sources), hostRows };
}
