/**
 * Sums and exponentials of vectors: what the kernels are made of.
 *
 * Imported by the kernels beside it, in whose code it is inlined.
 *
 * Every sum over k has four lanes, lane l taking k = l, l + 4, l + 8 ... in that order; lanes are
 * added as (0 + 1) + (2 + 3), then what is left of k modulo 4, in order.
 */

@inline
function lanesOf(sum: v128): f32 {
  return (
    f32x4.extract_lane(sum, 0) +
    f32x4.extract_lane(sum, 1) +
    (f32x4.extract_lane(sum, 2) + f32x4.extract_lane(sum, 3))
  );
}

/** The dot product's end: lanes, then the columns that fill no vector. */
@inline
export function finishDot(sum: v128, x: u32, y: u32, whole: u32, columns: u32): f32 {
  let total = lanesOf(sum);
  for (let k = whole; k < columns; k++) {
    total += load<f32>(x + (k << 2)) * load<f32>(y + (k << 2));
  }
  return total;
}

@inline
export function dot(x: u32, y: u32, columns: u32): f32 {
  const whole = columns & ~3;
  let sum = f32x4.splat(0);
  for (let k: u32 = 0; k < whole; k += 4) {
    sum = f32x4.add(sum, f32x4.mul(v128.load(x + (k << 2)), v128.load(y + (k << 2))));
  }
  return finishDot(sum, x, y, whole, columns);
}

/**
 * e to the x: x = n ln 2 + r, a polynomial of degree 6 in r, times 2 to the n.
 *
 * The polynomial is that of Cephes (Moshier, single/expf.c), right to 2 ulp between -87 and 88;
 * beyond those x is taken as the bound itself.
 */
@inline
export function exp4(x: v128): v128 {
  x = f32x4.min(f32x4.max(x, f32x4.splat(-87)), f32x4.splat(88));
  const n = f32x4.nearest(f32x4.mul(x, f32x4.splat(1.44269504088896341)));
  let r = f32x4.sub(x, f32x4.mul(n, f32x4.splat(0.693359375)));
  r = f32x4.sub(r, f32x4.mul(n, f32x4.splat(-2.12194440e-4)));
  let p = f32x4.splat(1.9875691500e-4);
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.3981999507e-3));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(8.3334519073e-3));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(4.1665795894e-2));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.6666665459e-1));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(5.0000001201e-1));
  p = f32x4.add(f32x4.mul(p, f32x4.mul(r, r)), f32x4.add(r, f32x4.splat(1)));
  const exponent = i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127));
  return f32x4.mul(p, i32x4.shl(exponent, 23));
}
