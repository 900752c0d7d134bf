/**
 * The public face of the prefetch planner: what must cross which link before which layer group,
 * and how long a step then takes. It does not know what a sequence or a pool is.
 */

export type { LinkCosts, StepCompute } from "./step-compute.ts";
export { ReadSet } from "./read-set.ts";
export {
  accessChoice,
  chooseAccess,
  predictStepNs,
  type AccessChoice,
  type AccessMode,
} from "./access-mode.ts";
export { chooseGroupLayers, ringBytes } from "./group-layers.ts";
export { StagingRing, type PrefetchOutcome } from "./ring.ts";
export type { RemoteReads } from "./step-loads.ts";
export { StepTimeline, type TimelineInput } from "./timeline.ts";
export { TransferQueue, type Chunk, type Transfer } from "./transfers.ts";
