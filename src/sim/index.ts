/** The public face of the simulator: one system of one scenario in, one record out. */

export { ADMISSION_SETTINGS, type AdmissionSetting } from "../scheduler/index.ts";
export {
  buildCluster,
  memorySizes,
  type ClusterSeams,
  type EngineMemorySize,
} from "./build-cluster.ts";
export { Cluster, type ClusterMember } from "./cluster.ts";
export { Digest } from "./digest.ts";
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
