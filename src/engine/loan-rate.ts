/**
 * How fast borrowed slices can be read together, from where the pool would place them.
 *
 * Asked by loan-amount.ts for each amount it considers. On a switch every path is as fast
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

/** Asked for amount after amount from the same sources: what amounts have in common is kept. */
export class LoanSpeed {
  readonly #sources: LoanSources;
  readonly #portBytesPerSecond: number;
  /** Through a switch each path alone fills the port. */
  readonly #isPortBound: boolean;
  /** Lenders behind equally fast paths, the fastest first; those without a path are in none. */
  readonly #tiers: readonly (readonly number[])[];
  readonly #held: number;
  readonly #placed: Float64Array;

  constructor(sources: LoanSources, portBytesPerSecond: number) {
    const { heldSlices, pathBytesPerSecond } = sources;
    this.#sources = sources;
    this.#portBytesPerSecond = portBytesPerSecond;
    const port = portBytesPerSecond;
    this.#isPortBound = pathBytesPerSecond.every((path) => path === 0 || path >= port);
    this.#tiers = this.#isPortBound ? [] : tiersOf(pathBytesPerSecond);
    this.#held = heldSlices.reduce((sum, held) => sum + held, 0);
    this.#placed = new Float64Array(heldSlices.length);
  }

  /** @returns the speed at which `slices` are read in all, at most the port's. */
  bytesPerSecond(slices: number): number {
    const port = this.#portBytesPerSecond;
    if (this.#isPortBound) return port;
    const { heldSlices, pathBytesPerSecond } = this.#sources;
    const placed = this.#placed;
    placed.set(heldSlices);
    let left = slices - this.#held;
    for (let tier = 0; tier < this.#tiers.length && left > 0; tier++) {
      left -= this.#fillEvenly(this.#tiers[tier]!, left);
    }
    let total = 0;
    let longest = 0;
    for (let lender = 0; lender < placed.length; lender++) {
      const count = placed[lender]!;
      if (count === 0) continue;
      total += count;
      longest = Math.max(longest, count / pathBytesPerSecond[lender]!);
    }
    return total === 0 ? port : Math.min(port, total / longest);
  }

  /**
   * Raises the lowest of some lenders, like water, until `amount` has been added or all are full.
   * @returns what was added.
   */
  #fillEvenly(lenders: readonly number[], amount: number): number {
    let low = 0;
    let high = 0;
    for (const lender of lenders) high = Math.max(high, this.#capacity(lender));
    for (let round = 0; round < SURFACE_ROUNDS; round++) {
      const middle = (low + high) / 2;
      if (this.#addedAt(middle, lenders) < amount) low = middle;
      else high = middle;
    }
    const added = Math.min(amount, this.#addedAt(high, lenders));
    for (const lender of lenders) this.#placed[lender]! += this.#addedBelow(high, lender);
    return added;
  }

  #addedAt(surface: number, lenders: readonly number[]): number {
    let sum = 0;
    for (let index = 0; index < lenders.length; index++) {
      sum += this.#addedBelow(surface, lenders[index]!);
    }
    return sum;
  }

  #addedBelow(surface: number, lender: number): number {
    return Math.max(0, Math.min(surface, this.#capacity(lender)) - this.#placed[lender]!);
  }

  #capacity(lender: number): number {
    return this.#sources.heldSlices[lender]! + this.#sources.idleSlices[lender]!;
  }
}

function tiersOf(paths: Float64Array): number[][] {
  const tiers = new Map<number, number[]>();
  paths.forEach((path, lender) => {
    if (path <= 0) return;
    const tier = tiers.get(path);
    if (tier === undefined) tiers.set(path, [lender]);
    else tier.push(lender);
  });
  return [...tiers].sort(([a], [b]) => b - a).map(([, lenders]) => lenders);
}
