/** Tests of the training kernels against plain loops in double precision. */

import { describe, expect, it } from "vitest";

import { Prng } from "../../../src/base/prng.ts";
import { compileKernels, Workbench } from "../../../tools/train/kernels.ts";
import { OrthogonalStep } from "../../../tools/train/orthogonal-step.ts";

const module = await compileKernels();

function makeBench(seed: number) {
  const bench = new Workbench(module);
  const prng = new Prng(seed);
  const random = (count: number): number => {
    const address = bench.take(count);
    const view = bench.floats(address, count);
    for (let index = 0; index < count; index++) view[index] = prng.nextNormal();
    return address;
  };
  return { bench, random };
}

describe("product", () => {
  // Depths around the panel's 256 and heights around its 64 rows.
  it.each([
    [4, 8, 1],
    [8, 16, 255],
    [64, 8, 256],
    [68, 24, 257],
    [132, 40, 300],
  ])("of %i x %i over %i adds to C, whatever way A and B lie", (m, n, k) => {
    for (const isTurnedA of [false, true]) {
      for (const isTurnedB of [false, true]) {
        const { bench, random } = makeBench(m + n + k);
        const [a, b, c] = [random(m * k), random(k * n), random(m * n)];
        const scratch = bench.take(256 * (n + 64));
        const before = bench.floats(c, m * n).slice();
        const [ars, acs] = isTurnedA ? [1, m] : [k, 1];
        const [brs, bcs] = isTurnedB ? [1, k] : [n, 1];
        bench.kernels.product(m, n, k, a, ars, acs, b, brs, bcs, c, scratch);
        const [left, right] = [bench.floats(a, m * k), bench.floats(b, k * n)];
        const result = bench.floats(c, m * n);
        let worst = 0;
        for (let i = 0; i < m; i++) {
          for (let j = 0; j < n; j++) {
            let sum = before[i * n + j]!;
            for (let t = 0; t < k; t++) {
              sum += left[i * ars + t * acs]! * right[t * brs + j * bcs]!;
            }
            worst = Math.max(worst, Math.abs(result[i * n + j]! - sum));
          }
        }
        expect(worst).toBeLessThan(1e-6 * (k + 20));
      }
    }
  });
});

it("cross-entropy is the log of the target's share, and its gradient the share less one", () => {
  const { bench, random } = makeBench(2);
  const [rows, width] = [3, 12];
  const logits = random(rows * width);
  const before = Array.from(bench.floats(logits, rows * width), (value) => 3 * value);
  const [targets, weights] = [bench.take(rows), bench.take(rows)];
  bench.floats(logits, rows * width).set(before);
  bench.integers(targets, rows).set([5, 0, 11]);
  bench.floats(weights, rows).set([0.5, 0, 2]);
  const loss = bench.kernels.crossEntropy(logits, targets, weights, rows, width);
  let expected = 0;
  for (const [row, target, weight] of [
    [0, 5, 0.5],
    [1, 0, 0],
    [2, 11, 2],
  ] as const) {
    const own = before.slice(row * width, (row + 1) * width).map((value) => Math.exp(value));
    const sum = own.reduce((total, value) => total + value, 0);
    expected -= weight * Math.log(own[target]! / sum);
    for (let id = 0; id < width; id++) {
      const gradient = weight * (own[id]! / sum - (id === target ? 1 : 0));
      expect(bench.floats(logits, rows * width)[row * width + id]).toBeCloseTo(gradient, 5);
    }
  }
  expect(loss).toBeCloseTo(expected, 5);
});

it.each([
  [16, 40],
  [40, 16],
  [24, 24],
])("an orthogonal step of %i x %i goes about equally far in all directions", (rows, columns) => {
  const { bench, random } = makeBench(rows);
  const x = random(rows * columns);
  new OrthogonalStep(bench, 40).apply(x, rows, columns);
  const values = bench.floats(x, rows * columns);
  const size = 0.2 * Math.sqrt(Math.max(rows, columns));
  const side = Math.min(rows, columns);
  // The sum of squared singular values: the iteration leaves each between 0.7 and 1.2.
  const squares = values.reduce((sum, value) => sum + value * value, 0) / (size * size);
  expect(squares).toBeGreaterThan(0.4 * side);
  expect(squares).toBeLessThan(1.5 * side);
  // No direction dominates: |x v| for random unit vectors stays below the largest singular value.
  const prng = new Prng(7);
  for (let trial = 0; trial < 20; trial++) {
    const vector = Array.from({ length: columns }, () => prng.nextNormal());
    const length = Math.hypot(...vector);
    const image = Array.from({ length: rows }, (_, row) =>
      vector.reduce((sum, value, column) => sum + value * values[row * columns + column]!, 0),
    );
    expect(Math.hypot(...image) / length / size).toBeLessThan(1.3);
  }
});
