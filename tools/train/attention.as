// Causal attention of one sequence and one query head, forward and backward, as WASM SIMD.
//
// Part of kernels.as (compiled with it). Rows of q, k, v and their gradients are `stride` floats
// apart. Four queries go together, because each key that is loaded serves them all; keys are taken
// four at a time from a transposed copy, so that scores of neighbours fill a vector.

import { at, exp4, max4, sum4 } from "./kernels";

const MASKED: f32 = -1e30;

/** out[d][t] = x[t][d]: (headWidth) then (length). */
export function transposeHead(out: usize, x: usize, stride: i32, length: i32, width: i32): void {
  for (let t = 0; t < length; t++) {
    const row = at(x, t * stride);
    for (let d = 0; d < width; d++) store<f32>(at(out, d * length + t), load<f32>(at(row, d)));
  }
}

/** out[r][j] = factor * x[r] . y[j] for four rows and `count` columns, y transposed. */
function dots(
  out: usize, x: usize, stride: i32, turned: usize, length: i32, count: i32, width: i32, factor: f32,
): void {
  const x1 = at(x, stride), x2 = at(x, 2 * stride), x3 = at(x, 3 * stride);
  const f = f32x4.splat(factor);
  for (let j = 0; j < count; j += 4) {
    let s0 = f32x4.splat(0), s1 = f32x4.splat(0), s2 = f32x4.splat(0), s3 = f32x4.splat(0);
    let column = at(turned, j);
    for (let d = 0; d < width; d++, column += (<usize>length) << 2) {
      const y = v128.load(column);
      s0 = f32x4.add(s0, f32x4.mul(v128.load_splat<f32>(at(x, d)), y));
      s1 = f32x4.add(s1, f32x4.mul(v128.load_splat<f32>(at(x1, d)), y));
      s2 = f32x4.add(s2, f32x4.mul(v128.load_splat<f32>(at(x2, d)), y));
      s3 = f32x4.add(s3, f32x4.mul(v128.load_splat<f32>(at(x3, d)), y));
    }
    v128.store(at(out, j), f32x4.mul(s0, f));
    v128.store(at(out, length + j), f32x4.mul(s1, f));
    v128.store(at(out, 2 * length + j), f32x4.mul(s2, f));
    v128.store(at(out, 3 * length + j), f32x4.mul(s3, f));
  }
}

/** out[r] (+)= factor[r] * sum over j of p[r][j] * y[j], y in rows. */
function mix(
  out: usize, outStride: i32, p: usize, length: i32, count: i32, y: usize, stride: i32, width: i32,
  f0: f32, f1: f32, f2: f32, f3: f32,
): void {
  for (let d = 0; d < width; d += 4) {
    let s0 = f32x4.splat(0), s1 = f32x4.splat(0), s2 = f32x4.splat(0), s3 = f32x4.splat(0);
    let row = at(y, d);
    for (let j = 0; j < count; j++, row += (<usize>stride) << 2) {
      const value = v128.load(row);
      const weight = at(p, j);
      s0 = f32x4.add(s0, f32x4.mul(v128.load_splat<f32>(weight), value));
      s1 = f32x4.add(s1, f32x4.mul(v128.load_splat<f32>(at(weight, length)), value));
      s2 = f32x4.add(s2, f32x4.mul(v128.load_splat<f32>(at(weight, 2 * length)), value));
      s3 = f32x4.add(s3, f32x4.mul(v128.load_splat<f32>(at(weight, 3 * length)), value));
    }
    v128.store(at(out, d), f32x4.mul(s0, f32x4.splat(f0)));
    v128.store(at(out, outStride + d), f32x4.mul(s1, f32x4.splat(f1)));
    v128.store(at(out, 2 * outStride + d), f32x4.mul(s2, f32x4.splat(f2)));
    v128.store(at(out, 3 * outStride + d), f32x4.mul(s3, f32x4.splat(f3)));
  }
}

/** y[j] += sum over four rows r of p[r][j] * x[r]. */
function spread(
  y: usize, stride: i32, p: usize, length: i32, count: i32, x: usize, xStride: i32, width: i32,
): void {
  for (let d = 0; d < width; d += 4) {
    const x0 = v128.load(at(x, d)), x1 = v128.load(at(x, xStride + d));
    const x2 = v128.load(at(x, 2 * xStride + d)), x3 = v128.load(at(x, 3 * xStride + d));
    let row = at(y, d);
    for (let j = 0; j < count; j++, row += (<usize>stride) << 2) {
      const weight = at(p, j);
      let value = v128.load(row);
      value = f32x4.add(value, f32x4.mul(v128.load_splat<f32>(weight), x0));
      value = f32x4.add(value, f32x4.mul(v128.load_splat<f32>(at(weight, length)), x1));
      value = f32x4.add(value, f32x4.mul(v128.load_splat<f32>(at(weight, 2 * length)), x2));
      value = f32x4.add(value, f32x4.mul(v128.load_splat<f32>(at(weight, 3 * length)), x3));
      v128.store(row, value);
    }
  }
}

function mask(scores: usize, length: i32, first: i32): void {
  for (let r = 0; r < 3; r++) {
    for (let j = first + r + 1; j < first + 4; j++) store<f32>(at(scores, r * length + j), MASKED);
  }
}

/**
 * out[t] = softmax(q[t] . k[..t] / sqrt(width)) v; `logs` keeps one log of the sum a row.
 * `scratch` holds (width + 4) * length floats. length is a multiple of 4.
 */
export function attentionForward(
  out: usize, logs: usize, q: usize, k: usize, v: usize,
  qStride: i32, kStride: i32, length: i32, width: i32, scratch: usize,
): void {
  const turned = scratch, scores = at(scratch, width * length);
  const factor: f32 = 1 / sqrt<f32>(<f32>width);
  transposeHead(turned, k, kStride, length, width);
  for (let t = 0; t < length; t += 4) {
    const count = t + 4;
    dots(scores, at(q, t * qStride), qStride, turned, length, count, width, factor);
    mask(scores, length, t);
    for (let r = 0; r < 4; r++) {
      const row = at(scores, r * length);
      let most = v128.load(row);
      for (let j = 4; j < count; j += 4) most = f32x4.max(most, v128.load(at(row, j)));
      const peak = max4(most);
      const top = f32x4.splat(peak);
      let sums = f32x4.splat(0);
      for (let j = 0; j < count; j += 4) {
        const value = exp4(f32x4.sub(v128.load(at(row, j)), top));
        sums = f32x4.add(sums, value);
        v128.store(at(row, j), value);
      }
      // The inverse waits in the place of the log until the rows are mixed.
      store<f32>(at(logs, t + r), peak);
      store<f32>(at(scratch, width * length + 4 * length + r), sum4(sums));
    }
    const sum = at(scratch, width * length + 4 * length);
    mix(at(out, t * qStride), qStride, scores, length, count, v, kStride, width,
      1 / load<f32>(sum), 1 / load<f32>(sum, 4), 1 / load<f32>(sum, 8), 1 / load<f32>(sum, 12));
    for (let r = 0; r < 4; r++) {
      const place = at(logs, t + r);
      store<f32>(place, load<f32>(place) + Mathf.log(load<f32>(at(sum, r))));
    }
  }
}

/**
 * dq = , dk += , dv += the gradients, from that of the output. `scratch` holds
 * (2 * width + 8) * length floats.
 */
export function attentionBackward(
  dq: usize, dk: usize, dv: usize, dout: usize, out: usize, logs: usize, q: usize, k: usize, v: usize,
  qStride: i32, kStride: i32, length: i32, width: i32, scratch: usize,
): void {
  const turnedK = scratch, turnedV = at(scratch, width * length);
  const p = at(turnedV, width * length), ds = at(p, 4 * length);
  const factor: f32 = 1 / sqrt<f32>(<f32>width);
  transposeHead(turnedK, k, kStride, length, width);
  transposeHead(turnedV, v, kStride, length, width);
  for (let t = 0; t < length; t += 4) {
    const count = t + 4;
    const queries = at(q, t * qStride), above = at(dout, t * qStride);
    dots(p, queries, qStride, turnedK, length, count, width, factor);
    mask(p, length, t);
    dots(ds, above, qStride, turnedV, length, count, width, 1);
    for (let r = 0; r < 4; r++) {
      const log = f32x4.splat(load<f32>(at(logs, t + r)));
      let own = f32x4.splat(0);
      for (let d = 0; d < width; d += 4) {
        const place = r * qStride + d;
        const product = f32x4.mul(v128.load(at(above, place)), v128.load(at(out, t * qStride + place)));
        own = f32x4.add(own, product);
      }
      const mean = f32x4.splat(sum4(own)), f = f32x4.splat(factor);
      for (let j = 0; j < count; j += 4) {
        const place = at(p, r * length + j), slope = at(ds, r * length + j);
        const weight = exp4(f32x4.sub(v128.load(place), log));
        v128.store(place, weight);
        const raw = f32x4.mul(weight, f32x4.sub(v128.load(slope), mean));
        v128.store(slope, f32x4.mul(raw, f));
      }
    }
    mix(at(dq, t * qStride), qStride, ds, length, count, k, kStride, width, 1, 1, 1, 1);
    spread(dk, kStride, ds, length, count, queries, qStride, width);
    spread(dv, kStride, p, length, count, above, qStride, width);
  }
}
