/**
 * Lets a model in training speak: a prompt in, the most likely or a drawn answer out.
 *
 * Called by the trainer for samples. It computes the whole text anew for every token, which is slow
 * and needs no KV cache; the product's decoder is the fast one.
 */

import type { Prng } from "../../src/base/prng.ts";
import type { BpeEncoder } from "./bpe-encoder.ts";
import type { KernelModule } from "./kernels.ts";
import { Workbench } from "./kernels.ts";
import { LlamaNetwork } from "./llama-network.ts";
import { type LlamaShape, parameterCount } from "./llama-shape.ts";

/** Generates with a copy of the parameters. */
export class Sampler {
  readonly #bench: Workbench;
  readonly #network: LlamaNetwork;
  readonly #encoder: BpeEncoder;

  /** @param length the longest text, prompt included, in tokens */
  constructor(module: KernelModule, shape: LlamaShape, encoder: BpeEncoder, length: number) {
    this.#bench = new Workbench(module);
    this.#network = new LlamaNetwork(this.#bench, shape, length);
    this.#encoder = encoder;
  }

  load(parameters: Float32Array): void {
    const count = parameterCount(this.#network.shape);
    this.#bench.floats(this.#network.parameters, count).set(parameters);
  }

  /** Answers the last of `said`, which users and the model said in turn. */
  answer(said: readonly string[], prng: Prng, temperature: number): string {
    const special = (name: string): number => this.#encoder.special(name);
    const ids = [special("<|begin|>")];
    for (const [index, text] of said.entries()) {
      ids.push(special(index % 2 === 0 ? "<|user|>" : "<|assistant|>"));
      ids.push(...this.#encoder.encode(text), special("<|end|>"));
    }
    ids.push(special("<|assistant|>"));
    const start = ids.length;
    const end = special("<|end|>");
    while (ids.length < this.#network.rows) {
      const id = this.#next(ids, prng, temperature);
      if (id === end) break;
      ids.push(id);
    }
    return this.#encoder.decode(ids.slice(start));
  }

  #next(ids: readonly number[], prng: Prng, temperature: number): number {
    const { vocabulary } = this.#network.shape;
    this.#network.forward(ids);
    const start = this.#network.logits + 4 * (ids.length - 1) * vocabulary;
    const logits = this.#bench.floats(start, vocabulary);
    const peak = logits.reduce((most, value) => Math.max(most, value), -Infinity);
    if (temperature === 0) return logits.indexOf(peak);
    const weights = Array.from(logits, (value) => Math.exp((value - peak) / temperature));
    let left = prng.nextUnit() * weights.reduce((sum, weight) => sum + weight, 0);
    for (const [id, weight] of weights.entries()) {
      left -= weight;
      if (left <= 0) return id;
    }
    return vocabulary - 1;
  }
}
