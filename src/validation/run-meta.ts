/**
 * Reads the meta file of a real run: how its engine was set up, and what has to be assumed.
 *
 * Called by validate.ts. What the file does not say is vLLM 0.19's default, and is listed, so that
 * a reader sees what an error may come from. What EMA cannot replay is refused with its reason.
 */

import { EmaError } from "../base/index.ts";
import { JsonFields, parseJson } from "./json-fields.ts";
import { readTextFile } from "./text-file.ts";

/** Values that were not in the files; for people and for `assumed` of the output. */
export type Assumed = Record<string, string | number | boolean>;

export interface RunMeta {
  /** The name below its organisation: `Llama-3.1-8B`. */
  readonly modelName: string;
  readonly maxSequences: number;
  readonly maxBatchTokens: number;
  /** `null`: the model's own. */
  readonly contextTokensMax: number | null;
  readonly blockTokens: number;
  /** `null`: to be computed. */
  readonly blockCount: number | null;
  readonly memoryShare: number;
  readonly isPrefixCached: boolean;
  readonly isAsync: boolean;
  /** Whether steps replay captured graphs, up to so many tokens. */
  readonly graphTokensMax: number;
  /** Whether a prompt is admitted only when all of it fits. */
  readonly reservesPrompt: boolean;
  readonly deviceName: string | null;
  readonly deviceBytes: number | null;
}

const DEFAULT_VERSION = "0.19";
/** vLLM's default for an offline engine of this size; a profile or log always names it. */
const DEFAULT_SEQUENCES = 256;
const DEFAULT_BATCH_TOKENS = 2048;

/** @throws EmaError E_FILE, E_TRACE (with the key), E_MODEL_UNSUPPORTED. */
export function readRunMeta(path: string, assumed: Assumed): RunMeta {
  const file = new JsonFields(path, parseJson(path, readTextFile(path)));
  checkVersions(file, assumed);
  const engine = file.fields("engine_kwargs");
  const resolved = file.optionalFields("resolved_config");
  const scheduler = resolved?.optionalFields("scheduler_config") ?? null;
  const cache = file.optionalFields("kv_cache");
  const device = file.optionalFields("hardware");
  refuse(engine);
  const assume = <T extends string | number | boolean>(key: string, value: T | null, or: T): T => {
    if (value === null) assumed[key] = or;
    return value ?? or;
  };
  const maxSequences = assume(
    "max_num_seqs",
    engine.optionalWhole("max_num_seqs", 1) ?? scheduler?.optionalWhole("max_num_seqs", 1) ?? null,
    DEFAULT_SEQUENCES,
  );
  const batchTokens =
    engine.optionalWhole("max_num_batched_tokens", 1) ??
    scheduler?.optionalWhole("max_num_batched_tokens", 1) ??
    null;
  const share =
    cache?.optionalNumber("gpu_memory_utilization", 0) ??
    engine.optionalNumber("gpu_memory_utilization", 0);
  const blockTokens =
    cache?.optionalWhole("block_size", 1) ?? engine.optionalWhole("block_size", 1);
  const isCached =
    cache?.optionalFlag("enable_prefix_caching") ?? engine.optionalFlag("enable_prefix_caching");
  const isAsync =
    scheduler?.optionalFlag("async_scheduling") ?? engine.optionalFlag("async_scheduling");
  const reserves = scheduler?.optionalFlag("scheduler_reserve_full_isl") ?? null;
  return {
    modelName: modelName(file, engine),
    maxSequences,
    maxBatchTokens: assume("max_num_batched_tokens", batchTokens, DEFAULT_BATCH_TOKENS),
    contextTokensMax:
      engine.optionalWhole("max_model_len", 1) ??
      resolved?.optionalFields("model_config")?.optionalWhole("max_model_len", 1) ??
      null,
    blockTokens: assume("block_size", blockTokens, 16),
    blockCount: cache?.optionalWhole("num_gpu_blocks", 2) ?? null,
    memoryShare: assume("gpu_memory_utilization", share, 0.9),
    isPrefixCached: assume("enable_prefix_caching", isCached, true),
    isAsync: assume("async_scheduling", isAsync, true),
    graphTokensMax: graphTokens(engine, resolved, maxSequences, assumed),
    reservesPrompt: assume("scheduler_reserve_full_isl", reserves, true),
    deviceName: device?.optionalText("device_name") ?? null,
    deviceBytes: device?.optionalWhole("device_total_memory_bytes", 1) ?? null,
  };
}

function checkVersions(file: JsonFields, assumed: Assumed): void {
  const schema = file.optionalWhole("schema_version", 0) ?? 1;
  if (schema !== 1) {
    throw new EmaError("E_TRACE", `${file.where}: schema_version ${schema}, expected 1`);
  }
  const version = file.optionalText("vllm_version");
  if (version === null) assumed["vllm_version"] = DEFAULT_VERSION;
  else if (!/^v?0\.19(\D|$)/.test(version)) {
    const found = `${file.where}: vllm_version ${version}`;
    const why = "other versions schedule otherwise";
    throw new EmaError("E_TRACE", `${found}, expected ${DEFAULT_VERSION}: ${why}`);
  }
}

function refuse(engine: JsonFields): void {
  const unsupported = (text: string): EmaError =>
    new EmaError("E_MODEL_UNSUPPORTED", `${engine.where}: ${text}`);
  for (const key of ["tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"]) {
    const count = engine.optionalWhole(key, 1) ?? 1;
    if (count !== 1) throw unsupported(`${key} ${count} is not built, expected 1`);
  }
  const types: readonly [string, readonly string[]][] = [
    ["dtype", ["auto", "bfloat16", "float16", "half"]],
    ["kv_cache_dtype", ["auto", "bfloat16", "float16"]],
  ];
  for (const [key, known] of types) {
    const type = engine.optionalText(key) ?? "auto";
    if (!known.includes(type)) {
      throw unsupported(`${key} ${type} is not built, expected ${known.join(", ")}`);
    }
  }
}

/** `meta-llama/Llama-3.1-8B-Instruct` has the shape of `Llama-3.1-8B`. */
function modelName(file: JsonFields, engine: JsonFields): string {
  const full = engine.optionalText("model") ?? file.text("model");
  const last = full.split("/").filter((part) => part !== "").at(-1) ?? full;
  return last.replace(/^Meta-/i, "").replace(/-(Instruct|Chat|Base|hf|bf16)$/i, "");
}

/**
 * vLLM captures graphs up to twice the sequences, at most 512 tokens, unless told to run eagerly.
 */
function graphTokens(
  engine: JsonFields,
  resolved: JsonFields | null,
  maxSequences: number,
  assumed: Assumed,
): number {
  if (engine.optionalFlag("enforce_eager") === true) return 0;
  const compilation = resolved?.optionalFields("compilation_config") ?? null;
  const most = compilation?.optionalWhole("max_cudagraph_capture_size", 0) ?? null;
  if (most !== null) return most;
  const usual = Math.min(2 * maxSequences, 512);
  assumed["max_cudagraph_capture_size"] = usual;
  return usual;
}
