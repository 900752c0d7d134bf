/**
 * The public face of the report: what a comparison is, how it is made, and its three forms.
 *
 * Architecture: this layer reads runs and scenarios; it never simulates by itself, prints or
 * writes.
 */

export { capacities, type ScaledEngine } from "./capacity.ts";
export type { CapacityJson } from "./capacity-schema.ts";
export { roundRate } from "./capacity-search.ts";
export { capacityText } from "./capacity-text.ts";
export type { CompareResult, Comparison } from "./comparison.ts";
export { compare, type CompareOptions, type CompareProgress } from "./compare.ts";
export type { CompareJson } from "./compare-schema.ts";
export { clockTime } from "./figures.ts";
export { htmlReport } from "./html-report.ts";
export { PacedLine, type LineOutput } from "./paced-line.ts";
export { createPaint, type Paint } from "./paint.ts";
export { ProgressLine } from "./progress-line.ts";
export type { AdmissionSetting, RunRecord, Simulator } from "./simulation.ts";
export { textReport } from "./text-report.ts";
