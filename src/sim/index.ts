/** The public face of the simulator: one system of one scenario in, one record out. */

export { ADMISSION_SETTINGS, type AdmissionSetting } from "../scheduler/index.ts";
export {
  buildCluster,
  engineOptions,
  limitSlices,
  memorySizes,
  type ClusterSeams,
  type EngineMemorySize,
} from "./build-cluster.ts";
export { Cluster, type ClusterMember } from "./cluster.ts";
export { CostedCopies, type CostedCopiesOptions } from "./costed-copies.ts";
export { CostedRunner, type CostedRunnerOptions } from "./costed-runner.ts";
export { Digest } from "./digest.ts";
export { ServerLoad } from "./server-load.ts";
export { simulate } from "./simulate.ts";
export type {
  ByteGauge,
  EngineRecord,
  FailureReason,
  GapLog,
  LinkRecord,
  MemorySample,
  RecallRecord,
  RequestLog,
  RunRecord,
  Window,
} from "./run-record.ts";
