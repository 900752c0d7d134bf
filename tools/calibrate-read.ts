/**
 * Reads the measured tables of aiconfigurator that the calibration files are boiled down from.
 *
 * Called by tools/calibrate.ts and by the tests of held-out points. Knows the columns, not the
 * model.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "csv-parse/sync";

export interface GemmRow {
  readonly gpu: string;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly us: number;
}

export interface AttentionRow {
  readonly gpu: string;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly batch: number;
  /** KV tokens a sequence (decode) or prompt tokens (prefill). */
  readonly tokens: number;
  readonly us: number;
}

/** Kernel times of one layer's products and element-wise kernels, from an independent source. */
export interface LayerRow {
  readonly tokens: number;
  readonly productsUs: number;
  readonly elementwiseUs: number;
}

type Row = Readonly<Record<string, string>>;

const VIDUR_PRODUCTS = ["attn_pre_proj", "attn_post_proj", "mlp_up_proj", "mlp_down_proj"];
const VIDUR_ELEMENTWISE = ["input_layernorm", "post_attention_layernorm", "attn_rope", "mlp_act"];

export function readGemm(folder: string): GemmRow[] {
  return readRows(join(folder, "gemm_bf16.csv")).map((row) => ({
    gpu: row["gpu"]!,
    m: Number(row["m"]),
    n: Number(row["n"]),
    k: Number(row["k"]),
    us: Number(row["latency_us"]),
  }));
}

/** Full attention over bf16 KV: windows and fp8 caches are left out. */
export function readDecode(folder: string): AttentionRow[] {
  return readRows(join(folder, "attention_decode.csv"))
    .filter((row) => row["window_size"] === "0" && row["kv_cache_dtype"] === "bfloat16")
    .map((row) => attentionRow(row, "ctx"));
}

export function readPrefill(folder: string): AttentionRow[] {
  return readRows(join(folder, "attention_prefill.csv"))
    .filter((row) => row["kernel_source"]!.startsWith("vllm_flash_attn"))
    .map((row) => attentionRow(row, "isl"));
}

/** vidur's mlp.csv, without tensor parallelism; times there are milliseconds. */
export function readVidurLayer(file: string): LayerRow[] {
  const sumUs = (row: Row, kernels: readonly string[]): number =>
    kernels.reduce((sum, kernel) => sum + Number(row[`time_stats.${kernel}.median`]) * 1000, 0);
  return readRows(file)
    .filter((row) => row["num_tensor_parallel_workers"] === "1")
    .map((row) => ({
      tokens: Number(row["num_tokens"]),
      productsUs: sumUs(row, VIDUR_PRODUCTS),
      elementwiseUs: sumUs(row, VIDUR_ELEMENTWISE),
    }));
}

function attentionRow(row: Row, tokensColumn: string): AttentionRow {
  return {
    gpu: row["gpu"]!,
    heads: Number(row["num_heads"]),
    kvHeads: Number(row["num_key_value_heads"]),
    headDim: Number(row["head_dim"]),
    batch: Number(row["batch_size"]),
    tokens: Number(row[tokensColumn]),
    us: Number(row["latency_us"]),
  };
}

function readRows(file: string): Row[] {
  return parse(readFileSync(file), { columns: true, skip_empty_lines: true }) as Row[];
}
