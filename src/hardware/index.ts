/** The public face of the hardware layer: GPUs, links, models and how long steps take. */

export { nearestNames } from "../base/index.ts";
export type { FormFactor, Gpu } from "./gpu.ts";
export { findGpu, GPU_NAMES } from "./gpu-catalogue.ts";
export { pathBetween, type Path, type Topology, type Wiring } from "./topology.ts";
export {
  LINK_LATENCY_SECONDS,
  parseServer,
  SERVER_GPUS_MAX,
  topologyFrom,
  type CustomLink,
  type Links,
} from "./server.ts";
export type { ModelShape } from "./model-shape.ts";
export { findModel, kvMemoryBytes, RESERVE_BYTES } from "./find-model.ts";
export type { AttentionShape, CostModel, CostSource } from "./cost-model.ts";
export {
  createProfileCostModel,
  type ProfileSettings,
  type ProfileTexts,
} from "./profile-cost-model.ts";
export type { ProfileText } from "./profile-tables.ts";
export { createCostModel, HOST_NS } from "./tabulated-cost-model.ts";
