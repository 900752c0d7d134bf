/** The public face of layer 0: what every other layer may use. It knows nothing of GPUs. */

export { assert, AssertionFailure, unreachable } from "./assert.ts";
export { EmaError, type ErrorCode } from "./errors.ts";
export { Prng } from "./prng.ts";
export { nearestNames, suggestNames } from "./nearest.ts";
export { EventHeap } from "./event-heap.ts";
export {
  engineId,
  leaseId,
  sliceId,
  type EngineId,
  type LeaseId,
  type SliceId,
} from "./brand.ts";
export { formatBytes, NS_PER_SECOND, parseBytes, parsePercent } from "./units.ts";
