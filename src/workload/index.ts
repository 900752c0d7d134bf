/** The public face of the workload layer: requests from traces and from generators. */

export type { RequestTable } from "./request-table.ts";
