/**
 * Prices a batch: how long its parts would take with all KV local.
 *
 * Called by the engine for each step and by the borrow controller for steps it imagines. The cost
 * model is asked per layer. Where step times are measured, a factor for each kind of step (decodes
 * only, or prompts too) follows what was measured, so that a model that is wrong by a factor is
 * right after some steps; in the costed world nothing is measured and the factors are one.
 */

import type { CostModel } from "../hardware/index.ts";
import type { StepCompute } from "../prefetch/index.ts";
import type { Batch } from "../scheduler/index.ts";
import { BatchShape } from "./batch-shape.ts";

/** Weight of one measured step in its kind's factor; a lone slow step moves it little. */
const CORRECTION = 1 / 16;
/** One measurement moves a factor by no more than this, whatever the machine did meanwhile. */
const RATIO_MAX = 8;

export class StepCost {
  readonly #cost: CostModel;
  readonly #layers: number;
  readonly #forecast: StepCompute;
  readonly #shape = new BatchShape();
  /** Reading a layer's weights: GEMMs of one token do nothing else. */
  readonly #weightsNs: number;
  #decodeFactor = 1;
  #promptFactor = 1;

  constructor(cost: CostModel, layers: number) {
    this.#cost = cost;
    this.#layers = layers;
    this.#weightsNs = cost.linearLayerNs(1);
    this.#forecast = this.blank();
  }

  blank(): StepCompute {
    return {
      layers: this.#layers,
      hostNs: this.#cost.hostNs,
      headNs: 0,
      linearLayerNs: 0,
      attentionLayerNs: 0,
      hbmLayerNs: 0,
      hbmBytesPerSecond: this.#cost.hbmBytesPerSecond,
    };
  }

  price(batch: Batch, out: StepCompute): void {
    this.#price(batch, out);
    this.#scale(out, batch.prefillSequences > 0 ? this.#promptFactor : this.#decodeFactor);
  }

  /** A step of this price took `measuredNs` with all its waits for remote bytes taken off. */
  correct(hasPrompts: boolean, compute: StepCompute, measuredNs: number): void {
    const ratio = measuredNs / this.localNs(compute);
    const bounded = Math.min(RATIO_MAX, Math.max(1 / RATIO_MAX, ratio));
    const change = 1 + CORRECTION * (bounded - 1);
    if (hasPrompts) this.#promptFactor *= change;
    else this.#decodeFactor *= change;
  }

  #scale(out: StepCompute, factor: number): void {
    out.hostNs *= factor;
    out.headNs *= factor;
    out.linearLayerNs *= factor;
    out.attentionLayerNs *= factor;
    out.hbmLayerNs! *= factor;
  }

  #price(batch: Batch, out: StepCompute): void {
    out.hostNs = this.#cost.hostNs;
    out.linearLayerNs = this.#cost.linearLayerNs(batch.queryTokens);
    const weightsNs = Math.min(this.#weightsNs, out.linearLayerNs);
    out.headNs = this.#cost.headNs(batch.sampledSequences);
    const { promptHostNs } = this.#cost;
    if (promptHostNs !== undefined) {
      out.hostNs = batch.prefillSequences > 0 ? promptHostNs : this.#cost.hostNs;
    }
    if (this.#cost.stepAttentionLayerNs !== undefined) {
      this.#shape.fill(batch);
      out.attentionLayerNs = this.#cost.stepAttentionLayerNs(this.#shape);
      out.hbmLayerNs = weightsNs + (batch.decodeSequences > 0 ? out.attentionLayerNs : 0);
      return;
    }
    let attentionNs = 0;
    if (batch.decodeSequences > 0) {
      const { decodeSequences, decodeContextTokens } = batch;
      attentionNs = this.#cost.decodeAttentionLayerNs(decodeSequences, decodeContextTokens);
    }
    // Decodes read KV, prompts compute with it.
    out.hbmLayerNs = weightsNs + attentionNs;
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
    out.hostNs = this.#cost.hostNs;
    out.linearLayerNs = this.#cost.linearLayerNs(count);
    out.headNs = this.#cost.headNs(count);
    out.attentionLayerNs = this.#cost.decodeAttentionLayerNs(count, Math.round(contextTokens));
    this.#scale(out, this.#decodeFactor);
    return out;
  }

  /** Duration of the step with all KV local. */
  localNs(compute: StepCompute): number {
    const layerNs = compute.linearLayerNs + compute.attentionLayerNs;
    return compute.hostNs + compute.layers * layerNs + compute.headNs;
  }
}
