/**
 * Prices a batch: how long its parts would take with all KV local.
 *
 * Called by the engine for each step and by the borrow controller for steps it imagines. The cost
 * model is asked per layer; online correction by measured step times enters here.
 */

import type { CostModel } from "../hardware/index.ts";
import type { StepCompute } from "../prefetch/index.ts";
import type { Batch } from "../scheduler/index.ts";
import { BatchShape } from "./batch-shape.ts";

export class StepCost {
  readonly #cost: CostModel;
  readonly #layers: number;
  readonly #forecast: StepCompute;
  readonly #shape = new BatchShape();

  constructor(cost: CostModel, layers: number) {
    this.#cost = cost;
    this.#layers = layers;
    this.#forecast = this.blank();
  }

  blank(): StepCompute {
    return {
      layers: this.#layers,
      hostNs: this.#cost.hostNs,
      headNs: 0,
      linearLayerNs: 0,
      attentionLayerNs: 0,
      hbmBytesPerSecond: this.#cost.hbmBytesPerSecond,
    };
  }

  price(batch: Batch, out: StepCompute): void {
    out.linearLayerNs = this.#cost.linearLayerNs(batch.queryTokens);
    out.headNs = this.#cost.headNs(batch.sampledSequences);
    const { promptHostNs } = this.#cost;
    if (promptHostNs !== undefined) {
      out.hostNs = batch.prefillSequences > 0 ? promptHostNs : this.#cost.hostNs;
    }
    if (this.#cost.stepAttentionLayerNs !== undefined) {
      this.#shape.fill(batch);
      out.attentionLayerNs = this.#cost.stepAttentionLayerNs(this.#shape);
      return;
    }
    let attentionNs = 0;
    if (batch.decodeSequences > 0) {
      const { decodeSequences, decodeContextTokens } = batch;
      attentionNs = this.#cost.decodeAttentionLayerNs(decodeSequences, decodeContextTokens);
    }
    if (batch.prefillSequences > 0) {
      for (let index = 0; index < batch.count; index++) {
        const tokens = batch.tokens[index]!;
        if (tokens === 1 || batch.rows[index]! < 0) continue;
        attentionNs += this.#cost.prefillAttentionLayerNs(tokens, batch.pastTokens[index]!);
      }
    }
    out.attentionLayerNs = attentionNs;
  }

  /** A decode-only step of so many sequences with so many KV tokens together. Reused object. */
  decodeStep(sequences: number, contextTokens: number): StepCompute {
    const out = this.#forecast;
    const count = Math.max(1, Math.round(sequences));
    out.linearLayerNs = this.#cost.linearLayerNs(count);
    out.headNs = this.#cost.headNs(count);
    out.attentionLayerNs = this.#cost.decodeAttentionLayerNs(count, Math.round(contextTokens));
    return out;
  }

  /** Duration of the step with all KV local. */
  localNs(compute: StepCompute): number {
    const layerNs = compute.linearLayerNs + compute.attentionLayerNs;
    return compute.hostNs + compute.layers * layerNs + compute.headNs;
  }
}
