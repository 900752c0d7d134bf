/** The public face of the workload layer: requests from traces and from generators. */

export { EMPTY_TABLE, tableFromColumns, type RequestTable } from "./request-table.ts";
export { readTrace, type TraceFile } from "./trace-file.ts";
export { dealShares } from "./deal.ts";
export { delay, mergeTables, rescaleGaps, rotate } from "./reshape.ts";
export {
  findLengthPreset,
  LENGTH_PRESETS,
  LOG_NORMAL_SIGMA,
  type LengthPreset,
  type LengthSpec,
} from "./lengths.ts";
export {
  expectedRequests,
  generate,
  streamsOf,
  type ArrivalPattern,
  type GeneratedRequests,
  type RandomStreams,
} from "./generator.ts";
