/**
 * How fast borrowed slices can be read together, from where the pool would place them.
 *
 * Called by the borrow controller for each amount it considers. On a switch every path is as fast
 * as the port and the answer is the port's speed; in a mesh or over links of a user's own a few
 * slices behind one slow path can hold up a whole step.
 *
 * A step waits for the source that needs longest. Slices are placed as the pool does it: fastest
 * path first, and among equally fast lenders the one with the fewest.
 */

/** Halvings of a range of some hundred slices: exact to a thousandth of one. */
const SURFACE_ROUNDS = 20;

/** (engines) columns; the borrower's own entry has no path. */
export interface LoanSources {
  /** Slices held already. */
  readonly heldSlices: Float64Array;
  /** Slices that could be had. */
  readonly idleSlices: Float64Array;
  /** 0 where there is no path. */
  readonly pathBytesPerSecond: Float64Array;
}

/** @returns the speed at which `slices` are read in all, at most the port's. */
export function loanBytesPerSecond(
  slices: number,
  sources: LoanSources,
  portBytesPerSecond: number,
): number {
  const { heldSlices, idleSlices, pathBytesPerSecond } = sources;
  // Through a switch each path alone fills the port.
  if (pathBytesPerSecond.every((path) => path === 0 || path >= portBytesPerSecond)) {
    return portBytesPerSecond;
  }
  const placed = Float64Array.from(heldSlices);
  const capacity = new Float64Array(placed.length);
  let left = slices - heldSlices.reduce((sum, held) => sum + held, 0);
  let path = fastestBelow(Infinity, pathBytesPerSecond);
  for (; left > 0 && path > 0; path = fastestBelow(path, pathBytesPerSecond)) {
    for (let lender = 0; lender < capacity.length; lender++) {
      const isNext = pathBytesPerSecond[lender] === path;
      capacity[lender] = isNext ? heldSlices[lender]! + idleSlices[lender]! : 0;
    }
    left -= fillEvenly(placed, left, capacity);
  }
  let total = 0;
  let longest = 0;
  placed.forEach((count, lender) => {
    if (count === 0) return;
    total += count;
    longest = Math.max(longest, count / pathBytesPerSecond[lender]!);
  });
  return total === 0 ? portBytesPerSecond : Math.min(portBytesPerSecond, total / longest);
}

function fastestBelow(limit: number, paths: Float64Array): number {
  return paths.reduce((best, path) => (path < limit ? Math.max(best, path) : best), 0);
}

/**
 * Raises the lowest entries, like water, until `amount` has been added or all are full.
 * @returns what was added.
 */
function fillEvenly(levels: Float64Array, amount: number, capacity: Float64Array): number {
  let low = 0;
  let high = 0;
  for (const most of capacity) high = Math.max(high, most);
  for (let round = 0; round < SURFACE_ROUNDS; round++) {
    const middle = (low + high) / 2;
    if (addedAt(middle, levels, capacity) < amount) low = middle;
    else high = middle;
  }
  const added = Math.min(amount, addedAt(high, levels, capacity));
  for (let index = 0; index < levels.length; index++) {
    levels[index]! += addedBelow(high, levels[index]!, capacity[index]!);
  }
  return added;
}

/** Plain loops: a borrower asks this for each amount that it considers, twenty times over. */
function addedAt(surface: number, levels: Float64Array, capacity: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < levels.length; index++) {
    sum += addedBelow(surface, levels[index]!, capacity[index]!);
  }
  return sum;
}

function addedBelow(surface: number, level: number, capacity: number): number {
  return Math.max(0, Math.min(surface, capacity) - level);
}
