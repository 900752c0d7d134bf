/** The operations of a decoder whose elements know their row at most. */

import { dot, exp4 } from "./vectors";

export function rmsNorm(
  out: u32,
  x: u32,
  weight: u32,
  rows: u32,
  columns: u32,
  eps: f32,
): void {
  const stride: u32 = columns << 2;
  const whole: u32 = (columns & ~3) << 2;
  for (let row: u32 = 0; row < rows; row++) {
    const inverse = <f32>1 / sqrt<f32>(dot(x, x, columns) / <f32>columns + eps);
    const inverses = f32x4.splat(inverse);
    for (let k: u32 = 0; k < whole; k += 16) {
      const scaled = f32x4.mul(v128.load(x + k), inverses);
      v128.store(out + k, f32x4.mul(scaled, v128.load(weight + k)));
    }
    for (let k = whole; k < stride; k += 4) {
      store<f32>(out + k, load<f32>(x + k) * inverse * load<f32>(weight + k));
    }
    x += stride;
    out += stride;
  }
}

/** silu(gate) * up of four elements. */
@inline
function swiGlu4(gate: v128, up: v128): v128 {
  const below = f32x4.add(f32x4.splat(1), exp4(f32x4.neg(gate)));
  return f32x4.mul(f32x4.div(gate, below), up);
}

export function swiGlu(out: u32, gate: u32, up: u32, count: u32): void {
  const whole: u32 = (count & ~3) << 2;
  const end: u32 = count << 2;
  for (let k: u32 = 0; k < whole; k += 16) {
    v128.store(out + k, swiGlu4(v128.load(gate + k), v128.load(up + k)));
  }
  for (let k = whole; k < end; k += 4) {
    const value = swiGlu4(v128.load32_splat(gate + k), v128.load32_splat(up + k));
    v128.store_lane<f32>(out + k, value, 0);
  }
}

export function add(x: u32, y: u32, count: u32): void {
  const whole: u32 = (count & ~3) << 2;
  const end: u32 = count << 2;
  for (let k: u32 = 0; k < whole; k += 16) {
    v128.store(x + k, f32x4.add(v128.load(x + k), v128.load(y + k)));
  }
  for (let k = whole; k < end; k += 4) {
    store<f32>(x + k, load<f32>(x + k) + load<f32>(y + k));
  }
}
