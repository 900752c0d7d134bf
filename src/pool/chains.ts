/**
 * Many doubly linked lists over one set of dense indices, as three columns.
 *
 * Used by the leases: leases of a pair, slices of a lease. An index is in one chain at most. All
 * moves are O(1) and nothing is allocated after construction. The caller knows which chain an index
 * is in and passes it along.
 *
 *    chain c:  first[c] -> i <-> j <-> k <- last[c]
 *
 * Invariant (check()): read backwards, a chain is the reverse of itself read forwards.
 */

import { assert } from "../base/index.ts";

const NONE = -1;

/** Ends of chains and iteration are marked by -1. */
export class Chains {
  readonly #first: Int32Array; // (chains)
  readonly #last: Int32Array; // (chains)
  readonly #next: Int32Array; // (indices)
  readonly #previous: Int32Array; // (indices)

  constructor(chainCount: number, indexCount: number) {
    this.#first = new Int32Array(chainCount).fill(NONE);
    this.#last = new Int32Array(chainCount).fill(NONE);
    this.#next = new Int32Array(indexCount).fill(NONE);
    this.#previous = new Int32Array(indexCount).fill(NONE);
  }

  /** @returns the first index of a chain, or -1. */
  first(chain: number): number {
    return this.#first[chain]!;
  }

  /** @returns the index after this one in its chain, or -1. */
  next(index: number): number {
    return this.#next[index]!;
  }

  /** Walks every chain both ways; the caller's check() knows what should be in it. */
  check(): void {
    this.#first.forEach((first, chain) => {
      let previous = NONE;
      for (let index = first; index !== NONE; index = this.#next[index]!) {
        const back = this.#previous[index]!;
        assert(
          back === previous,
          () => `chains: ${chain}: before ${index} is ${back}, not ${previous}`,
        );
        previous = index;
      }
      const last = this.#last[chain]!;
      assert(last === previous, () => `chains: ${chain} ends in ${previous}, keeps ${last}`);
    });
  }

  append(chain: number, index: number): void {
    const last = this.#last[chain]!;
    this.#previous[index] = last;
    this.#next[index] = NONE;
    this.#last[chain] = index;
    if (last === NONE) this.#first[chain] = index;
    else this.#next[last] = index;
  }

  prepend(chain: number, index: number): void {
    const first = this.#first[chain]!;
    this.#previous[index] = NONE;
    this.#next[index] = first;
    this.#first[chain] = index;
    if (first === NONE) this.#last[chain] = index;
    else this.#previous[first] = index;
  }

  remove(chain: number, index: number): void {
    const previous = this.#previous[index]!;
    const next = this.#next[index]!;
    if (previous === NONE) this.#first[chain] = next;
    else this.#next[previous] = next;
    if (next === NONE) this.#last[chain] = previous;
    else this.#previous[next] = previous;
  }
}
