/**
 * Attention of one token over the blocks of its sequence, wherever they lie.
 *
 * An element's order depends on its position alone: four positions at a time from 0 up, whatever
 * the blocks, the chunk and the batch.
 */

import { dot, exp4 } from "./vectors";

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
