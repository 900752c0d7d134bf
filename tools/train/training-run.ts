/**
 * A training run in memory: a network, its optimizer and the step it is at.
 *
 * Called by the program, which reports and saves, and by tests. It reads no clock and no file.
 *
 * Invariant: what a step computes depends on options and step alone, so that a run that was
 * restored goes on as if it had never ended.
 */

import { assert } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";
import { BpeEncoder } from "./bpe-encoder.ts";
import type { Vocabulary } from "./bpe-trainer.ts";
import type { Stage } from "./corpus/dialogue.ts";
import { type KernelModule, Workbench } from "./kernels.ts";
import { LlamaNetwork } from "./llama-network.ts";
import { initialParameters, type LlamaShape, parameterCount } from "./llama-shape.ts";
import { learningRate, type LearningPlan, Optimizer } from "./optimizer.ts";
import type { RunOptions } from "./run-options.ts";
import {
  COPY_LENGTH,
  makeCopyRows,
  makeRows,
  STREAMS,
  type TrainingRows,
} from "./training-text.ts";

/** Batches that the loss on unseen text is the mean of. */
const VALIDATION_BATCHES = 4;

/** Means since the last report. */
export interface Report {
  readonly loss: number;
  /** On random words said again; null where there were none. */
  readonly copyLoss: number | null;
  readonly norm: number;
  readonly rate: number;
  /** All positions so far. */
  readonly tokens: number;
}

export class TrainingRun {
  readonly encoder: BpeEncoder;
  readonly parameterCount: number;
  readonly #bench: Workbench;
  readonly #network: LlamaNetwork;
  readonly #optimizer: Optimizer;
  readonly #options: RunOptions;
  readonly #plan: LearningPlan;
  #step = 0;
  #lossSum = 0;
  #normSum = 0;
  #reportSteps = 0;
  #copyLossSum = 0;
  #copySteps = 0;

  constructor(
    module: KernelModule,
    shape: LlamaShape,
    vocabulary: Vocabulary,
    options: RunOptions,
  ) {
    this.#options = options;
    this.#plan = {
      optimizer: options.optimizer === "adamw" ? "adamw" : "muon",
      steps: options.steps,
      warmUpSteps: options.warmUp,
      rate: options.rate,
      fallPart: options.fallPart,
      finalPart: 0.01,
      beta1: 0.9,
      beta2: 0.98,
      decay: options.decay,
      gradientNormMax: 1,
    };
    this.encoder = new BpeEncoder(vocabulary);
    this.parameterCount = parameterCount(shape);
    this.#bench = new Workbench(module);
    this.#network = new LlamaNetwork(this.#bench, shape, options.sequences * options.length);
    this.#optimizer = new Optimizer(this.#bench, this.#network, this.#plan);
    const prng = new Prng(options.seed, STREAMS.parameters);
    this.parameters().set(initialParameters(shape, prng));
  }

  /** Steps that are done. */
  get step(): number {
    return this.#step;
  }

  /** A view of the parameters in place. */
  parameters(): Float32Array {
    return this.#bench.floats(this.#network.parameters, this.parameterCount);
  }

  /** Parameters and both moments: what restore() takes. */
  arrays(): Float32Array[] {
    const { first, second } = this.#optimizer;
    return [this.#network.parameters, first, second].map((address) =>
      this.#bench.floats(address, this.parameterCount),
    );
  }

  restore(step: number, arrays: readonly Float32Array[]): void {
    for (const [index, place] of this.arrays().entries()) {
      assert(arrays[index]!.length === place.length, "a checkpoint of another shape");
      place.set(arrays[index]!);
    }
    this.#step = step;
  }

  /** One step. */
  advance(): void {
    const stream = STREAMS.training + this.#step;
    const { seed, lateFrom, vocabulary } = this.#options;
    if (this.#isCopyStep()) {
      const sequences = this.#network.rows / COPY_LENGTH;
      const rows = makeCopyRows(vocabulary, new Prng(seed, stream), sequences);
      this.#copyLossSum += this.#lossOf(rows, COPY_LENGTH);
      this.#copySteps++;
    } else {
      const stage = this.#step < lateFrom ? "early" : "late";
      this.#lossSum += this.#lossOn(stream, seed, this.#lengthNow(), stage);
    }
    this.#normSum += this.#optimizer.apply(this.#step);
    this.#step++;
    this.#reportSteps++;
  }

  /** Every second step of a stretch. */
  #isCopyStep(): boolean {
    const { copyFrom, copyUntil } = this.#options;
    return this.#step >= copyFrom && this.#step < copyUntil && this.#step % 2 === 0;
  }

  /** The mean loss in nats on early text that no step has seen; leaves the run as it is. */
  validate(): number {
    let sum = 0;
    for (let batch = 0; batch < VALIDATION_BATCHES; batch++) {
      // Another seed, because the streams of this one are counted by its steps.
      const seed = -1 - this.#options.seed - batch * 1000;
      sum += this.#lossOn(STREAMS.validation, seed, this.#options.length, "early");
    }
    this.#bench.kernels.fill(this.#network.gradients, this.parameterCount, 0);
    return sum / VALIDATION_BATCHES;
  }

  /** Means since the last call. */
  report(): Report {
    const steps = this.#reportSteps;
    const { sequences, length } = this.#options;
    const report = {
      loss: this.#lossSum / (steps - this.#copySteps),
      copyLoss: this.#copySteps === 0 ? null : this.#copyLossSum / this.#copySteps,
      norm: this.#normSum / steps,
      rate: learningRate(this.#plan, this.#step - 1),
      tokens: this.#step * sequences * length,
    };
    [this.#lossSum, this.#normSum, this.#reportSteps] = [0, 0, 0];
    [this.#copyLossSum, this.#copySteps] = [0, 0];
    return report;
  }

  /** Short texts cost less; long ones come between, so that no position is ever new. */
  #lengthNow(): number {
    const { length, longEvery, longLength } = this.#options;
    return this.#step % longEvery === longEvery - 1 ? longLength : length;
  }

  #lossOn(stream: number, seed: number, length: number, stage: Stage): number {
    const prng = new Prng(seed, stream);
    const sequences = this.#network.rows / length;
    return this.#lossOf(makeRows(this.encoder, prng, sequences, length, stage), length);
  }

  #lossOf(rows: TrainingRows, length: number): number {
    this.#network.setLength(length);
    this.#network.forward(rows.tokens);
    // A batch in which only users speak teaches nothing, and must not divide by zero.
    const weights = rows.weights.map((weight) => weight / Math.max(1, rows.learnt));
    return this.#network.backward(rows.targets, weights);
  }
}
