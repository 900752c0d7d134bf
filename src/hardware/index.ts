/** The public face of the hardware layer: GPUs, links, models and how long steps take. */

export type { FormFactor, Gpu } from "./gpu.ts";
export { pathBetween, type Path, type Topology, type Wiring } from "./topology.ts";
export type { ModelShape } from "./model-shape.ts";
export type { CostModel, CostSource } from "./cost-model.ts";
