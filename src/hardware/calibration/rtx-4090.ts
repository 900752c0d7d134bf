/**
 * What was measured on rtx-4090, boiled down: matrix products by tokens, attention.
 *
 * Read by calibration/catalogue.ts. Source: LLMServingSim, commit 5daddb2 (MIT), profile of
 * Llama-3.1-8B with vLLM 0.19 in bf16. Its products are of four shapes: what stands here is
 * their time together over the roofline's, near each number of tokens, and it is taken for all
 * shapes. Attention is grouped-query with 8 KV heads; models with one KV head a query head are read
 * off it too, for want of a table.
 */

import { GEMM_M } from "./grids.ts";
import type { AttentionTables, DecodeTable, GemmTable, PrefillTable } from "./tables.ts";

/** One ratio a number of tokens, for all n and k alike. */
const PERCENT: readonly number[] = [
  99, 101, 102, 109, 110, 111, 113, 120, 130, 123, 112, 108, 107, 103, 0,
];

export const RTX_4090_GEMM: GemmTable = {
  roofline: { bytesPerSecond: 950e9, flopsPerSecond: 166e12, fixedNs: 3200 },
  m: GEMM_M,
  n: [256, 65536],
  k: [256, 65536],
  percent: [...PERCENT, ...PERCENT, ...PERCENT, ...PERCENT],
};

const DECODE: DecodeTable = {
  isMultiHead: false,
  kvHeads: 8,
  batch: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  context: [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384],
  us: [
    9.31, 9.34, 9.43, 13, 13.1, 13.5, 14.2, 20.2, 24.3, 37.8, 56.6, 13.6, 13.8, 13.8, 16.2, 16.9,
    18.6, 25, 36.8, 54, 89.4, 162, 13.5, 13.7, 14.1, 16.8, 18.2, 24, 36.1, 54.9, 93.2, 161, 305,
    14, 14.4, 15, 18.4, 24.3, 35.5, 55.6, 92.3, 165, 310, 589, 14.4, 15.1, 16.5, 25.2, 36.6, 61.6,
    99.3, 172, 315, 596, 1160, 20.6, 22.2, 25.3, 40.6, 65, 107, 181, 325, 607, 1170, 2290, 32.2,
    34.5, 39.3, 67.3, 114, 192, 333, 620, 1180, 2310, 4550, 53.7, 55.8, 60, 101, 178, 323, 606,
    1180, 2300, 4580, 9050, 97.9, 100, 104, 186, 329, 619, 1180, 2310, 4550, 9060, 18000,
  ],
};

const PREFILL: PrefillTable = {
  isMultiHead: false,
  heads: 32,
  tokens: [16, 32, 64, 128, 256, 512, 1024, 2048],
  us: [9.55, 9.66, 10.2, 10.5, 15, 41.1, 108, 336],
};

export const RTX_4090_ATTENTION: AttentionTables = {
  decodeNsPerByte: 0.001044,
  decode: [DECODE, { ...DECODE, isMultiHead: true }],
  prefill: [PREFILL, { ...PREFILL, isMultiHead: true }],
};
