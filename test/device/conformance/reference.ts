// The operations of a decoder as their textbook says them, in float64, one element at a time.

import type { AttentionShape, RopePairs } from "../../../src/device/index.ts";

export function linearReference(
  x: Float32Array,
  matrix: Float32Array,
  rows: number,
  columns: number,
): number[] {
  const outs = matrix.length / columns;
  return Array.from({ length: rows * outs }, (_, index) => {
    const [row, out] = [Math.floor(index / outs), index % outs];
    let sum = 0;
    for (let k = 0; k < columns; k++) sum += x[row * columns + k]! * matrix[out * columns + k]!;
    return sum;
  });
}

export function rmsNormReference(
  x: Float32Array,
  weight: Float32Array,
  columns: number,
  eps: number,
): number[] {
  return Array.from(x, (value, index) => {
    const first = index - (index % columns);
    const row = x.subarray(first, first + columns);
    const mean = row.reduce((sum, each) => sum + each * each, 0) / columns;
    return (value / Math.sqrt(mean + eps)) * weight[index % columns]!;
  });
}

export function swiGluReference(gate: Float32Array, up: Float32Array): number[] {
  return Array.from(gate, (value, index) => (value / (1 + Math.exp(-value))) * up[index]!);
}

/** Complex multiplication by e^(i position frequency), pair by pair. */
export function ropeReference(
  head: Float32Array,
  position: number,
  frequencies: Float64Array,
  pairs: RopePairs,
  magnitude: number,
): number[] {
  const out = Array.from(head);
  const half = head.length / 2;
  for (let pair = 0; pair < half; pair++) {
    const first = pairs === "neighbours" ? 2 * pair : pair;
    const second = pairs === "neighbours" ? first + 1 : pair + half;
    const angle = position * frequencies[pair]!;
    const [real, imaginary] = [head[first]!, head[second]!];
    out[first] = magnitude * (real * Math.cos(angle) - imaginary * Math.sin(angle));
    out[second] = magnitude * (real * Math.sin(angle) + imaginary * Math.cos(angle));
  }
  return out;
}

/** @param keys (positions x kvHeads x headDim), as are values; all of them are attended to */
export function attentionReference(
  query: Float32Array,
  keys: Float32Array,
  values: Float32Array,
  shape: AttentionShape,
  scale: number,
): number[] {
  const { heads, kvHeads, headDim } = shape;
  const width = kvHeads * headDim;
  const positions = keys.length / width;
  const out: number[] = [];
  for (let head = 0; head < heads; head++) {
    const kvHead = Math.floor((head * kvHeads) / heads);
    const at = (position: number, dim: number): number =>
      position * width + kvHead * headDim + dim;
    const scores = Array.from({ length: positions }, (_, position) => {
      let sum = 0;
      for (let dim = 0; dim < headDim; dim++) {
        sum += query[head * headDim + dim]! * keys[at(position, dim)]!;
      }
      return sum * scale;
    });
    const highest = Math.max(...scores);
    const shares = scores.map((score) => Math.exp(score - highest));
    const total = shares.reduce((sum, share) => sum + share, 0);
    for (let dim = 0; dim < headDim; dim++) {
      let sum = 0;
      for (let position = 0; position < positions; position++) {
        sum += (shares[position]! / total) * values[at(position, dim)]!;
      }
      out.push(sum);
    }
  }
  return out;
}
