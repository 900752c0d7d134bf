/** The public face of the pool: it hands out slices and knows nothing of tokens. */

export type { PoolCommand, PoolEvent, RecallKind, RefusalReason } from "./commands.ts";
export { Pool, type Obtainable } from "./pool.ts";
export type { PoolMember, PoolOptions } from "./pool-state.ts";
export type { FinishedRecall } from "./recall-book.ts";
export type { PoolCountName, PoolCounts } from "./counters.ts";
export {
  headroomSlices,
  lendableSlices,
  type HeadroomInputs,
  type HeadroomSetting,
} from "./headroom.ts";
export { AllocationRate } from "./allocation-rate.ts";
