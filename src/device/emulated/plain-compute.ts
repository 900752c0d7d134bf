/**
 * The operations of a decoder in plain TypeScript: the definition of right.
 *
 * Every other implementation of Compute is held to this one within stated bounds. It reads and
 * writes the window of its holder and knows nothing of where a byte lies.
 *
 * Sums are kept in float64 and rounded to float32 once. Orders are fixed by the element alone: a
 * dot product has four partial sums, over k = 0, 1, 2, 3 modulo 4, added pairwise at the end;
 * attention goes over positions from 0 up, twice: for the scores, then for the values.
 */

import { assert } from "../../base/index.ts";
import type {
  AttentionBatch,
  AttentionShape,
  Compute,
  LayerPlace,
  Matrix,
  RopePairs,
} from "../ports.ts";
import type { Window } from "./window.ts";

const FLOAT_BYTES = 4;

export class PlainCompute implements Compute {
  readonly #floats: Float32Array;
  /** Scores of one head of one token; grows to the longest context seen. */
  #scores = new Float64Array(1024);
  #values = new Float64Array(256);

  constructor(window: Window) {
    this.#floats = window.floats;
  }

  embed(out: number, table: Matrix, ids: Int32Array): void {
    for (let row = 0; row < ids.length; row++) {
      assert(ids[row]! >= 0 && ids[row]! < table.rows, `row ${ids[row]} of ${table.rows}`);
    }
    this.gatherRows(out, table.address, ids, table.columns);
  }

  rmsNorm(
    out: number,
    x: number,
    weight: number,
    rows: number,
    columns: number,
    eps: number,
  ): void {
    const floats = this.#floats;
    const weights = floatIndex(weight);
    for (let row = 0; row < rows; row++) {
      const source = floatIndex(x) + row * columns;
      const target = floatIndex(out) + row * columns;
      const squares = dot(floats, source, source, columns);
      const inverse = 1 / Math.sqrt(squares / columns + eps);
      for (let column = 0; column < columns; column++) {
        floats[target + column] = floats[source + column]! * inverse * floats[weights + column]!;
      }
    }
  }

  linear(out: number, x: number, matrix: Matrix, rows: number): void {
    const floats = this.#floats;
    const weights = floatIndex(matrix.address);
    for (let row = 0; row < rows; row++) {
      const source = floatIndex(x) + row * matrix.columns;
      const target = floatIndex(out) + row * matrix.rows;
      for (let column = 0; column < matrix.rows; column++) {
        const weight = weights + column * matrix.columns;
        floats[target + column] = dot(floats, source, weight, matrix.columns);
      }
    }
  }

  rope(
    x: number,
    rows: number,
    heads: number,
    headDim: number,
    positions: Int32Array,
    frequencies: Float64Array,
    pairs: RopePairs,
    magnitude: number,
  ): void {
    const floats = this.#floats;
    const half = headDim / 2;
    const [stride, distance] = pairs === "neighbours" ? [2, 1] : [1, half];
    for (let row = 0; row < rows; row++) {
      const start = floatIndex(x) + row * heads * headDim;
      for (let pair = 0; pair < half; pair++) {
        const angle = positions[row]! * frequencies[pair]!;
        const cos = Math.cos(angle) * magnitude;
        const sin = Math.sin(angle) * magnitude;
        for (let head = 0; head < heads; head++) {
          const first = start + head * headDim + pair * stride;
          const second = first + distance;
          const a = floats[first]!;
          const b = floats[second]!;
          floats[first] = a * cos - b * sin;
          floats[second] = a * sin + b * cos;
        }
      }
    }
  }

  writeKv(
    k: number,
    v: number,
    batch: AttentionBatch,
    place: LayerPlace,
    shape: AttentionShape,
  ): void {
    const floats = this.#floats;
    const width = shape.kvHeads * shape.headDim;
    for (let token = 0; token < batch.tokenCount; token++) {
      const target = kIndex(batch, place, token, batch.positionOfToken[token]!, width);
      const keys = floatIndex(k) + token * width;
      const values = floatIndex(v) + token * width;
      floats.copyWithin(target, keys, keys + width);
      floats.copyWithin(target + batch.blockTokens * width, values, values + width);
    }
  }

  attend(
    out: number,
    query: number,
    batch: AttentionBatch,
    place: LayerPlace,
    shape: AttentionShape,
    scale: number,
  ): void {
    const rowFloats = shape.heads * shape.headDim;
    if (this.#values.length < shape.headDim) this.#values = new Float64Array(shape.headDim);
    for (let token = 0; token < batch.tokenCount; token++) {
      const count = batch.positionOfToken[token]! + 1;
      if (this.#scores.length < count) this.#scores = new Float64Array(2 * count);
      for (let head = 0; head < shape.heads; head++) {
        const offset = token * rowFloats + head * shape.headDim;
        const queryIndex = floatIndex(query) + offset;
        const sum = this.#score(queryIndex, batch, place, shape, scale, token, head);
        this.#weigh(floatIndex(out) + offset, batch, place, shape, token, head, sum);
      }
    }
  }

  swiGlu(out: number, gate: number, up: number, count: number): void {
    const floats = this.#floats;
    const [target, gates, ups] = [floatIndex(out), floatIndex(gate), floatIndex(up)];
    for (let index = 0; index < count; index++) {
      const value = floats[gates + index]!;
      floats[target + index] = (value / (1 + Math.exp(-value))) * floats[ups + index]!;
    }
  }

  add(x: number, y: number, count: number): void {
    const floats = this.#floats;
    const [target, source] = [floatIndex(x), floatIndex(y)];
    for (let index = 0; index < count; index++) {
      floats[target + index] = floats[target + index]! + floats[source + index]!;
    }
  }

  gatherRows(out: number, x: number, rows: Int32Array, columns: number): void {
    const target = floatIndex(out);
    for (let row = 0; row < rows.length; row++) {
      const source = floatIndex(x) + rows[row]! * columns;
      this.#floats.copyWithin(target + row * columns, source, source + columns);
    }
  }

  finish(): void {
    // Every operation has been carried out when its call returned.
  }

  /** Fills #scores with exp(score - highest) of one head. @returns their sum. */
  #score(
    query: number,
    batch: AttentionBatch,
    place: LayerPlace,
    shape: AttentionShape,
    scale: number,
    token: number,
    head: number,
  ): number {
    const floats = this.#floats;
    const scores = this.#scores;
    const width = shape.kvHeads * shape.headDim;
    const within = kvHeadOf(head, shape) * shape.headDim;
    const count = batch.positionOfToken[token]! + 1;
    let highest = -Infinity;
    for (let position = 0; position < count; position++) {
      const key = kIndex(batch, place, token, position, width) + within;
      const score = dot(floats, query, key, shape.headDim) * scale;
      scores[position] = score;
      if (score > highest) highest = score;
    }
    let sum = 0;
    for (let position = 0; position < count; position++) {
      const share = Math.exp(scores[position]! - highest);
      scores[position] = share;
      sum += share;
    }
    return sum;
  }

  /** out = values weighed with #scores / sum, of one head. */
  #weigh(
    out: number,
    batch: AttentionBatch,
    place: LayerPlace,
    shape: AttentionShape,
    token: number,
    head: number,
    sum: number,
  ): void {
    const floats = this.#floats;
    const values = this.#values;
    const { headDim } = shape;
    const width = shape.kvHeads * headDim;
    const within = batch.blockTokens * width + kvHeadOf(head, shape) * headDim;
    values.fill(0, 0, headDim);
    for (let position = 0; position <= batch.positionOfToken[token]!; position++) {
      const value = kIndex(batch, place, token, position, width) + within;
      const share = this.#scores[position]!;
      for (let dim = 0; dim < headDim; dim++) {
        values[dim] = values[dim]! + share * floats[value + dim]!;
      }
    }
    for (let dim = 0; dim < headDim; dim++) floats[out + dim] = values[dim]! / sum;
  }
}

/** An address as an index of floats; not by shift, which would cut it at 4 GiB. */
function floatIndex(address: number): number {
  assert(address % FLOAT_BYTES === 0, `address ${address} is not that of a float`);
  return address / FLOAT_BYTES;
}

/** Query heads share KV heads in groups of neighbours. */
function kvHeadOf(head: number, shape: AttentionShape): number {
  return Math.floor(head / (shape.heads / shape.kvHeads));
}

/** Where the K row of a position of the token's sequence begins, in floats. */
function kIndex(
  batch: AttentionBatch,
  place: LayerPlace,
  token: number,
  position: number,
  width: number,
): number {
  const { blockTokens } = batch;
  const inSequence = Math.floor(position / blockTokens);
  const block = batch.firstBlock[batch.sequenceOfToken[token]!]! + inSequence;
  const address =
    batch.sliceAddress[block]! +
    batch.indexInSlice[block]! * place.blockStrideBytes +
    place.layerOffsetBytes;
  return address / FLOAT_BYTES + (position - inSequence * blockTokens) * width;
}

/** Four partial sums, so that additions need not wait for each other; added pairwise. */
function dot(floats: Float32Array, x: number, y: number, count: number): number {
  let [sum0, sum1, sum2, sum3] = [0, 0, 0, 0];
  const whole = count - (count % 4);
  for (let index = 0; index < whole; index += 4) {
    sum0 += floats[x + index]! * floats[y + index]!;
    sum1 += floats[x + index + 1]! * floats[y + index + 1]!;
    sum2 += floats[x + index + 2]! * floats[y + index + 2]!;
    sum3 += floats[x + index + 3]! * floats[y + index + 3]!;
  }
  for (let index = whole; index < count; index++) sum0 += floats[x + index]! * floats[y + index]!;
  return sum0 + sum1 + (sum2 + sum3);
}
