/**
 * One cost model for each pair of a GPU and a model, however many engines have it.
 *
 * Made by build-cluster.ts for one cluster. Cost models are tables that nobody changes, and making
 * them takes longer than a thousand steps.
 */

import { createCostModel, type CostModel, type Gpu, type ModelShape } from "../hardware/index.ts";
import type { Scenario } from "../scenario/index.ts";

/** Pairs are told apart by identity: the catalogues hand out one object a name. */
export class CostModels {
  readonly #scenario: Scenario;
  readonly #known = new Map<Gpu, Map<ModelShape, CostModel>>();

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  /** @param index of an engine of the scenario. */
  of(index: number): CostModel {
    const { engines, topology } = this.#scenario;
    const { gpuIndex, model } = engines[index]!;
    const gpu = topology.gpus[gpuIndex]!;
    const ofGpu = this.#known.get(gpu) ?? new Map<ModelShape, CostModel>();
    this.#known.set(gpu, ofGpu);
    const known = ofGpu.get(model) ?? createCostModel(gpu, model);
    ofGpu.set(model, known);
    return known;
  }
}
