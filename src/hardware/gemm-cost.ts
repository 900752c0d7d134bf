/**
 * How long one bf16 matrix product takes: a measured ratio times a roofline.
 *
 * Called by linear-layer.ts for a model's four products. Interpolating ratios (98 % of them lie
 * between 0.57 and 1.53) over the logarithms of n and k works where interpolating times, which span
 * five decades, does not. Outside the table the nearest edge's ratio holds.
 *
 * Invariant: results are positive and finite for positive sizes.
 */

import type { GemmTable, Roofline } from "./calibration/tables.ts";

const BYTES = 2;

/** y[m,n] = x[m,k] w[k,n]; every operand crosses HBM once. */
export function rooflineNs(roofline: Roofline, m: number, n: number, k: number): number {
  const flopNs = (2 * m * n * k * 1e9) / roofline.flopsPerSecond;
  const bytes = BYTES * (n * k + m * k + m * n);
  const byteNs = (bytes * 1e9) / roofline.bytesPerSecond;
  return Math.max(flopNs, byteNs) + roofline.fixedNs;
}

/** The same table on a board that differs in HBM alone: ratios stay, the roofline moves. */
export function scaleGemmTable(table: GemmTable, bandwidthRatio: number): GemmTable {
  const bytesPerSecond = table.roofline.bytesPerSecond * bandwidthRatio;
  return { ...table, roofline: { ...table.roofline, bytesPerSecond } };
}

/** @returns the time at one of the table's own m, by its index. */
export function gemmNs(table: GemmTable, mIndex: number, n: number, k: number): number {
  const m = table.m[mIndex]!;
  return rooflineNs(table.roofline, m, n, k) * ratioAt(table, mIndex, n, k);
}

function ratioAt(table: GemmTable, mIndex: number, n: number, k: number): number {
  const nAt = locate(table.n, n);
  const kAt = locate(table.k, k);
  const corner = (nIndex: number, kIndex: number): number =>
    measuredRatio(table, nIndex, kIndex, mIndex);
  const low = mix(corner(nAt.index, kAt.index), corner(nAt.index, kAt.index + 1), kAt.share);
  const high = mix(
    corner(nAt.index + 1, kAt.index),
    corner(nAt.index + 1, kAt.index + 1),
    kAt.share,
  );
  return mix(low, high, nAt.share);
}

/**
 * A hole takes the ratio of the nearest m that was measured for the same shape, else of a smaller
 * n.
 */
function measuredRatio(
  table: GemmTable,
  nIndex: number,
  kIndex: number,
  mIndex: number,
): number {
  const base = (nIndex * table.k.length + kIndex) * table.m.length;
  for (let distance = 0; distance < table.m.length; distance++) {
    for (const index of [mIndex - distance, mIndex + distance]) {
      if (index < 0 || index >= table.m.length) continue;
      const percent = table.percent[base + index]!;
      if (percent > 0) return percent / 100;
    }
  }
  return nIndex > 0 ? measuredRatio(table, nIndex - 1, kIndex, mIndex) : 1;
}

/** Position in a rising grid by logarithm, clamped to its ends. */
function locate(grid: readonly number[], value: number): { index: number; share: number } {
  const last = grid.length - 2;
  let index = 0;
  while (index < last && grid[index + 1]! <= value) index++;
  const low = grid[index]!;
  const share = Math.log(value / low) / Math.log(grid[index + 1]! / low);
  return { index, share: Math.min(1, Math.max(0, share)) };
}

function mix(low: number, high: number, share: number): number {
  return low + (high - low) * share;
}
