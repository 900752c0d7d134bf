/**
 * A hash over an ordered stream of integers: two runs are the same iff their digests are.
 *
 * Fed by the recorder with every event of a run. Two lanes of 32-bit FNV-1a with different primes;
 * it is a fingerprint, not a cryptographic hash.
 */

const word = new Uint32Array(2);
const float = new Float64Array(word.buffer);

export class Digest {
  #low = 0x811c9dc5;
  #high = 0x9747b28c;

  add(value: number): void {
    float[0] = value;
    this.#low = Math.imul(this.#low ^ word[0]!, 0x01000193);
    this.#low = Math.imul(this.#low ^ word[1]!, 0x01000193);
    this.#high = Math.imul(this.#high ^ word[0]!, 0x85ebca6b);
    this.#high = Math.imul(this.#high ^ word[1]! ^ (this.#high >>> 13), 0xc2b2ae35);
  }

  toString(): string {
    const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, "0");
    return hex(this.#high) + hex(this.#low);
  }
}
