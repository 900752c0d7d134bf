/**
 * A Llama decoder in float64, from the definition and nothing else: no cache, no blocks, no chunks.
 *
 * It shares no code with src/model but the types: each token is computed from all tokens before it,
 * anew. Frequencies of RoPE are written down a second time, too.
 */

import type { ModelConfig, RopeScaling } from "../../src/model/index.ts";
import type { CheckpointWeights, Tensor } from "../../src/model/tensors.ts";

type Rows = number[][];
type Part = Tensor["part"];

/** @returns (tokens, vocab) the logits after each token */
export function referenceLogits(
  config: ModelConfig,
  weights: CheckpointWeights,
  ids: readonly number[],
): Rows {
  const { hidden, heads, kvHeads, headDim, ffn, vocab } = config;
  const matrix = (part: Part, layer: number, rows: number, columns: number): Rows => {
    const flat = new Float32Array(rows * columns);
    weights.read({ part, layer, rows, columns }, 0, flat);
    return Array.from({ length: rows }, (_, row) =>
      Array.from(flat.subarray(row * columns, (row + 1) * columns)),
    );
  };
  const norm = (part: Part, layer: number): number[] => matrix(part, layer, 1, hidden)[0]!;
  const embedding = matrix("embedding", -1, vocab, hidden);
  let x = ids.map((id) => [...embedding[id]!]);
  for (let layer = 0; layer < config.layers; layer++) {
    const normed = x.map((row) => normalized(row, norm("attentionNorm", layer), config.normEps));
    const q = times(normed, matrix("query", layer, heads * headDim, hidden));
    const k = times(normed, matrix("key", layer, kvHeads * headDim, hidden));
    const v = times(normed, matrix("value", layer, kvHeads * headDim, hidden));
    const mixed = ids.map((_, token) =>
      Array.from({ length: heads }, (__, head) => {
        const group = Math.floor((head * kvHeads) / heads);
        const query = turned(config, headOf(q[token]!, head, headDim), token);
        const scores = k
          .slice(0, token + 1)
          .map((row, at) => dot(query, turned(config, headOf(row, group, headDim), at)));
        const shares = softmax(scores.map((score) => score / Math.sqrt(headDim)));
        return Array.from({ length: headDim }, (___, dim) =>
          shares.reduce((total, share, at) => total + share * v[at]![group * headDim + dim]!, 0),
        );
      }).flat(),
    );
    x = sum(x, times(mixed, matrix("attentionOutput", layer, hidden, heads * headDim)));
    const again = x.map((row) => normalized(row, norm("ffnNorm", layer), config.normEps));
    const gate = times(again, matrix("gate", layer, ffn, hidden));
    const up = times(again, matrix("up", layer, ffn, hidden));
    const inner = gate.map((row, at) =>
      row.map((value, column) => (value / (1 + Math.exp(-value))) * up[at]![column]!),
    );
    x = sum(x, times(inner, matrix("down", layer, hidden, ffn)));
  }
  const last = x.map((row) => normalized(row, norm("finalNorm", -1), config.normEps));
  return times(last, config.isTied ? embedding : matrix("head", -1, vocab, hidden));
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((total, value, at) => total + value * b[at]!, 0);
}

function times(rows: Rows, matrix: Rows): Rows {
  return rows.map((row) => matrix.map((column) => dot(row, column)));
}

function sum(a: Rows, b: Rows): Rows {
  return a.map((row, at) => row.map((value, column) => value + b[at]![column]!));
}

function headOf(row: readonly number[], head: number, headDim: number): number[] {
  return row.slice(head * headDim, (head + 1) * headDim);
}

function normalized(row: readonly number[], weight: readonly number[], eps: number): number[] {
  const size = Math.sqrt(dot(row, row) / row.length + eps);
  return row.map((value, at) => (value / size) * weight[at]!);
}

function softmax(scores: readonly number[]): number[] {
  const highest = Math.max(...scores);
  const shares = scores.map((score) => Math.exp(score - highest));
  const total = shares.reduce((a, b) => a + b, 0);
  return shares.map((share) => share / total);
}

/** One head, turned by its position: pair i of (2i, 2i + 1) or of (i, i + half). */
function turned(config: ModelConfig, head: readonly number[], position: number): number[] {
  const { headDim, ropePairs, ropeTheta, ropeScaling } = config;
  const out = [...head];
  for (let pair = 0; pair < headDim / 2; pair++) {
    const frequency = frequencyOf(ropeTheta ** ((-2 * pair) / headDim), pair, config, ropeScaling);
    const size = ropeScaling.kind === "yarn" ? ropeScaling.magnitude : 1;
    const [first, second] =
      ropePairs === "neighbours" ? [2 * pair, 2 * pair + 1] : [pair, pair + headDim / 2];
    const [cos, sin] = [Math.cos(position * frequency), Math.sin(position * frequency)];
    out[first] = size * (head[first]! * cos - head[second]! * sin);
    out[second] = size * (head[first]! * sin + head[second]! * cos);
  }
  return out;
}

function frequencyOf(
  plain: number,
  pair: number,
  config: ModelConfig,
  scaling: RopeScaling,
): number {
  switch (scaling.kind) {
    case "none":
      return plain;
    case "linear":
      return plain / scaling.factor;
    case "divisors":
      return plain / scaling.divisors[pair]!;
    case "llama3": {
      const length = (2 * Math.PI) / plain;
      const original = scaling.originalContextTokens;
      if (length < original / scaling.highFrequencyFactor) return plain;
      if (length > original / scaling.lowFrequencyFactor) return plain / scaling.factor;
      const smooth =
        (original / length - scaling.lowFrequencyFactor) /
        (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
      return ((1 - smooth) * plain) / scaling.factor + smooth * plain;
    }
    case "yarn": {
      const { headDim, ropeTheta } = config;
      const dimOf = (turns: number): number =>
        (headDim / 2) *
        (Math.log(scaling.originalContextTokens / (2 * Math.PI * turns)) / Math.log(ropeTheta));
      let [low, high] = [dimOf(scaling.turnsFast), dimOf(scaling.turnsSlow)];
      if (scaling.isRampWhole) [low, high] = [Math.floor(low), Math.ceil(high)];
      low = Math.max(low, 0);
      high = Math.min(high, headDim - 1);
      if (low === high) high += 0.001;
      const ramp = Math.max(0, Math.min(1, (pair - low) / (high - low)));
      return plain * (1 - ramp) + (plain / scaling.factor) * ramp;
    }
  }
}
