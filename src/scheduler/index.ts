/** The public face of the scheduler: batches from requests. It knows no device and no lender. */

export {
  ADMISSION_SETTINGS,
  admits,
  type AdmissionSetting,
  type AdmissionState,
} from "./admission.ts";
export { Batch } from "./batch.ts";
export type { LinkPort, MemoryAnswer, MemoryPort, SchedulerEvents } from "./memory-port.ts";
export { OutputPredictor } from "./output-predictor.ts";
export { RequestQueue } from "./request-queue.ts";
export { Rotation } from "./rotation.ts";
export { Scheduler, type SchedulerOptions } from "./scheduler.ts";
export { Sequences } from "./sequences.ts";
export {
  remoteBytesWanted,
  type BorrowAnswer,
  type BorrowQuestion,
  type StepForecast,
} from "./borrowing.ts";
