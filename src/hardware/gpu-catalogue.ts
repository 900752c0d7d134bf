/**
 * The GPUs that EMA knows, each figure with its source.
 *
 * Read by server.ts (names in scenarios) and by the calibration catalogue. Sizes are decimal.
 * "Share" below is achieved over data sheet; the shares of the SXM boards come from measured
 * tables (aiconfigurator, commit 095f58a: GEMMs that only read weights, and decode attention).
 *
 * Invariant: names are lower case and unique; SXM boards have NVLink, PCIe cards here have none.
 */

import { EmaError, suggestNames } from "../base/index.ts";
import type { Gpu } from "./gpu.ts";

/** 0.80 of 1555 GB/s: between GEMM (0.70) and decode attention (0.81), aiconfigurator's A100. */
const A100_40_HBM_BYTES_PER_SECOND = 1244e9;
/** 0.80 of 2039 GB/s, as above. */
const A100_80_HBM_BYTES_PER_SECOND = 1632e9;
/** 0.90 of 3350 GB/s: between GEMM (0.84) and decode attention (0.93), aiconfigurator's H100. */
const H100_HBM_BYTES_PER_SECOND = 3000e9;
/** 0.85 of 4800 GB/s: between GEMM (0.78) and decode attention (0.91), aiconfigurator's H200. */
const H200_HBM_BYTES_PER_SECOND = 4100e9;
/**
 * 0.88 of 864 GB/s, scaled, not measured: the mean of the shares that weight-reading GEMMs reach on
 * two similar cards in LLMServingSim's dense tables (commit 5daddb2): RTX 4090 0.94 of 1008 GB/s
 * (same architecture), RTX PRO 6000 0.82 of 1792 GB/s (same class).
 */
const L40S_HBM_BYTES_PER_SECOND = 760e9;

/**
 * 0.94 of 1008 GB/s: a gate+up product of one token reads 234.9 MB in 247.3 us, LLMServingSim's
 * dense table of Llama-3.1-8B (commit 5daddb2).
 */
const RTX_4090_HBM_BYTES_PER_SECOND = 950e9;
/**
 * 0.80 of 1792 GB/s: gate+up, down and qkv products of one token read 524, 262 and 105 MB in 378,
 * 182 and 71 us, LLMServingSim's dense table of Qwen3-32B (commit 5daddb2).
 */
const RTX_PRO_6000_HBM_BYTES_PER_SECOND = 1430e9;

/** bf16 FLOP/s of large prefill GEMMs, aiconfigurator: 0.85, 0.79 and 0.78 of the data sheets. */
const A100_FLOPS_PER_SECOND = 265e12;
const H100_FLOPS_PER_SECOND = 786e12;
const H200_FLOPS_PER_SECOND = 776e12;
/**
 * 0.83 of 362 TFLOP/s, scaled: the share that RTX PRO 6000's gate+up GEMM of 2048 tokens reaches in
 * LLMServingSim's table (RTX 4090's data sheet understates it, so it gives no share).
 */
const L40S_FLOPS_PER_SECOND = 300e12;
/** A gate+up product of 2048 tokens: 481 GFLOP in 2897 us, the table above. */
const RTX_4090_FLOPS_PER_SECOND = 166e12;
/** The same of Qwen3-32B, 0.81 of 504 TFLOP/s: 1074 GFLOP in 2629 us, the table above. */
const RTX_PRO_6000_FLOPS_PER_SECOND = 408e12;

/** nvbandwidth README at 66746a3: memcpy_write_ce between two A100, 276.3 GB/s. */
const NVLINK3_BYTES_PER_SECOND = 276e9;
/** cudaMemcpyPeer between two H100, NVIDIA/nccl issue 1264. H200 has the same NVLink 4: scaled. */
const NVLINK4_BYTES_PER_SECOND = 376e9;
/** nvbandwidth README at 66746a3: host_to_device_memcpy_ce over PCIe 4 x16. */
const PCIE4_BYTES_PER_SECOND = 26e9;
/** PCIe 5 x16: 50 to 55 GB/s, nvbandwidth issue 24; the lower end. */
const PCIE5_BYTES_PER_SECOND = 50e9;

/** HBM sizes and peaks are the data sheets'. */
export const GPU_CATALOGUE: readonly Gpu[] = [
  {
    name: "a100-40g",
    label: "A100-SXM4-40GB",
    formFactor: "sxm",
    hbmBytes: 40e9,
    hbmPeakBytesPerSecond: 1555e9,
    hbmBytesPerSecond: A100_40_HBM_BYTES_PER_SECOND,
    flopsPerSecond: A100_FLOPS_PER_SECOND,
    portBytesPerSecond: NVLINK3_BYTES_PER_SECOND,
    hostBytesPerSecond: PCIE4_BYTES_PER_SECOND,
  },
  {
    name: "a100-80g",
    label: "A100-SXM4-80GB",
    formFactor: "sxm",
    hbmBytes: 80e9,
    hbmPeakBytesPerSecond: 2039e9,
    hbmBytesPerSecond: A100_80_HBM_BYTES_PER_SECOND,
    flopsPerSecond: A100_FLOPS_PER_SECOND,
    portBytesPerSecond: NVLINK3_BYTES_PER_SECOND,
    hostBytesPerSecond: PCIE4_BYTES_PER_SECOND,
  },
  {
    name: "h100",
    label: "H100-SXM5-80GB",
    formFactor: "sxm",
    hbmBytes: 80e9,
    hbmPeakBytesPerSecond: 3350e9,
    hbmBytesPerSecond: H100_HBM_BYTES_PER_SECOND,
    flopsPerSecond: H100_FLOPS_PER_SECOND,
    portBytesPerSecond: NVLINK4_BYTES_PER_SECOND,
    hostBytesPerSecond: PCIE5_BYTES_PER_SECOND,
  },
  {
    name: "h200",
    label: "H200-SXM5-141GB",
    formFactor: "sxm",
    hbmBytes: 141e9,
    hbmPeakBytesPerSecond: 4800e9,
    hbmBytesPerSecond: H200_HBM_BYTES_PER_SECOND,
    flopsPerSecond: H200_FLOPS_PER_SECOND,
    portBytesPerSecond: NVLINK4_BYTES_PER_SECOND,
    hostBytesPerSecond: PCIE5_BYTES_PER_SECOND,
  },
  {
    name: "l40s",
    label: "L40S-PCIe-48GB",
    formFactor: "pcie",
    hbmBytes: 48e9,
    hbmPeakBytesPerSecond: 864e9,
    hbmBytesPerSecond: L40S_HBM_BYTES_PER_SECOND,
    flopsPerSecond: L40S_FLOPS_PER_SECOND,
    // No NVLink: the one port a card has is its slot.
    portBytesPerSecond: PCIE4_BYTES_PER_SECOND,
    hostBytesPerSecond: PCIE4_BYTES_PER_SECOND,
  },
  {
    name: "rtx-4090",
    label: "RTX-4090-24GB",
    formFactor: "pcie",
    hbmBytes: 24e9,
    hbmPeakBytesPerSecond: 1008e9,
    hbmBytesPerSecond: RTX_4090_HBM_BYTES_PER_SECOND,
    flopsPerSecond: RTX_4090_FLOPS_PER_SECOND,
    portBytesPerSecond: PCIE4_BYTES_PER_SECOND,
    hostBytesPerSecond: PCIE4_BYTES_PER_SECOND,
  },
  {
    name: "rtx-pro-6000",
    label: "RTX-PRO-6000-96GB",
    formFactor: "pcie",
    hbmBytes: 96e9,
    hbmPeakBytesPerSecond: 1792e9,
    hbmBytesPerSecond: RTX_PRO_6000_HBM_BYTES_PER_SECOND,
    flopsPerSecond: RTX_PRO_6000_FLOPS_PER_SECOND,
    portBytesPerSecond: PCIE5_BYTES_PER_SECOND,
    hostBytesPerSecond: PCIE5_BYTES_PER_SECOND,
  },
];

export const GPU_NAMES: readonly string[] = GPU_CATALOGUE.map((gpu) => gpu.name);

/** @throws EmaError E_GPU with the nearest names. Case does not matter. */
export function findGpu(name: string): Gpu {
  const wanted = name.trim().toLowerCase();
  const gpu = GPU_CATALOGUE.find((candidate) => candidate.name === wanted);
  if (gpu === undefined) {
    throw new EmaError("E_GPU", `unknown GPU "${name}"${suggestNames(wanted, GPU_NAMES)}`);
  }
  return gpu;
}

/** NVLinks of a board (data sheets: NVLink 3 has 12, NVLink 4 has 18); none on PCIe cards. */
export function nvlinkCount(gpu: Gpu): number {
  if (gpu.formFactor === "pcie") return 0;
  return gpu.portBytesPerSecond >= NVLINK4_BYTES_PER_SECOND ? 18 : 12;
}

/**
 * Peer copies through the host, one way. PCIe 4: 26.3 GB/s within a socket and 22 across, A6000,
 * nvbandwidth issue 50; the lower is taken, since a server's cards sit on both. PCIe 5: 37 GB/s,
 * H100 with peer access off, nccl issue 1264.
 */
export function peerThroughHostBytesPerSecond(gpu: Gpu): number {
  return gpu.hostBytesPerSecond >= PCIE5_BYTES_PER_SECOND ? 37e9 : 22e9;
}
