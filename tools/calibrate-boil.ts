/**
 * Boils measured tables down to what the cost model interpolates.
 *
 * Called by tools/calibrate.ts. GEMM times become ratios to a fitted roofline, near one, so that
 * three digits suffice and interpolation over shapes is smooth; attention keeps microseconds.
 */

import {
  DECODE_BATCH,
  DECODE_CONTEXT,
  GEMM_M,
  GEMM_NK,
  PREFILL_TOKENS,
} from "../src/hardware/calibration/grids.ts";
import type {
  Calibration,
  DecodeTable,
  GemmTable,
  PrefillTable,
  Roofline,
} from "../src/hardware/calibration/tables.ts";
import { rooflineNs } from "../src/hardware/gemm-cost.ts";
import type { AttentionRow, GemmRow } from "./calibrate-read.ts";

const PREFILL_HEADS = [8, 16, 32, 40, 64];
/** From here on decode attention streams KV at its full rate on all boards measured. */
const STREAMING_BYTES = 1e9;

/** A board whose kernels were measured; its roofline alone fits the GEMM table to 6 to 10 %. */
export interface MeasuredGpu {
  readonly gpuName: string;
  readonly tableName: string;
  readonly peakBytesPerSecond: number;
  readonly roofline: Roofline;
}

export const MEASURED_GPUS: readonly MeasuredGpu[] = [
  measured("a100-80g", "a100", 2039e9, 0.76, 312e12, 0.82, 7000),
  measured("h100", "h100", 3350e9, 0.88, 989e12, 0.84, 4000),
  measured("h200", "h200", 4800e9, 0.84, 989e12, 0.82, 4000),
];

function measured(
  gpuName: string,
  tableName: string,
  peakBytesPerSecond: number,
  byteShare: number,
  peakFlopsPerSecond: number,
  flopShare: number,
  fixedNs: number,
): MeasuredGpu {
  return {
    gpuName,
    tableName,
    peakBytesPerSecond,
    roofline: {
      bytesPerSecond: byteShare * peakBytesPerSecond,
      flopsPerSecond: flopShare * peakFlopsPerSecond,
      fixedNs,
    },
  };
}

export interface MeasuredRows {
  readonly gemm: readonly GemmRow[];
  readonly decode: readonly AttentionRow[];
  readonly prefill: readonly AttentionRow[];
}

export function boil(gpu: MeasuredGpu, rows: MeasuredRows, source: string): Calibration {
  const own = <T extends { readonly gpu: string }>(all: readonly T[]): T[] =>
    all.filter((row) => row.gpu === gpu.tableName);
  const decode = own(rows.decode).filter((row) => row.headDim === 128);
  return {
    gpuName: gpu.gpuName,
    source,
    peakBytesPerSecond: gpu.peakBytesPerSecond,
    gemm: boilGemm(gpu.roofline, own(rows.gemm)),
    attention: {
      decode: boilDecode(decode),
      decodeNsPerByte: streamingNsPerByte(decode),
      prefill: boilPrefill(own(rows.prefill).filter((row) => row.headDim === 128)),
    },
  };
}

function boilGemm(roofline: Roofline, rows: readonly GemmRow[]): GemmTable {
  const times = new Map(rows.map((row) => [`${row.m},${row.n},${row.k}`, row.us]));
  const percent: number[] = [];
  for (const n of GEMM_NK) {
    for (const k of GEMM_NK) {
      for (const m of GEMM_M) {
        const us = times.get(`${m},${n},${k}`);
        const ratio = us === undefined ? 0 : (us * 1000) / rooflineNs(roofline, m, n, k);
        percent.push(Math.round(ratio * 100));
      }
    }
  }
  return { roofline, m: GEMM_M, n: GEMM_NK, k: GEMM_NK, percent };
}

function boilDecode(rows: readonly AttentionRow[]): DecodeTable[] {
  // Twice as many query heads as KV heads: time does not depend on the ratio beyond one, and this
  // one reaches the largest batches and contexts.
  const grouped = [8, 4, 2].map((kvHeads) => decodeTable(rows, 2 * kvHeads, kvHeads));
  return [decodeTable(rows, 8, 8), ...grouped, decodeTable(rows, 4, 1)];
}

function decodeTable(rows: readonly AttentionRow[], heads: number, kvHeads: number): DecodeTable {
  const times = new Map<string, number>();
  for (const row of rows) {
    if (row.heads === heads && row.kvHeads === kvHeads) {
      times.set(`${row.batch},${row.tokens}`, row.us);
    }
  }
  return {
    isMultiHead: heads === kvHeads,
    kvHeads,
    batch: DECODE_BATCH,
    context: DECODE_CONTEXT,
    us: DECODE_BATCH.flatMap((batch) =>
      DECODE_CONTEXT.map((context) => threeDigits(times.get(`${batch},${context}`) ?? 0)),
    ),
  };
}

function streamingNsPerByte(rows: readonly AttentionRow[]): number {
  const rates: number[] = [];
  for (const row of rows) {
    const bytes = row.batch * row.tokens * row.kvHeads * 2 * row.headDim * 2;
    if (bytes >= STREAMING_BYTES && row.heads > row.kvHeads) rates.push((row.us * 1000) / bytes);
  }
  rates.sort((left, right) => left - right);
  return Number(rates[Math.floor(rates.length / 2)]!.toPrecision(4));
}

function boilPrefill(rows: readonly AttentionRow[]): PrefillTable[] {
  return PREFILL_HEADS.flatMap((heads) =>
    [heads, Math.min(8, heads / 2)].map((kvHeads) => {
      const times = new Map<number, number>();
      for (const row of rows) {
        if (row.batch === 1 && row.heads === heads && row.kvHeads === kvHeads) {
          times.set(row.tokens, row.us);
        }
      }
      return {
        isMultiHead: kvHeads === heads,
        heads,
        tokens: PREFILL_TOKENS,
        us: PREFILL_TOKENS.map((tokens) => threeDigits(times.get(tokens) ?? 0)),
      };
    }),
  );
}

function threeDigits(value: number): number {
  return Number(value.toPrecision(3));
}
