/**
 * When each engine is due, and which is due first.
 *
 * Kept by Cluster. A winner tree: each inner node names the earlier of its two children, so that a
 * change costs the depth of the tree and the first is read off its top. Of engines due at the same
 * time the one with the lower index is first, so that runs are reproducible.
 *
 *              1: winner of all
 *          2            3
 *        4   5        6   7          leaves: size + index of the engine; padding is never due
 *
 * Invariant: a node's winner is due no later than any leaf below it.
 */

import { assert } from "../base/index.ts";

export class DueTimes {
  readonly #size: number;
  /** (leaves) Infinity: not due. */
  readonly #dueNs: Float64Array;
  /** (2 x leaves) the winning leaf of each inner node; leaves name themselves. */
  readonly #winner: Int32Array;

  /** Nobody is due yet. */
  constructor(count: number) {
    let size = 1;
    while (size < count) size *= 2;
    this.#size = size;
    this.#dueNs = new Float64Array(size).fill(Infinity);
    this.#winner = new Int32Array(2 * size);
    for (let leaf = 0; leaf < size; leaf++) this.#winner[size + leaf] = leaf;
    for (let node = size - 1; node > 0; node--) this.#play(node);
  }

  /** The one due first; any, when nobody is due. */
  get first(): number {
    return this.#winner[1]!;
  }

  at(index: number): number {
    return this.#dueNs[index]!;
  }

  set(index: number, dueNs: number): void {
    if (this.#dueNs[index] === dueNs) return;
    this.#dueNs[index] = dueNs;
    for (let node = (this.#size + index) >> 1; node > 0; node >>= 1) this.#play(node);
  }

  check(): void {
    for (let leaf = 0; leaf < this.#size; leaf++) {
      const [dueNs, firstNs] = [this.at(leaf), this.at(this.first)];
      const isLater = dueNs > firstNs || (dueNs === firstNs && leaf >= this.first);
      assert(isLater, () => `due times: ${leaf} is due at ${dueNs}, before ${this.first}`);
    }
  }

  #play(node: number): void {
    const left = this.#winner[2 * node]!;
    const right = this.#winner[2 * node + 1]!;
    this.#winner[node] = this.#dueNs[right]! < this.#dueNs[left]! ? right : left;
  }
}
