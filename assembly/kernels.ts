/**
 * The heavy operations of a decoder as WebAssembly SIMD, in AssemblyScript.
 *
 * Built by tools/build-kernels.ts into src/device/emulated/kernels-wasm.ts; called by WasmCompute.
 * They import the window's memory and compute in place; they allocate nothing and keep no state.
 *
 * Every sum over k has four lanes, lane l taking k = l, l + 4, l + 8 ... in that order; lanes are
 * added as (0 + 1) + (2 + 3), then what is left of k modulo 4, in order. It is the same for every
 * tile of rows and columns: an element does not know what is computed beside it.
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
function finishDot(sum: v128, x: u32, y: u32, whole: u32, columns: u32): f32 {
  let total = lanesOf(sum);
  for (let k = whole; k < columns; k++) {
    total += load<f32>(x + (k << 2)) * load<f32>(y + (k << 2));
  }
  return total;
}

@inline
function dot(x: u32, y: u32, columns: u32): f32 {
  const whole = columns & ~3;
  let sum = f32x4.splat(0);
  for (let k: u32 = 0; k < whole; k += 4) {
    sum = f32x4.add(sum, f32x4.mul(v128.load(x + (k << 2)), v128.load(y + (k << 2))));
  }
  return finishDot(sum, x, y, whole, columns);
}

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

/**
 * e to the x: x = n ln 2 + r, a polynomial of degree 6 in r, times 2 to the n.
 *
 * The polynomial is that of Cephes (Moshier, single/expf.c), right to 2 ulp between -87 and 88;
 * beyond those x is taken as the bound itself.
 */
@inline
function exp4(x: v128): v128 {
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

/** The address of the K row of a position; `blocks` holds where each block of the layer begins. */
@inline
function rowOf(blocks: u32, position: u32, blockTokens: u32, rowBytes: u32): u32 {
  const block = position / blockTokens;
  return load<u32>(blocks + (block << 2)) + (position - block * blockTokens) * rowBytes;
}

/** out = out * kept + share * value, over one head. */
@inline
function weigh(out: u32, value: u32, share: f32, headDim: u32): void {
  const whole: u32 = (headDim & ~3) << 2;
  const end: u32 = headDim << 2;
  const shares = f32x4.splat(share);
  for (let k: u32 = 0; k < whole; k += 16) {
    const sum = f32x4.add(v128.load(out + k), f32x4.mul(shares, v128.load(value + k)));
    v128.store(out + k, sum);
  }
  for (let k = whole; k < end; k += 4) {
    store<f32>(out + k, load<f32>(out + k) + share * load<f32>(value + k));
  }
}

@inline
function scaleHead(out: u32, factor: f32, headDim: u32): void {
  const whole: u32 = (headDim & ~3) << 2;
  const end: u32 = headDim << 2;
  const factors = f32x4.splat(factor);
  for (let k: u32 = 0; k < whole; k += 16) {
    v128.store(out + k, f32x4.mul(v128.load(out + k), factors));
  }
  for (let k = whole; k < end; k += 4) {
    store<f32>(out + k, load<f32>(out + k) * factor);
  }
}

/**
 * One head of one token over positions 0 to count - 1 (online softmax: Milakov and Gimelshein,
 * 2018, algorithm 3): four positions at a time, 0 to 3 first, whatever the blocks. A new highest
 * score rescales what has been summed. Lanes beyond `count` weigh nothing.
 */
@inline
function attendHead(
  out: u32,
  query: u32,
  blocks: u32,
  within: u32,
  count: u32,
  blockTokens: u32,
  rowBytes: u32,
  headDim: u32,
  scale: f32,
): void {
  const valuesAt: u32 = blockTokens * rowBytes;
  memory.fill(out, 0, headDim << 2);
  let highest: f32 = -f32.MAX_VALUE;
  let sum: f32 = 0;
  for (let first: u32 = 0; first < count; first += 4) {
    const last = count - 1;
    const k0 = rowOf(blocks, first, blockTokens, rowBytes) + within;
    const k1 = rowOf(blocks, min(first + 1, last), blockTokens, rowBytes) + within;
    const k2 = rowOf(blocks, min(first + 2, last), blockTokens, rowBytes) + within;
    const k3 = rowOf(blocks, min(first + 3, last), blockTokens, rowBytes) + within;
    const s0 = dot(query, k0, headDim) * scale;
    const s1 = dot(query, k1, headDim) * scale;
    const s2 = dot(query, k2, headDim) * scale;
    const s3 = dot(query, k3, headDim) * scale;
    const best = max(max(s0, s1), max(s2, s3));
    if (!(best <= highest)) {
      const kept = f32x4.extract_lane(exp4(f32x4.splat(highest - best)), 0);
      scaleHead(out, kept, headDim);
      sum *= kept;
      highest = best;
    }
    let scores = f32x4.splat(s0);
    scores = f32x4.replace_lane(scores, 1, s1);
    scores = f32x4.replace_lane(scores, 2, s2);
    scores = f32x4.replace_lane(scores, 3, s3);
    const shares = exp4(f32x4.sub(scores, f32x4.splat(highest)));
    const left = count - first;
    const e0 = f32x4.extract_lane(shares, 0);
    sum += e0;
    weigh(out, k0 + valuesAt, e0, headDim);
    if (left > 1) {
      const e1 = f32x4.extract_lane(shares, 1);
      sum += e1;
      weigh(out, k1 + valuesAt, e1, headDim);
    }
    if (left > 2) {
      const e2 = f32x4.extract_lane(shares, 2);
      sum += e2;
      weigh(out, k2 + valuesAt, e2, headDim);
    }
    if (left > 3) {
      const e3 = f32x4.extract_lane(shares, 3);
      sum += e3;
      weigh(out, k3 + valuesAt, e3, headDim);
    }
  }
  scaleHead(out, <f32>1 / sum, headDim);
}

/** All heads of one token; query heads share KV heads in groups of neighbours. */
export function attend(
  out: u32,
  query: u32,
  blocks: u32,
  count: u32,
  blockTokens: u32,
  heads: u32,
  kvHeads: u32,
  headDim: u32,
  scale: f32,
): void {
  const headBytes: u32 = headDim << 2;
  const rowBytes: u32 = kvHeads * headBytes;
  const groupHeads = heads / kvHeads;
  for (let head: u32 = 0; head < heads; head++) {
    const at = head * headBytes;
    const within = (head / groupHeads) * headBytes;
    attendHead(
      out + at,
      query + at,
      blocks,
      within,
      count,
      blockTokens,
      rowBytes,
      headDim,
      scale,
    );
  }
}
