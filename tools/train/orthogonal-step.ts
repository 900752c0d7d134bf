/**
 * Turns a matrix of gradients into a step that goes equally far in all its directions.
 *
 * Called by the optimizer for the matrices inside the layers. Five rounds of a Newton-Schulz
 * iteration bring all singular values near 1 (Jordan et al., "Muon: An optimizer for hidden layers
 * in neural networks", 2024, with its coefficients); the step's size is that of AdamW's (Liu et
 * al., "Muon is Scalable for LLM Training", 2025, section 2.2).
 */

import type { Address, Workbench } from "./kernels.ts";

const ROUNDS = 5;
const [A, B, C] = [3.4445, -4.775, 2.0315];
/** The root mean square that AdamW's steps have, measured in the second paper. */
const ADAMW_STEP = 0.2;

/** Scratch space for matrices up to a size; see the header. */
export class OrthogonalStep {
  readonly #bench: Workbench;
  readonly #next: Address;
  readonly #square: Address;
  readonly #polynomial: Address;
  readonly #scratch: Address;

  /** @param sideMax the most rows or columns of any matrix */
  constructor(bench: Workbench, sideMax: number) {
    this.#bench = bench;
    this.#next = bench.take(sideMax * sideMax);
    this.#square = bench.take(sideMax * sideMax);
    this.#polynomial = bench.take(sideMax * sideMax);
    this.#scratch = bench.take(256 * (sideMax + 64));
  }

  /** Overwrites x, (rows) then (columns), both multiples of 8, by the step of its direction. */
  apply(x: Address, rows: number, columns: number): void {
    const { kernels } = this.#bench;
    const count = rows * columns;
    const norm = Math.sqrt(kernels.sumOfSquares(x, count));
    kernels.scale(x, count, 1 / (norm + 1e-12));
    for (let round = 0; round < ROUNDS; round++) this.#round(x, rows, columns);
    kernels.scale(x, count, ADAMW_STEP * Math.sqrt(Math.max(rows, columns)));
  }

  /** x = a x + (b s + c s s) x with s = x x', or the mirror image where that is smaller. */
  #round(x: Address, rows: number, columns: number): void {
    const { kernels } = this.#bench;
    const [s, p, y, scratch] = [this.#square, this.#polynomial, this.#next, this.#scratch];
    const isWide = rows <= columns;
    const side = isWide ? rows : columns;
    kernels.fill(s, side * side, 0);
    if (isWide) kernels.product(side, side, columns, x, columns, 1, x, 1, columns, s, scratch);
    else kernels.product(side, side, rows, x, 1, columns, x, columns, 1, s, scratch);
    this.#copyScaled(p, s, side * side, B / C);
    kernels.product(side, side, side, s, side, 1, s, side, 1, p, scratch);
    kernels.scale(p, side * side, C);
    this.#copyScaled(y, x, rows * columns, A);
    if (isWide) kernels.product(rows, columns, side, p, side, 1, x, columns, 1, y, scratch);
    else kernels.product(rows, columns, side, x, columns, 1, p, side, 1, y, scratch);
    this.#copyScaled(x, y, rows * columns, 1);
  }

  #copyScaled(to: Address, from: Address, count: number, factor: number): void {
    this.#bench.floats(to, count).set(this.#bench.floats(from, count));
    if (factor !== 1) this.#bench.kernels.scale(to, count, factor);
  }
}
