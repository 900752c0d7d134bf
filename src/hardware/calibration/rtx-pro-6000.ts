/**
 * What was measured on rtx-pro-6000, boiled down: matrix products by tokens, attention.
 *
 * Read by calibration/catalogue.ts. Source: LLMServingSim, commit 5daddb2 (MIT), profile of
 * Qwen3-32B with vLLM 0.19 in bf16. Its products are of four shapes: what stands here is
 * their time together over the roofline's, near each number of tokens, and it is taken for all
 * shapes. Attention is grouped-query with 8 KV heads; models with one KV head a query head are read
 * off it too, for want of a table.
 */

import { GEMM_M } from "./grids.ts";
import type { AttentionTables, DecodeTable, GemmTable, PrefillTable } from "./tables.ts";

/** One ratio a number of tokens, for all n and k alike. */
const PERCENT: readonly number[] = [
  94, 98, 99, 102, 102, 103, 110, 115, 126, 137, 129, 117, 111, 105, 0,
];

export const RTX_PRO_6000_GEMM: GemmTable = {
  roofline: { bytesPerSecond: 1430e9, flopsPerSecond: 408e12, fixedNs: 3200 },
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
    8.09, 8.17, 8.19, 11.7, 12.1, 12.6, 13.5, 15.1, 22.4, 29.7, 62.2, 12.7, 12.8, 13, 15.4, 15.9,
    17.3, 20.7, 27.6, 40, 63.3, 108, 13.2, 13.2, 13.3, 15.6, 16.9, 19.8, 26.5, 39.8, 62.4, 107,
    197, 13.2, 13.2, 13.7, 16.5, 20.4, 26.4, 40.8, 63.8, 108, 196, 375, 13.5, 13.8, 15.1, 20.2,
    27.6, 43.5, 66.9, 112, 206, 383, 734, 18.2, 19, 21.6, 29.8, 45.3, 72, 121, 214, 392, 749,
    1450, 24.2, 26.1, 30.9, 46.7, 76.1, 127, 219, 397, 751, 1460, 2860, 39.1, 41, 47.3, 72.1, 121,
    216, 394, 746, 1450, 2850, 5660, 67.6, 69.6, 74.7, 124, 223, 402, 760, 1460, 2860, 5670,
    11200,
  ],
};

const PREFILL: PrefillTable = {
  isMultiHead: false,
  heads: 64,
  tokens: [16, 32, 64, 128, 256, 512, 1024, 2048],
  us: [8.07, 7.93, 8.35, 8.58, 16.6, 37.3, 97.7, 300],
};

export const RTX_PRO_6000_ATTENTION: AttentionTables = {
  decodeNsPerByte: 0.0006534,
  decode: [DECODE, { ...DECODE, isMultiHead: true }],
  prefill: [PREFILL, { ...PREFILL, isMultiHead: true }],
};
