// The arithmetic of training as WASM SIMD: matrix products, attention and all that runs per element.
//
// AssemblyScript, compiled in memory by kernels.ts; every argument that is a place is a byte address
// in the one linear memory, every length is in elements. Nothing is allocated here: scratch space
// comes as an argument. Lengths that are vectorised are multiples of 4 (columns of C: of 8).
// The product packs both operands into panels (Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication", 2008); attention is recomputed in the backward pass from the saved log of
// its sum (Dao et al., "FlashAttention", 2022).

const KC: i32 = 256; // Depth of a panel: 8 columns of it are 8 kB and stay in the first cache.
const MC: i32 = 64; // Rows packed at a time.

@inline export function at(base: usize, index: i32): usize { return base + ((<usize>index) << 2); }

/** Where memory begins that is not the compiler's: below lie tables of its logarithm. */
export function freeFrom(): usize { return __heap_base; }

// ---------------------------------------------------------------- matrix product

function packRows(out: usize, a: usize, rs: i32, cs: i32, rows: i32, depth: i32): void {
  for (let i = 0; i < rows; i += 4) {
    const from = at(a, i * rs);
    if (rs == 1) {
      for (let k = 0; k < depth; k++, out += 16) v128.store(out, v128.load(at(from, k * cs)));
      continue;
    }
    for (let k = 0; k < depth; k++, out += 16) {
      const cell = at(from, k * cs);
      store<f32>(out, load<f32>(cell));
      store<f32>(out, load<f32>(at(cell, rs)), 4);
      store<f32>(out, load<f32>(at(cell, 2 * rs)), 8);
      store<f32>(out, load<f32>(at(cell, 3 * rs)), 12);
    }
  }
}

function packColumns(out: usize, b: usize, rs: i32, cs: i32, depth: i32, columns: i32): void {
  for (let j = 0; j < columns; j += 8) {
    const from = at(b, j * cs);
    if (cs == 1) {
      for (let k = 0; k < depth; k++, out += 32) {
        const row = at(from, k * rs);
        v128.store(out, v128.load(row));
        v128.store(out, v128.load(row, 16), 16);
      }
      continue;
    }
    for (let k = 0; k < depth; k++, out += 32) {
      const row = at(from, k * rs);
      for (let c = 0; c < 8; c++) store<f32>(at(out, c), load<f32>(at(row, c * cs)));
    }
  }
}

/** C[4][8] += a panel of 4 rows times a panel of 8 columns. */
function tile(depth: i32, a: usize, b: usize, c: usize, ldc: i32): void {
  let c00 = f32x4.splat(0), c01 = f32x4.splat(0), c10 = f32x4.splat(0), c11 = f32x4.splat(0);
  let c20 = f32x4.splat(0), c21 = f32x4.splat(0), c30 = f32x4.splat(0), c31 = f32x4.splat(0);
  for (let k = 0; k < depth; k++) {
    const b0 = v128.load(b), b1 = v128.load(b, 16);
    const a0 = v128.load_splat<f32>(a);
    c00 = f32x4.add(c00, f32x4.mul(a0, b0));
    c01 = f32x4.add(c01, f32x4.mul(a0, b1));
    const a1 = v128.load_splat<f32>(a, 4);
    c10 = f32x4.add(c10, f32x4.mul(a1, b0));
    c11 = f32x4.add(c11, f32x4.mul(a1, b1));
    const a2 = v128.load_splat<f32>(a, 8);
    c20 = f32x4.add(c20, f32x4.mul(a2, b0));
    c21 = f32x4.add(c21, f32x4.mul(a2, b1));
    const a3 = v128.load_splat<f32>(a, 12);
    c30 = f32x4.add(c30, f32x4.mul(a3, b0));
    c31 = f32x4.add(c31, f32x4.mul(a3, b1));
    a += 16;
    b += 32;
  }
  const r1 = at(c, ldc), r2 = at(c, 2 * ldc), r3 = at(c, 3 * ldc);
  v128.store(c, f32x4.add(v128.load(c), c00));
  v128.store(c, f32x4.add(v128.load(c, 16), c01), 16);
  v128.store(r1, f32x4.add(v128.load(r1), c10));
  v128.store(r1, f32x4.add(v128.load(r1, 16), c11), 16);
  v128.store(r2, f32x4.add(v128.load(r2), c20));
  v128.store(r2, f32x4.add(v128.load(r2, 16), c21), 16);
  v128.store(r3, f32x4.add(v128.load(r3), c30));
  v128.store(r3, f32x4.add(v128.load(r3, 16), c31), 16);
}

/**
 * C[m][n] += A[m][k] B[k][n]; element (i, j) of A lies at a + i * ars + j * acs, of B likewise, of C
 * at c + i * n + j. m is a multiple of 4, n of 8. `scratch` holds 256 * (n + 64) floats.
 */
export function product(
  m: i32, n: i32, k: i32,
  a: usize, ars: i32, acs: i32, b: usize, brs: i32, bcs: i32, c: usize, scratch: usize,
): void {
  const rows = at(scratch, KC * n);
  for (let k0 = 0; k0 < k; k0 += KC) {
    const depth = min(KC, k - k0);
    packColumns(scratch, at(b, k0 * brs), brs, bcs, depth, n);
    for (let i0 = 0; i0 < m; i0 += MC) {
      const height = min(MC, m - i0);
      packRows(rows, at(a, i0 * ars + k0 * acs), ars, acs, height, depth);
      for (let j = 0; j < n; j += 8) {
        const panel = at(scratch, j * depth);
        for (let i = 0; i < height; i += 4) {
          tile(depth, at(rows, i * depth), panel, at(c, (i0 + i) * n + j), n);
        }
      }
    }
  }
}

// ---------------------------------------------------------------- per element

/** e to the x, four at a time: 2 to the nearest integer times a polynomial on the rest. */
@inline export function exp4(x: v128): v128 {
  x = f32x4.min(f32x4.max(x, f32x4.splat(-87)), f32x4.splat(88));
  const n = f32x4.nearest(f32x4.mul(x, f32x4.splat(1.44269504)));
  let f = f32x4.sub(x, f32x4.mul(n, f32x4.splat(0.693359375)));
  f = f32x4.add(f, f32x4.mul(n, f32x4.splat(2.12194440e-4)));
  // The series of e to the f for |f| <= ln 2 / 2; the first term left out is below 2e-7.
  let p = f32x4.splat(1.0 / 720.0);
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(1.0 / 120.0));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(1.0 / 24.0));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(1.0 / 6.0));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(0.5));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(1));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(1));
  const power = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23);
  return f32x4.mul(p, power);
}

@inline export function sum4(x: v128): f32 {
  return (f32x4.extract_lane(x, 0) + f32x4.extract_lane(x, 1))
    + (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3));
}

@inline export function max4(x: v128): f32 {
  return max(max(f32x4.extract_lane(x, 0), f32x4.extract_lane(x, 1)),
    max(f32x4.extract_lane(x, 2), f32x4.extract_lane(x, 3)));
}

export function fill(x: usize, count: i32, value: f32): void {
  for (let i = 0; i < count; i++) store<f32>(at(x, i), value);
}

/** y += x. */
export function add(y: usize, x: usize, count: i32): void {
  for (let i = 0; i < count; i += 4) {
    const place = at(y, i);
    v128.store(place, f32x4.add(v128.load(place), v128.load(at(x, i))));
  }
}

/** x *= factor. */
export function scale(x: usize, count: i32, factor: f32): void {
  const f = f32x4.splat(factor);
  for (let i = 0; i < count; i += 4) v128.store(at(x, i), f32x4.mul(v128.load(at(x, i)), f));
}

export function sumOfSquares(x: usize, count: i32): f64 {
  let total: f64 = 0;
  for (let i = 0; i < count; i += 4) {
    const value = v128.load(at(x, i));
    total += sum4(f32x4.mul(value, value));
  }
  return total;
}

/** y[row] = x[row] * w / rms(x[row]); `inverse` keeps one 1 / rms a row. */
export function normForward(
  y: usize, inverse: usize, x: usize, w: usize, rows: i32, width: i32, epsilon: f32,
): void {
  for (let r = 0; r < rows; r++) {
    const from = at(x, r * width), to = at(y, r * width);
    let squares = f32x4.splat(0);
    for (let i = 0; i < width; i += 4) {
      const value = v128.load(at(from, i));
      squares = f32x4.add(squares, f32x4.mul(value, value));
    }
    const factor: f32 = 1 / sqrt<f32>(sum4(squares) / <f32>width + epsilon);
    store<f32>(at(inverse, r), factor);
    const f = f32x4.splat(factor);
    for (let i = 0; i < width; i += 4) {
      const value = f32x4.mul(v128.load(at(from, i)), f);
      v128.store(at(to, i), f32x4.mul(value, v128.load(at(w, i))));
    }
  }
}

/** dx += the gradient through the norm, dw += that of its weights. */
export function normBackward(
  dx: usize, dw: usize, dy: usize, inverse: usize, x: usize, w: usize, rows: i32, width: i32,
): void {
  for (let r = 0; r < rows; r++) {
    const from = at(x, r * width), up = at(dy, r * width), to = at(dx, r * width);
    const factor = load<f32>(at(inverse, r));
    const f = f32x4.splat(factor);
    let dots = f32x4.splat(0);
    for (let i = 0; i < width; i += 4) {
      const value = v128.load(at(from, i)), gradient = v128.load(at(up, i));
      const along = f32x4.mul(value, gradient);
      dots = f32x4.add(dots, f32x4.mul(along, v128.load(at(w, i))));
      const place = at(dw, i);
      v128.store(place, f32x4.add(v128.load(place), f32x4.mul(along, f)));
    }
    const back = f32x4.splat(sum4(dots) * factor * factor * factor / <f32>width);
    for (let i = 0; i < width; i += 4) {
      const direct = f32x4.mul(f32x4.mul(v128.load(at(up, i)), v128.load(at(w, i))), f);
      const change = f32x4.sub(direct, f32x4.mul(v128.load(at(from, i)), back));
      v128.store(at(to, i), f32x4.add(v128.load(at(to, i)), change));
    }
  }
}

/**
 * Turns neighbouring pairs of each head by the row's angles, in place. `table` holds cos and sin
 * (positions) then (pairs) then two; row r has position r modulo `positions`; sign -1 turns back.
 */
export function rotate(
  x: usize, table: usize, rows: i32, positions: i32, heads: i32, headWidth: i32, sign: f32,
): void {
  const pairs = headWidth >> 1;
  for (let r = 0; r < rows; r++) {
    const angles = at(table, (r % positions) * headWidth);
    for (let h = 0; h < heads; h++) {
      const head = at(x, (r * heads + h) * headWidth);
      for (let p = 0; p < pairs; p++) {
        const place = at(head, 2 * p);
        const cosine = load<f32>(at(angles, 2 * p)), sine = sign * load<f32>(at(angles, 2 * p + 1));
        const even = load<f32>(place), odd = load<f32>(place, 4);
        store<f32>(place, even * cosine - odd * sine);
        store<f32>(place, even * sine + odd * cosine, 4);
      }
    }
  }
}

/** h = silu(gate) * up. */
export function swigluForward(h: usize, gate: usize, up: usize, count: i32): void {
  const one = f32x4.splat(1);
  for (let i = 0; i < count; i += 4) {
    const g = v128.load(at(gate, i));
    const sigmoid = f32x4.div(one, f32x4.add(one, exp4(f32x4.neg(g))));
    v128.store(at(h, i), f32x4.mul(f32x4.mul(g, sigmoid), v128.load(at(up, i))));
  }
}

/** Overwrites gate and up by their gradients. */
export function swigluBackward(gate: usize, up: usize, dh: usize, count: i32): void {
  const one = f32x4.splat(1);
  for (let i = 0; i < count; i += 4) {
    const g = v128.load(at(gate, i)), u = v128.load(at(up, i)), d = v128.load(at(dh, i));
    const sigmoid = f32x4.div(one, f32x4.add(one, exp4(f32x4.neg(g))));
    const slope = f32x4.mul(sigmoid, f32x4.add(one, f32x4.mul(g, f32x4.sub(one, sigmoid))));
    v128.store(at(gate, i), f32x4.mul(f32x4.mul(d, u), slope));
    v128.store(at(up, i), f32x4.mul(d, f32x4.mul(g, sigmoid)));
  }
}

/**
 * Cross-entropy of each row's softmax against its target; logits become gradients times the row's
 * weight. A row of weight 0 gets zeros and counts nothing.
 * @returns the weighted sum of losses
 */
export function crossEntropy(
  logits: usize, targets: usize, weights: usize, rows: i32, width: i32,
): f64 {
  let total: f64 = 0;
  for (let r = 0; r < rows; r++) {
    const row = at(logits, r * width), weight = load<f32>(at(weights, r));
    if (weight == 0) {
      memory.fill(row, 0, <usize>width << 2);
      continue;
    }
    let most = v128.load(row);
    for (let i = 4; i < width; i += 4) most = f32x4.max(most, v128.load(at(row, i)));
    const peak = max4(most);
    const top = f32x4.splat(peak);
    const target = load<i32>(at(targets, r));
    const chosen = load<f32>(at(row, target));
    let sums = f32x4.splat(0);
    for (let i = 0; i < width; i += 4) {
      const value = exp4(f32x4.sub(v128.load(at(row, i)), top));
      sums = f32x4.add(sums, value);
      v128.store(at(row, i), value);
    }
    const sum = sum4(sums);
    total += <f64>weight * (<f64>Mathf.log(sum) + <f64>peak - <f64>chosen);
    const factor = f32x4.splat(weight / sum);
    for (let i = 0; i < width; i += 4) {
      v128.store(at(row, i), f32x4.mul(v128.load(at(row, i)), factor));
    }
    store<f32>(at(row, target), load<f32>(at(row, target)) - weight);
  }
  return total;
}

/** One step of AdamW on `count` parameters; the corrections are 1 / (1 - beta ** step). */
export function adamw(
  parameters: usize, gradients: usize, first: usize, second: usize, count: i32,
  rate: f32, beta1: f32, beta2: f32, correction1: f32, correction2: f32, epsilon: f32, decay: f32,
): void {
  const b1 = f32x4.splat(beta1), b2 = f32x4.splat(beta2);
  const n1 = f32x4.splat(1 - beta1), n2 = f32x4.splat(1 - beta2);
  const c1 = f32x4.splat(correction1), c2 = f32x4.splat(correction2), e = f32x4.splat(epsilon);
  const keep = f32x4.splat(1 - rate * decay), lr = f32x4.splat(rate);
  for (let i = 0; i < count; i += 4) {
    const g = v128.load(at(gradients, i));
    const m = f32x4.add(f32x4.mul(b1, v128.load(at(first, i))), f32x4.mul(n1, g));
    const v = f32x4.add(f32x4.mul(b2, v128.load(at(second, i))), f32x4.mul(n2, f32x4.mul(g, g)));
    v128.store(at(first, i), m);
    v128.store(at(second, i), v);
    const spread = f32x4.add(f32x4.sqrt(f32x4.mul(v, c2)), e);
    const change = f32x4.mul(lr, f32x4.div(f32x4.mul(m, c1), spread));
    v128.store(at(parameters, i), f32x4.sub(f32x4.mul(keep, v128.load(at(parameters, i))), change));
  }
}
