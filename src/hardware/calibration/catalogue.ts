/**
 * Which measured tables stand for which GPU.
 *
 * Read by tabulated-cost-model.ts. A board that differs from a measured one in HBM alone uses its
 * tables with the memory-bound parts scaled by the ratio of peak bandwidths; a GPU that is not here
 * has a roofline.
 */

import type { Gpu } from "../gpu.ts";
import { A100_80G_ATTENTION } from "./a100-80g-attention.ts";
import { A100_80G_GEMM } from "./a100-80g-gemm.ts";
import { H100_ATTENTION } from "./h100-attention.ts";
import { H100_GEMM } from "./h100-gemm.ts";
import { H200_ATTENTION } from "./h200-attention.ts";
import { H200_GEMM } from "./h200-gemm.ts";
import { RTX_4090_ATTENTION, RTX_4090_GEMM } from "./rtx-4090.ts";
import { RTX_PRO_6000_ATTENTION, RTX_PRO_6000_GEMM } from "./rtx-pro-6000.ts";
import type { Calibration } from "./tables.ts";

const SOURCE = "ai-dynamo/aiconfigurator at 095f58a, vLLM kernels, bf16";

const A100_80G: Calibration = {
  gpuName: "a100-80g",
  source: SOURCE,
  peakBytesPerSecond: 2039e9,
  gemm: A100_80G_GEMM,
  attention: A100_80G_ATTENTION,
};
const H100: Calibration = {
  gpuName: "h100",
  source: SOURCE,
  peakBytesPerSecond: 3350e9,
  gemm: H100_GEMM,
  attention: H100_ATTENTION,
};
const H200: Calibration = {
  gpuName: "h200",
  source: SOURCE,
  peakBytesPerSecond: 4800e9,
  gemm: H200_GEMM,
  attention: H200_ATTENTION,
};

const RTX_4090: Calibration = {
  gpuName: "rtx-4090",
  source: "LLMServingSim at 5daddb2, Llama-3.1-8B, vLLM 0.19, bf16",
  peakBytesPerSecond: 1008e9,
  gemm: RTX_4090_GEMM,
  attention: RTX_4090_ATTENTION,
};
const RTX_PRO_6000: Calibration = {
  gpuName: "rtx-pro-6000",
  source: "LLMServingSim at 5daddb2, Qwen3-32B, vLLM 0.19, bf16",
  peakBytesPerSecond: 1792e9,
  gemm: RTX_PRO_6000_GEMM,
  attention: RTX_PRO_6000_ATTENTION,
};

/** A100-40 has the same chip, clocks and NVLinks as A100-80, and slower HBM. */
const CALIBRATION_OF: Readonly<Record<string, Calibration>> = {
  "a100-40g": A100_80G,
  "a100-80g": A100_80G,
  h100: H100,
  h200: H200,
  "rtx-4090": RTX_4090,
  "rtx-pro-6000": RTX_PRO_6000,
};

export interface CalibrationChoice {
  readonly calibration: Calibration;
  /** Peak HBM bandwidth of the GPU over that of the measured one; 1 when it is the measured one. */
  readonly bandwidthRatio: number;
}

/** @returns `null` where no measured board is close enough. */
export function calibrationOf(gpu: Gpu): CalibrationChoice | null {
  const calibration = CALIBRATION_OF[gpu.name];
  if (calibration === undefined) return null;
  const bandwidthRatio = gpu.hbmPeakBytesPerSecond / calibration.peakBytesPerSecond;
  return { calibration, bandwidthRatio };
}
