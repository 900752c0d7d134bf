/**
 * Prints how far the cost model is from the tables it was boiled down from, and what steps cost.
 *
 * Called by tools/calibrate.ts --report. Held-out points are rows of the same tables that the
 * calibration files do not contain: other shapes, other batches, other numbers of query heads.
 */

import { join } from "node:path";
import { calibrationOf } from "../src/hardware/calibration/catalogue.ts";
import { createCostModel, findGpu, findModel, kvMemoryBytes } from "../src/hardware/index.ts";
import { MEASURED_GPUS, type MeasuredRows } from "./calibrate-boil.ts";
import { summarise, type ErrorSummary } from "./calibrate-errors.ts";
import {
  decodeErrors,
  decodeModelErrors,
  gemmErrors,
  LAYER_COMPARISONS,
  layerErrors,
  prefillErrors,
} from "./calibrate-held-out.ts";

/**
 * The static steps of a saturated borrower whose times are published with B, F and 3 ms of host.
 */
const DECODE_STEPS = [
  { gpuName: "a100-40g", modelName: "OPT-13B", context: 512 },
  { gpuName: "a100-40g", modelName: "OPT-13B", context: 1024 },
  { gpuName: "a100-80g", modelName: "Qwen3-32B", context: 1024 },
  { gpuName: "h100", modelName: "Qwen3-32B", context: 1024 },
  { gpuName: "h100", modelName: "CodeLlama-34B", context: 1024 },
  { gpuName: "h100", modelName: "Qwen2.5-14B", context: 2048 },
  { gpuName: "h100", modelName: "Llama-3.1-8B", context: 2048 },
  { gpuName: "h200", modelName: "Qwen3-32B", context: 2048 },
  { gpuName: "l40s", modelName: "Llama-3.1-8B", context: 1024 },
] as const;

export interface DecodeStep {
  readonly gpuName: string;
  readonly modelName: string;
  readonly context: number;
  readonly sequences: number;
  readonly linearMs: number;
  readonly attentionMs: number;
  readonly headMs: number;
  readonly hostMs: number;
  readonly stepMs: number;
  /** Weights and KV over the time of the GPU: compare with B. */
  readonly achievedBytesPerSecond: number;
  /** Weights and KV at B, and the host: no kernel has a cost of its own there. */
  readonly closedFormMs: number;
}

/** A decode-only step with the GPU's KV memory full and every sequence at `context`. */
export function decodeStep(gpuName: string, modelName: string, context: number): DecodeStep {
  const gpu = findGpu(gpuName);
  const model = findModel(modelName);
  const cost = createCostModel(gpu, model);
  const tokens = kvMemoryBytes(gpu, model) / model.kvBytesPerToken;
  const sequences = tokens / context;
  const linearMs = (cost.linearLayerNs(sequences) * model.layers) / 1e6;
  const attentionMs = (cost.decodeAttentionLayerNs(sequences, tokens) * model.layers) / 1e6;
  const headMs = cost.headNs(sequences) / 1e6;
  const hostMs = cost.hostNs / 1e6;
  const gpuMs = linearMs + attentionMs + headMs;
  // The embedding of an untied model is looked up, not read through.
  const unread = model.isTied ? 0 : 2 * model.vocab * model.hidden;
  const bytes = model.weightBytes - unread + tokens * model.kvBytesPerToken;
  return {
    gpuName,
    modelName,
    context,
    sequences,
    linearMs,
    attentionMs,
    headMs,
    hostMs,
    stepMs: gpuMs + hostMs,
    achievedBytesPerSecond: (bytes * 1e3) / gpuMs,
    closedFormMs:
      ((model.weightBytes + tokens * model.kvBytesPerToken) * 1e3) / gpu.hbmBytesPerSecond + hostMs,
  };
}

/** @param dataFolder shared data: the folder of aiconfigurator and vidur. */
export function printReport(rows: MeasuredRows, dataFolder: string): void {
  console.log("Relative errors at held-out points: mean of |error|, mean, 95th percentile");
  for (const measured of MEASURED_GPUS) {
    const { calibration } = calibrationOf(findGpu(measured.gpuName))!;
    const name = measured.gpuName.padEnd(9);
    const products = gemmErrors(measured, calibration, rows);
    printErrors(`${name} GEMM, other n, k or m`, summarise(products));
    for (const kind of ["other query heads", "other KV heads", "between grid points"] as const) {
      const errors = decodeErrors(measured, calibration, rows, kind);
      printErrors(`${name} decode, ${kind}`, summarise(errors));
    }
    printErrors(`${name} decode, as a model asks`, summarise(decodeModelErrors(measured, rows)));
    const prompts = prefillErrors(measured, calibration, rows);
    printErrors(`${name} prefill, other KV heads`, summarise(prompts));
  }
  for (const comparison of LAYER_COMPARISONS) {
    const file = join(dataFolder, "vidur", comparison.file);
    const name = `${comparison.gpuName.padEnd(9)} ${comparison.modelName} layer, vidur`;
    printErrors(`${name}, <= 64`, summarise(layerErrors(comparison, file, 1, 64)));
    printErrors(`${name}, 512-4096`, summarise(layerErrors(comparison, file, 512, 4096)));
  }
  printDecodeSteps();
}

function printDecodeSteps(): void {
  console.log("\nDecode steps with KV memory full, milliseconds");
  console.log(
    "gpu       model         context  seqs linear  attn  head  host  step " +
      "| closed form at B | GB/s",
  );
  for (const { gpuName, modelName, context } of DECODE_STEPS) {
    const step = decodeStep(gpuName, modelName, context);
    const cells = [step.linearMs, step.attentionMs, step.headMs, step.hostMs, step.stepMs];
    const excess = (step.stepMs / step.closedFormMs - 1) * 100;
    const closedForm = `${step.closedFormMs.toFixed(2)} (step +${excess.toFixed(1)} %)`;
    console.log(
      `${gpuName.padEnd(9)} ${modelName.padEnd(13)} ${String(context).padStart(7)} ` +
        `${step.sequences.toFixed(1).padStart(5)} ` +
        `${cells.map((cell) => cell.toFixed(2).padStart(5)).join(" ")} | ` +
        `${closedForm.padEnd(20)} | ${(step.achievedBytesPerSecond / 1e9).toFixed(0)}`,
    );
  }
}

function printErrors(what: string, summary: ErrorSummary): void {
  const percent = (share: number): string => `${(share * 100).toFixed(1).padStart(6)} %`;
  console.log(
    `  ${what.padEnd(46)} ${String(summary.count).padStart(6)} points ` +
      `${percent(summary.meanAbsolute)} ${percent(summary.mean)} ${percent(summary.p95)}`,
  );
}
