/**
 * Random choices in the words that random servers need.
 *
 * Used by random-server.ts and random-loads.ts; one seeded stream behind it.
 */

import { Prng } from "../../src/base/index.ts";

export class Draw {
  readonly #prng: Prng;

  constructor(seed: number, stream: number) {
    this.#prng = new Prng(seed, stream);
  }

  unit(): number {
    return this.#prng.nextUnit();
  }

  chance(share: number): boolean {
    return this.unit() < share;
  }

  /** Both ends included. */
  integer(least: number, most: number): number {
    return least + this.#prng.nextBelow(most - least + 1);
  }

  between(least: number, most: number): number {
    return least + (most - least) * this.unit();
  }

  pick<T>(from: readonly T[]): T {
    return from[this.#prng.nextBelow(from.length)]!;
  }

  /** A value by its weight. */
  weighted<T>(from: readonly (readonly [value: T, weight: number])[]): T {
    const total = from.reduce((sum, [, weight]) => sum + weight, 0);
    let left = this.unit() * total;
    for (const [value, weight] of from) {
      left -= weight;
      if (left < 0) return value;
    }
    return from.at(-1)![0];
  }
}
