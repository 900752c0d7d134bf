/**
 * How parameters follow their gradients: AdamW or Muon, a warm-up, a fall, a limit on the length.
 *
 * Called by the trainer once a step. AdamW (Loshchilov and Hutter, "Decoupled Weight Decay
 * Regularization", 2019) can take all tensors; with Muon it keeps embedding and norms, and the
 * matrices inside the layers take orthogonal steps. What is decayed are matrices: all of them, or
 * with Muon those inside the layers. Without that their entries, and with them the logits of
 * attention, grow until each query sees one key only and nothing about the others is learnt.
 */

import type { Address, Workbench } from "./kernels.ts";
import type { LlamaNetwork } from "./llama-network.ts";
import { isMatrix, parameterCount, type TensorPlace, tensorPlaces } from "./llama-shape.ts";
import { OrthogonalStep } from "./orthogonal-step.ts";

/** How a run learns. */
export interface LearningPlan {
  readonly optimizer: "adamw" | "muon";
  readonly steps: number;
  readonly warmUpSteps: number;
  readonly rate: number;
  /** The part of the steps, at the end, over which the rate falls. */
  readonly fallPart: number;
  /** The part of `rate` that is left at the end. */
  readonly finalPart: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly decay: number;
  readonly gradientNormMax: number;
}

const EPSILON = 1e-8;
/** Of Muon's moving sum of gradients. */
const MOMENTUM = 0.95;
/** Of the rate, for the tensors that Muon leaves to AdamW. */
const OUTER_PART = 0.5;

/**
 * The rate of a 0-based step: a line up, a level, a line down. Unlike a cosine it does not depend
 * on the end of the run before it falls, so that the end may be moved (Hu et al., "MiniCPM", 2024,
 * section 4).
 */
export function learningRate(plan: LearningPlan, step: number): number {
  if (step < plan.warmUpSteps) return (plan.rate * (step + 1)) / plan.warmUpSteps;
  const left = (plan.steps - step) / (plan.fallPart * plan.steps);
  return plan.rate * (plan.finalPart + (1 - plan.finalPart) * Math.min(1, left));
}

/** Holds the moments of every parameter. */
export class Optimizer {
  /** (parameters) floats each, part of a checkpoint; Muon uses the first alone. */
  readonly first: Address;
  readonly second: Address;
  readonly #bench: Workbench;
  readonly #network: LlamaNetwork;
  readonly #plan: LearningPlan;
  readonly #orthogonal: OrthogonalStep;
  readonly #direction: Address;

  constructor(bench: Workbench, network: LlamaNetwork, plan: LearningPlan) {
    this.#bench = bench;
    this.#network = network;
    this.#plan = plan;
    const { shape } = network;
    this.first = bench.take(parameterCount(shape));
    this.second = bench.take(parameterCount(shape));
    const side = Math.max(shape.width, shape.feedForward, shape.heads * shape.headWidth);
    this.#orthogonal = new OrthogonalStep(bench, side);
    this.#direction = bench.take(side * side);
  }

  /**
   * Applies and clears the gradients.
   * @param step 0-based
   * @returns the gradient's length before it was limited
   */
  apply(step: number): number {
    const { kernels } = this.#bench;
    const { shape, gradients } = this.#network;
    const { gradientNormMax } = this.#plan;
    const count = parameterCount(shape);
    const norm = Math.sqrt(kernels.sumOfSquares(gradients, count));
    if (norm > gradientNormMax) kernels.scale(gradients, count, gradientNormMax / norm);
    for (const place of tensorPlaces(shape)) {
      const isInner = isMatrix(place) && place.name.startsWith("blk.");
      if (isInner && this.#plan.optimizer === "muon") this.#muon(place, step);
      else this.#adamw(place, step);
    }
    kernels.fill(gradients, count, 0);
    return norm;
  }

  #adamw(place: TensorPlace, step: number): void {
    const { parameters, gradients } = this.#network;
    const { beta1, beta2, decay } = this.#plan;
    const offset = 4 * place.offset;
    const part = this.#plan.optimizer === "muon" ? OUTER_PART : 1;
    const rate = part * learningRate(this.#plan, step);
    const correction1 = 1 / (1 - beta1 ** (step + 1));
    const correction2 = 1 / (1 - beta2 ** (step + 1));
    // prettier-ignore
    this.#bench.kernels.adamw(
      parameters + offset, gradients + offset, this.first + offset, this.second + offset,
      place.count, rate, beta1, beta2, correction1, correction2,
      EPSILON, isMatrix(place) && this.#plan.optimizer === "adamw" ? decay : 0,
    );
  }

  #muon(place: TensorPlace, step: number): void {
    const { kernels } = this.#bench;
    const { count } = place;
    const offset = 4 * place.offset;
    const [parameters, gradients] = [
      this.#network.parameters + offset,
      this.#network.gradients + offset,
    ];
    const momentum = this.first + offset;
    const direction = this.#direction;
    kernels.scale(momentum, count, MOMENTUM);
    kernels.add(momentum, gradients, count);
    // A look ahead along the moving sum, as Nesterov's.
    this.#bench.floats(direction, count).set(this.#bench.floats(momentum, count));
    kernels.scale(direction, count, MOMENTUM);
    kernels.add(direction, gradients, count);
    this.#orthogonal.apply(direction, place.shape[0]!, place.shape[1]!);
    const rate = learningRate(this.#plan, step);
    kernels.scale(direction, count, -rate);
    kernels.scale(parameters, count, 1 - rate * this.#plan.decay);
    kernels.add(parameters, direction, count);
  }
}
