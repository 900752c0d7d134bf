/**
 * The seeded generator behind every random choice.
 *
 * Given by constructor to whoever needs chance (workload generators, fault injection); nothing in
 * the core may use `Math.random`. The algorithm is sfc32 (Chris Doty-Humphrey, PractRand): 128 bits
 * of state, 32-bit operations only, so that the stream is the same on every engine.
 *
 * Invariant: the same seed and the same sequence of calls give the same numbers.
 */

/** One independent stream of random numbers. */
export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param stream separates generators of one seed, so that adding one does not shift another. */
  constructor(seed: number, stream = 0) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 4294967296) | 0;
    this.#c = stream | 0;
    // Twelve rounds are what the author of sfc32 uses to mix a short seed into the state.
    for (let round = 0; round < 12; round++) this.nextUint32();
  }

  nextUint32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** Uniform in [0, 1) with 53 bits. */
  nextUnit(): number {
    const high = this.nextUint32() >>> 5;
    const low = this.nextUint32() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  /** Uniform integer in [0, bound). */
  nextBelow(bound: number): number {
    return Math.floor(this.nextUnit() * bound);
  }

  /** Exponential with the given mean. */
  nextExponential(mean: number): number {
    return -Math.log(1 - this.nextUnit()) * mean;
  }

  /** Standard normal by Box-Muller; the second value is dropped: a call is always two draws. */
  nextNormal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.nextUnit()));
    return radius * Math.cos(2 * Math.PI * this.nextUnit());
  }
}
