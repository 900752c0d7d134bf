/**
 * AdamW with a warm-up, a cosine and a limit on the gradient's length.
 *
 * Called by the trainer once a step. Matrices are decayed, norms are not (Loshchilov and Hutter,
 * "Decoupled Weight Decay Regularization", 2019).
 */

import type { Address, Workbench } from "./kernels.ts";
import type { LlamaNetwork } from "./llama-network.ts";
import { isMatrix, parameterCount, tensorPlaces } from "./llama-shape.ts";

/** How a run learns. */
export interface LearningPlan {
  readonly steps: number;
  readonly warmUpSteps: number;
  readonly rate: number;
  /** The part of `rate` that is left at the end. */
  readonly finalPart: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly decay: number;
  readonly gradientNormMax: number;
}

const EPSILON = 1e-8;

/** The rate of a 0-based step: a line up, then half a cosine down. */
export function learningRate(plan: LearningPlan, step: number): number {
  if (step < plan.warmUpSteps) return (plan.rate * (step + 1)) / plan.warmUpSteps;
  const progress = (step - plan.warmUpSteps) / Math.max(1, plan.steps - plan.warmUpSteps);
  const cosine = (1 + Math.cos(Math.PI * Math.min(1, progress))) / 2;
  return plan.rate * (plan.finalPart + (1 - plan.finalPart) * cosine);
}

/** Holds the two moments of every parameter. */
export class AdamW {
  /** (parameters) floats each, part of a checkpoint. */
  readonly first: Address;
  readonly second: Address;
  readonly #bench: Workbench;
  readonly #network: LlamaNetwork;
  readonly #plan: LearningPlan;

  constructor(bench: Workbench, network: LlamaNetwork, plan: LearningPlan) {
    this.#bench = bench;
    this.#network = network;
    this.#plan = plan;
    this.first = bench.take(parameterCount(network.shape));
    this.second = bench.take(parameterCount(network.shape));
  }

  /**
   * Applies and clears the gradients.
   * @param step 0-based
   * @returns the gradient's length before it was limited
   */
  apply(step: number): number {
    const { kernels } = this.#bench;
    const { shape, parameters, gradients } = this.#network;
    const { beta1, beta2, decay, gradientNormMax } = this.#plan;
    const count = parameterCount(shape);
    const norm = Math.sqrt(kernels.sumOfSquares(gradients, count));
    if (norm > gradientNormMax) kernels.scale(gradients, count, gradientNormMax / norm);
    const rate = learningRate(this.#plan, step);
    const correction1 = 1 / (1 - beta1 ** (step + 1));
    const correction2 = 1 / (1 - beta2 ** (step + 1));
    for (const place of tensorPlaces(shape)) {
      const offset = 4 * place.offset;
      // prettier-ignore
      kernels.adamw(
        parameters + offset, gradients + offset, this.first + offset, this.second + offset,
        place.count, rate, beta1, beta2, correction1, correction2, EPSILON,
        isMatrix(place) ? decay : 0,
      );
    }
    kernels.fill(gradients, count, 0);
    return norm;
  }
}
