/**
 * A model of seeded random weights with a tokenizer of bytes: proof runs need no download.
 *
 * Used by tests and by whoever serves the model called "random". Its tokens mean nothing; what is
 * proved with it is that they stay the same, wherever the KV lies.
 *
 * Any element is drawn by its place (counter-draw.ts), so that reading pieces in any order gives
 * the same weights. They are uniform with the deviation 1 / sqrt(columns), which keeps activations
 * of the order of 1; norms are spread around 1.
 *
 *     ids: 0 to 255 the bytes | 256 begin | 257 end | the rest add nothing to a text
 */

import { assert } from "../base/index.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { philox } from "./counter-draw.ts";
import { checkModelConfig, type ModelConfig } from "./model-config.ts";
import { tensorsOf, type CheckpointWeights, type Tensor } from "./tensors.ts";
import type { Tokenizer } from "./tokenizer.ts";

const [BYTE_COUNT, BEGIN_ID, END_ID] = [256, 256, 257];

/** The least vocabulary that the byte tokenizer needs. */
export const RANDOM_VOCAB_MIN = 258;

/** @param seed equal seeds and configs give equal weights, on every machine */
export function randomCheckpoint(config: ModelConfig, seed: number): Checkpoint {
  assert(config.vocab >= RANDOM_VOCAB_MIN, `a vocabulary of ${config.vocab} has no room for bytes`);
  return {
    name: `random-${seed}`,
    config: checkModelConfig(config, "random model"),
    weights: randomWeights(config, seed),
    tokenizer: new ByteTokenizer(config.vocab),
    chatTemplate: null,
  };
}

/** The weights alone; any vocabulary. */
export function randomWeights(config: ModelConfig, seed: number): CheckpointWeights {
  const tensors = tensorsOf(config);
  const indexOf = new Map(tensors.map(({ layer, part }, index) => [`${layer} ${part}`, index]));
  return {
    read: (tensor, firstElement, target) => {
      const index = indexOf.get(`${tensor.layer} ${tensor.part}`);
      assert(index !== undefined, () => `no ${tensor.part} in layer ${tensor.layer}`);
      fillRandom(tensor, index, seed, firstElement, target);
    },
    close: () => undefined,
  };
}

function fillRandom(
  tensor: Tensor,
  index: number,
  seed: number,
  firstElement: number,
  target: Float32Array,
): void {
  const isNorm = tensor.part.endsWith("Norm");
  // A uniform number in [-1, 1) has the deviation 1 / sqrt(3).
  const spread = isNorm ? 0.1 : Math.sqrt(3 / tensor.columns);
  const words = new Uint32Array(4);
  let block = -1;
  for (let at = 0; at < target.length; at++) {
    const element = firstElement + at;
    if (Math.floor(element / 4) !== block) {
      block = Math.floor(element / 4);
      words.set([block, Math.floor(block / 4294967296), index, 1]);
      philox(words, seed, Math.floor(seed / 4294967296));
    }
    const draw = (words[element % 4]! / 4294967296) * 2 - 1;
    target[at] = (isNorm ? 1 : 0) + draw * spread;
  }
}

/** One token a byte of UTF-8. */
class ByteTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly beginId = BEGIN_ID;
  readonly endIds = [END_ID];

  constructor(vocabSize: number) {
    this.vocabSize = vocabSize;
  }

  encode(text: string, _isPlain: boolean): Int32Array {
    return Int32Array.from(Buffer.from(text));
  }

  bytesOf(id: number, _previousId: number): Uint8Array {
    return id < BYTE_COUNT ? Uint8Array.of(id) : new Uint8Array(0);
  }

  decode(ids: Int32Array): string {
    return Buffer.from(ids.filter((id) => id < BYTE_COUNT)).toString("utf8");
  }
}
