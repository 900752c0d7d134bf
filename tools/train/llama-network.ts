/**
 * A Llama that can be trained: forward, and backward by hand.
 *
 * Called by the trainer with batches of token ids. It knows nothing of text, of optimizers and of
 * files. Per layer: x += Wo attention(rope(Wq n), rope(Wk n), Wv n) with n = rmsnorm(x), then
 * x += Wdown (silu(Wgate n) * Wup n); the head is the embedding (Touvron et al., "LLaMA", 2023;
 * Ainslie et al., "GQA", 2023). RoPE turns neighbouring pairs (Su et al., "RoFormer", 2021).
 *
 * Invariants: a batch is rows of tokens, cut into sequences of one length; gradients are added to
 * what `gradients` holds, so that a step may be made of several batches.
 */

import { assert } from "../../src/base/assert.ts";
import type { Address, Workbench } from "./kernels.ts";
import { findTensor, type LlamaShape, parameterCount } from "./llama-shape.ts";
import {
  type GradientStreams,
  type LayerTrace,
  type LayerWeights,
  layerWeights,
  takeAngles,
  takeStreams,
  takeTraces,
} from "./llama-trace.ts";

/** The network over one workbench; see the header. */
export class LlamaNetwork {
  readonly shape: LlamaShape;
  /** Tokens of a batch. */
  readonly rows: number;
  /** Addresses of (parameterCount) floats each. */
  readonly parameters: Address;
  readonly gradients: Address;
  /** (tokens, vocabulary): logits after forward(), their gradients after backward(). */
  readonly logits: Address;
  #length: number;
  readonly #bench: Workbench;
  readonly #layers: LayerWeights[];
  readonly #traces: LayerTrace[];
  readonly #outputNorm: number;
  readonly #tokens: Address;
  readonly #targets: Address;
  readonly #weights: Address;
  readonly #last: Address;
  readonly #lastInverse: Address;
  readonly #lastNormed: Address;
  readonly #flow: GradientStreams;
  readonly #angles: Address;
  readonly #scratch: Address;

  /** @param rows tokens of a batch; one sequence until setLength() */
  constructor(bench: Workbench, shape: LlamaShape, rows: number) {
    this.shape = shape;
    this.rows = rows;
    this.#length = rows;
    this.#bench = bench;
    const take = (width: number): Address => bench.take(rows * width);
    this.parameters = bench.take(parameterCount(shape));
    this.gradients = bench.take(parameterCount(shape));
    this.#layers = layerWeights(shape);
    this.#outputNorm = 4 * findTensor(shape, "output_norm.weight").offset;
    this.#traces = takeTraces(bench, shape, rows);
    this.#tokens = take(1);
    this.#targets = take(1);
    this.#weights = take(1);
    this.#last = take(shape.width);
    this.#lastInverse = take(1);
    this.#lastNormed = take(shape.width);
    this.logits = take(shape.vocabulary);
    this.#flow = takeStreams(bench, shape, rows);
    this.#angles = takeAngles(bench, shape, rows);
    const queryWidth = shape.heads * shape.headWidth;
    const widest = Math.max(shape.width, queryWidth, shape.feedForward, shape.vocabulary);
    const attention = (2 * shape.headWidth + 9) * rows;
    this.#scratch = bench.take(Math.max(256 * (widest + 64), attention));
  }

  /** Cuts the batch into sequences of `length` tokens, a multiple of 4 that divides the rows. */
  setLength(length: number): void {
    assert(length % 4 === 0 && this.rows % length === 0, `${this.rows} rows of ${length}`);
    this.#length = length;
  }

  /**
   * Logits of every position. `tokens` may be shorter than the batch: the rest is zeros, which
   * causality keeps from what stands before.
   */
  forward(tokens: ArrayLike<number>): void {
    const { rows } = this;
    const ids = this.#bench.integers(this.#tokens, rows).fill(0);
    ids.set(tokens);
    const { width } = this.shape;
    const table = this.#bench.floats(this.parameters, this.shape.vocabulary * width);
    const input = this.#bench.floats(this.#traces[0]!.input, rows * width);
    for (let row = 0; row < rows; row++) {
      const from = ids[row]! * width;
      input.set(table.subarray(from, from + width), row * width);
    }
    for (let layer = 0; layer < this.shape.layers; layer++) {
      const next = this.#traces[layer + 1]?.input ?? this.#last;
      this.#attend(layer);
      this.#feed(layer, next);
    }
    this.#norm(this.#lastNormed, this.#lastInverse, this.#last, this.#outputNorm);
    this.#apply(this.logits, this.#lastNormed, 0, width, this.shape.vocabulary, true);
  }

  /**
   * After forward(): adds the gradient of the mean loss over weighted positions to `gradients`.
   * @param targets the token that follows each position
   * @param weights what each position's loss counts; 0 leaves it out
   * @returns the weighted sum of losses in nats
   */
  backward(targets: ArrayLike<number>, weights: ArrayLike<number>): number {
    const { kernels } = this.#bench;
    const { width, vocabulary } = this.shape;
    const { rows } = this;
    this.#bench.integers(this.#targets, rows).set(targets);
    this.#bench.floats(this.#weights, rows).set(weights);
    const { logits } = this;
    const loss = kernels.crossEntropy(logits, this.#targets, this.#weights, rows, vocabulary);
    kernels.fill(this.#flow.dn, rows * width, 0);
    this.#applyBack(this.#flow.dn, this.logits, this.#lastNormed, 0, width, vocabulary);
    kernels.fill(this.#flow.dx, rows * width, 0);
    this.#normBack(this.#lastInverse, this.#last, this.#outputNorm);
    for (let layer = this.shape.layers - 1; layer >= 0; layer--) {
      this.#feedBack(layer);
      this.#attendBack(layer);
    }
    const ids = this.#bench.integers(this.#tokens, rows);
    for (let row = 0; row < rows; row++) {
      const place = this.gradients + 4 * ids[row]! * width;
      kernels.add(place, this.#flow.dx + 4 * row * width, width);
    }
    return loss;
  }

  /** x + Wo attention: from `input` to `middle`. */
  #attend(layer: number): void {
    const { kernels } = this.#bench;
    const trace = this.#traces[layer]!;
    const weights = this.#layers[layer]!;
    const { width, heads, kvHeads, headWidth } = this.shape;
    const { rows } = this;
    const length = this.#length;
    const [queryWidth, kvWidth] = [heads * headWidth, kvHeads * headWidth];
    const { attentionNormed } = trace;
    this.#norm(attentionNormed, trace.attentionInverse, trace.input, weights.attentionNorm);
    this.#apply(trace.q, attentionNormed, weights.q, width, queryWidth, true);
    this.#apply(trace.k, attentionNormed, weights.k, width, kvWidth, true);
    this.#apply(trace.v, attentionNormed, weights.v, width, kvWidth, true);
    kernels.rotate(trace.q, this.#angles, rows, length, heads, headWidth, 1);
    kernels.rotate(trace.k, this.#angles, rows, length, kvHeads, headWidth, 1);
    this.#eachHead((query, key, log) => {
      const [q, k, v] = [trace.q + query, trace.k + key, trace.v + key];
      const [out, logs] = [trace.mixed + query, trace.logs + log];
      // prettier-ignore
      kernels.attentionForward(
        out, logs, q, k, v, queryWidth, kvWidth, length, headWidth, this.#scratch,
      );
    });
    this.#copy(trace.middle, trace.input, rows * width);
    this.#apply(trace.middle, trace.mixed, weights.output, queryWidth, width, false);
  }

  /** x + Wdown (silu(gate) * up): from `middle` to `next`. */
  #feed(layer: number, next: Address): void {
    const { kernels } = this.#bench;
    const trace = this.#traces[layer]!;
    const weights = this.#layers[layer]!;
    const { width, feedForward } = this.shape;
    const { rows } = this;
    this.#norm(trace.feedNormed, trace.feedInverse, trace.middle, weights.feedNorm);
    this.#apply(trace.gate, trace.feedNormed, weights.gate, width, feedForward, true);
    this.#apply(trace.up, trace.feedNormed, weights.up, width, feedForward, true);
    kernels.swigluForward(trace.hidden, trace.gate, trace.up, rows * feedForward);
    this.#copy(next, trace.middle, rows * width);
    this.#apply(next, trace.hidden, weights.down, feedForward, width, false);
  }

  #feedBack(layer: number): void {
    const { kernels } = this.#bench;
    const trace = this.#traces[layer]!;
    const weights = this.#layers[layer]!;
    const { width, feedForward } = this.shape;
    const { rows } = this;
    kernels.fill(this.#flow.dhidden, rows * feedForward, 0);
    const { dx, dhidden } = this.#flow;
    this.#applyBack(dhidden, dx, trace.hidden, weights.down, feedForward, width);
    kernels.swigluBackward(trace.gate, trace.up, this.#flow.dhidden, rows * feedForward);
    kernels.fill(this.#flow.dn, rows * width, 0);
    this.#applyBack(this.#flow.dn, trace.gate, trace.feedNormed, weights.gate, width, feedForward);
    this.#applyBack(this.#flow.dn, trace.up, trace.feedNormed, weights.up, width, feedForward);
    this.#normBack(trace.feedInverse, trace.middle, weights.feedNorm);
  }

  #attendBack(layer: number): void {
    const { kernels } = this.#bench;
    const trace = this.#traces[layer]!;
    const weights = this.#layers[layer]!;
    const { width, heads, kvHeads, headWidth } = this.shape;
    const { rows } = this;
    const length = this.#length;
    const [queryWidth, kvWidth] = [heads * headWidth, kvHeads * headWidth];
    kernels.fill(this.#flow.dmixed, rows * queryWidth, 0);
    const { dx, dmixed } = this.#flow;
    this.#applyBack(dmixed, dx, trace.mixed, weights.output, queryWidth, width);
    kernels.fill(this.#flow.dk, rows * kvWidth, 0);
    kernels.fill(this.#flow.dv, rows * kvWidth, 0);
    this.#eachHead((query, key, log) => {
      const [dq, dk, dv] = [this.#flow.dq + query, this.#flow.dk + key, this.#flow.dv + key];
      const [dout, out, logs] = [this.#flow.dmixed + query, trace.mixed + query, trace.logs + log];
      const [q, k, v] = [trace.q + query, trace.k + key, trace.v + key];
      // prettier-ignore
      kernels.attentionBackward(
        dq, dk, dv, dout, out, logs, q, k, v, queryWidth, kvWidth, length, headWidth, this.#scratch,
      );
    });
    kernels.rotate(this.#flow.dq, this.#angles, rows, length, heads, headWidth, -1);
    kernels.rotate(this.#flow.dk, this.#angles, rows, length, kvHeads, headWidth, -1);
    kernels.fill(this.#flow.dn, rows * width, 0);
    const normed = trace.attentionNormed;
    this.#applyBack(this.#flow.dn, this.#flow.dq, normed, weights.q, width, queryWidth);
    this.#applyBack(this.#flow.dn, this.#flow.dk, normed, weights.k, width, kvWidth);
    this.#applyBack(this.#flow.dn, this.#flow.dv, normed, weights.v, width, kvWidth);
    this.#normBack(trace.attentionInverse, trace.input, weights.attentionNorm);
  }

  /** Calls with byte offsets of each (sequence, head) in q, in k and v, and in the logs. */
  #eachHead(visit: (query: number, key: number, log: number) => void): void {
    const { heads, kvHeads, headWidth } = this.shape;
    const length = this.#length;
    for (let sequence = 0; sequence < this.rows / length; sequence++) {
      for (let head = 0; head < heads; head++) {
        const kvHead = Math.floor((head * kvHeads) / heads);
        const query = 4 * headWidth * (sequence * length * heads + head);
        const key = 4 * headWidth * (sequence * length * kvHeads + kvHead);
        visit(query, key, 4 * (sequence * heads + head) * length);
      }
    }
  }

  /** y = W x or y += W x for every row. */
  // prettier-ignore
  #apply(
    y: Address, x: Address, weight: number, inputs: number, outputs: number, isFresh: boolean,
  ): void {
    const { kernels } = this.#bench;
    const { rows } = this;
    const w = this.parameters + weight;
    if (isFresh) kernels.fill(y, rows * outputs, 0);
    kernels.product(rows, outputs, inputs, x, inputs, 1, w, 1, inputs, y, this.#scratch);
  }

  /** dx += W' dy and dW += dy x'. */
  // prettier-ignore
  #applyBack(
    dx: Address, dy: Address, x: Address, weight: number, inputs: number, outputs: number,
  ): void {
    const { kernels } = this.#bench;
    const { rows } = this;
    const [w, dw] = [this.parameters + weight, this.gradients + weight];
    kernels.product(rows, inputs, outputs, dy, outputs, 1, w, inputs, 1, dx, this.#scratch);
    kernels.product(outputs, inputs, rows, dy, 1, outputs, x, inputs, 1, dw, this.#scratch);
  }

  #norm(y: Address, inverse: Address, x: Address, weight: number): void {
    const { width, epsilon } = this.shape;
    const { rows } = this;
    const w = this.parameters + weight;
    this.#bench.kernels.normForward(y, inverse, x, w, rows, width, epsilon);
  }

  /** Adds to the residual stream's gradient what comes through the norm, from #dn. */
  #normBack(inverse: Address, x: Address, weight: number): void {
    const { rows } = this;
    const [w, dw] = [this.parameters + weight, this.gradients + weight];
    const { kernels } = this.#bench;
    kernels.normBackward(this.#flow.dx, dw, this.#flow.dn, inverse, x, w, rows, this.shape.width);
  }

  #copy(to: Address, from: Address, count: number): void {
    this.#bench.floats(to, count).set(this.#bench.floats(from, count));
  }
}
