/**
 * A decoder small enough to serve hundreds of prompts in a second, with seeded random weights.
 *
 * Its attention is not flat: a wrong byte of KV moves the logits, and with them what is sampled.
 */

import { Prng } from "../../src/base/index.ts";
import type { CheckpointWeights, ModelConfig } from "../../src/model/index.ts";

export function tinyConfig(layers: number): ModelConfig {
  return {
    layers,
    hidden: 16,
    heads: 4,
    kvHeads: 2,
    headDim: 4,
    ffn: 32,
    vocab: 61,
    contextTokensMax: 32_768,
    normEps: 1e-5,
    ropeTheta: 10_000,
    ropePairs: "neighbours",
    ropeScaling: { kind: "none" },
    isTied: false,
  };
}

/** Normal draws over the root of the inputs; a stream of its own for each tensor. */
export function tinyWeights(seed: number): CheckpointWeights {
  return {
    read(tensor, firstElement, target) {
      const stream = [...`${tensor.layer} ${tensor.part}`].reduce(
        (hash, char) => Math.imul(hash ^ char.charCodeAt(0), 0x01000193),
        0x811c9dc5,
      );
      const prng = new Prng(seed, stream);
      const isNorm = tensor.rows === 1;
      const scale = isNorm ? 0.1 : 1.5 / Math.sqrt(tensor.columns);
      for (let skipped = 0; skipped < firstElement; skipped++) prng.nextNormal();
      for (let index = 0; index < target.length; index++) {
        target[index] = (isNorm ? 1 : 0) + scale * prng.nextNormal();
      }
    },
    close() {},
  };
}
