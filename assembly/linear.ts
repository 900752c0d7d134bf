/**
 * Rows times a matrix turned: nearly all of a decoder's arithmetic.
 *
 * An element is summed in the order of vectors.ts, whichever tile it is in: it does not know what
 * is computed beside it. Tiles are as large as sixteen vector registers allow.
 */

import { dot, finishDot } from "./vectors";

/** One row of x with eight rows of the matrix: eight sums hide an addition's latency. */
@inline
function tile1x8(out: u32, x: u32, w: u32, columns: u32): void {
  const whole = columns & ~3;
  const stride: u32 = columns << 2;
  const w1 = w + stride;
  const w2 = w1 + stride;
  const w3 = w2 + stride;
  const w4 = w3 + stride;
  const w5 = w4 + stride;
  const w6 = w5 + stride;
  const w7 = w6 + stride;
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let s4 = s0;
  let s5 = s0;
  let s6 = s0;
  let s7 = s0;
  const end: u32 = whole << 2;
  for (let k: u32 = 0; k < end; k += 16) {
    const a = v128.load(x + k);
    s0 = f32x4.add(s0, f32x4.mul(a, v128.load(w + k)));
    s1 = f32x4.add(s1, f32x4.mul(a, v128.load(w1 + k)));
    s2 = f32x4.add(s2, f32x4.mul(a, v128.load(w2 + k)));
    s3 = f32x4.add(s3, f32x4.mul(a, v128.load(w3 + k)));
    s4 = f32x4.add(s4, f32x4.mul(a, v128.load(w4 + k)));
    s5 = f32x4.add(s5, f32x4.mul(a, v128.load(w5 + k)));
    s6 = f32x4.add(s6, f32x4.mul(a, v128.load(w6 + k)));
    s7 = f32x4.add(s7, f32x4.mul(a, v128.load(w7 + k)));
  }
  store<f32>(out, finishDot(s0, x, w, whole, columns));
  store<f32>(out, finishDot(s1, x, w1, whole, columns), 4);
  store<f32>(out, finishDot(s2, x, w2, whole, columns), 8);
  store<f32>(out, finishDot(s3, x, w3, whole, columns), 12);
  store<f32>(out, finishDot(s4, x, w4, whole, columns), 16);
  store<f32>(out, finishDot(s5, x, w5, whole, columns), 20);
  store<f32>(out, finishDot(s6, x, w6, whole, columns), 24);
  store<f32>(out, finishDot(s7, x, w7, whole, columns), 28);
}

/** Four rows of x with two rows of the matrix: each loaded vector is used more than once. */
@inline
function tile4x2(out: u32, x: u32, w: u32, columns: u32, outStride: u32): void {
  const whole = columns & ~3;
  const stride: u32 = columns << 2;
  const x1 = x + stride;
  const x2 = x1 + stride;
  const x3 = x2 + stride;
  const w1 = w + stride;
  let s00 = f32x4.splat(0);
  let s01 = s00;
  let s10 = s00;
  let s11 = s00;
  let s20 = s00;
  let s21 = s00;
  let s30 = s00;
  let s31 = s00;
  const end: u32 = whole << 2;
  for (let k: u32 = 0; k < end; k += 16) {
    const b0 = v128.load(w + k);
    const b1 = v128.load(w1 + k);
    let a = v128.load(x + k);
    s00 = f32x4.add(s00, f32x4.mul(a, b0));
    s01 = f32x4.add(s01, f32x4.mul(a, b1));
    a = v128.load(x1 + k);
    s10 = f32x4.add(s10, f32x4.mul(a, b0));
    s11 = f32x4.add(s11, f32x4.mul(a, b1));
    a = v128.load(x2 + k);
    s20 = f32x4.add(s20, f32x4.mul(a, b0));
    s21 = f32x4.add(s21, f32x4.mul(a, b1));
    a = v128.load(x3 + k);
    s30 = f32x4.add(s30, f32x4.mul(a, b0));
    s31 = f32x4.add(s31, f32x4.mul(a, b1));
  }
  store<f32>(out, finishDot(s00, x, w, whole, columns));
  store<f32>(out, finishDot(s01, x, w1, whole, columns), 4);
  out += outStride;
  store<f32>(out, finishDot(s10, x1, w, whole, columns));
  store<f32>(out, finishDot(s11, x1, w1, whole, columns), 4);
  out += outStride;
  store<f32>(out, finishDot(s20, x2, w, whole, columns));
  store<f32>(out, finishDot(s21, x2, w1, whole, columns), 4);
  out += outStride;
  store<f32>(out, finishDot(s30, x3, w, whole, columns));
  store<f32>(out, finishDot(s31, x3, w1, whole, columns), 4);
}

/**
 * out (rows x outs) = x (rows x columns) times w (outs x columns) turned.
 *
 * The rows of the matrix are the outer loop: a matrix is far larger than x, and is read once.
 */
export function linear(
  out: u32,
  x: u32,
  w: u32,
  rows: u32,
  columns: u32,
  outs: u32,
): void {
  const stride: u32 = columns << 2;
  const outStride: u32 = outs << 2;
  const tiledRows = rows & ~3;
  const pairs = outs & ~1;
  for (let j: u32 = 0; j < pairs && tiledRows > 0; j += 2) {
    for (let row: u32 = 0; row < tiledRows; row += 4) {
      const target = out + row * outStride + (j << 2);
      tile4x2(target, x + row * stride, w + j * stride, columns, outStride);
    }
  }
  for (let row: u32 = 0; row < tiledRows && pairs < outs; row++) {
    const target = out + row * outStride + (pairs << 2);
    store<f32>(target, dot(x + row * stride, w + pairs * stride, columns));
  }
  const eights = outs & ~7;
  for (let row = tiledRows; row < rows; row++) {
    const source = x + row * stride;
    const target = out + row * outStride;
    for (let j: u32 = 0; j < eights; j += 8) {
      tile1x8(target + (j << 2), source, w + j * stride, columns);
    }
    for (let j = eights; j < outs; j++) {
      store<f32>(target + (j << 2), dot(source, w + j * stride, columns));
    }
  }
}
