/**
 * Splits a count over weights in proportion, in whole numbers. A pure function.
 *
 * Called by the leases to spread a recall. The method of largest remainders (Hamilton's): everybody
 * gets the whole part of its share, what is left goes to the largest fractions, among equal ones to
 * the larger weight, then to the lower index.
 */

/**
 * @param weights whole numbers; also the most each may get.
 * @returns parts parallel to `weights` that sum to min(count, sum of weights).
 */
export function apportion(count: number, weights: readonly number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (count >= total) return [...weights];
  // count x weight stays far below 2^53, so quotients and remainders are exact.
  const parts = weights.map((weight) => Math.floor((count * weight) / total));
  let left = count - parts.reduce((sum, part) => sum + part, 0);
  const byRemainder = weights
    .map((weight, index) => ({ index, weight, remainder: (count * weight) % total }))
    .sort((a, b) => b.remainder - a.remainder || b.weight - a.weight || a.index - b.index);
  for (const { index } of byRemainder) {
    if (left === 0) break;
    parts[index]!++;
    left--;
  }
  return parts;
}
