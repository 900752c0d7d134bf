/**
 * `ema validate`: text and JSON through a real process, on a log made here; each kind of bad input
 * through the command itself, one line and a code each.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/cli/edge.ts";
import { registerValidate } from "../../src/cli/validate-command.ts";
import { runEma } from "./run-ema.ts";

const META = {
  schema_version: 1,
  model: "meta-llama/Llama-3.1-8B-Instruct",
  vllm_version: "0.19.1",
  engine_kwargs: { max_num_seqs: 8, max_num_batched_tokens: 512 },
  hardware: { device_name: "NVIDIA GeForce RTX 4090", device_total_memory_bytes: 25_250_627_584 },
  kv_cache: { num_gpu_blocks: 400, block_size: 16, enable_prefix_caching: true },
};
const ROW = {
  input_toks: 100,
  output_toks: 20,
  queued_ts: 10,
  first_token_ts: 10.05,
  last_token_ts: 10.5,
};
const DENSE =
  "layer,tokens,time_us\n" +
  ["qkv_proj", "o_proj", "down_proj", "layernorm", "embedding"]
    .flatMap((layer) => [`${layer},1,10`, `${layer},2048,900`])
    .join("\n");
const ATTENTION =
  "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n" +
  "0,0,1,16,9\n0,0,8,16,12\n16,0,0,0,8\n512,0,0,0,40\n";

let folder = "";
const path = (name: string): string => join(folder, name);
const write = (name: string, text: string): void => writeFileSync(path(name), text);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ema-validate-"));
  const rows = [0, 1, 2].map((at) => ({
    ...ROW,
    queued_ts: 10 + at,
    first_token_ts: 10.05 + at,
    last_token_ts: 10.5 + at,
  }));
  write("log.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  write("meta.json", JSON.stringify(META));
  write("T_tp1_dense.csv", DENSE);
  write("T_tp1_attention.csv", ATTENTION);
  write("T_tp1_per_sequence.csv", "layer,sequences,time_us\nlm_head,1,500\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** @returns the one line and the code that the command line ends with, and what it printed. */
async function outcome(...words: string[]): Promise<{ line: string; exitCode: number }> {
  const program = new Command("ema").exitOverride().configureOutput({ outputError: () => {} });
  registerValidate(program);
  try {
    await program.parseAsync(["validate", ...words], { from: "user" });
  } catch (error) {
    const { lines, exitCode } = outcomeOf(error, false);
    expect(lines).toHaveLength(1);
    return { line: lines[0]!, exitCode };
  }
  throw new Error("the command did not fail");
}

function args(options: Readonly<Record<string, string>> = {}): string[] {
  const all = { requests: path("log.jsonl"), meta: path("meta.json"), ...options };
  return Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
}

describe("answers", () => {
  it("are one JSON object with twelve statistics, or a table", async () => {
    const [json, text] = await Promise.all([
      runEma(["validate", ...args(), "--json"]),
      runEma(["validate", ...args({ profile: folder })]),
    ]);
    expect(json).toMatchObject({ exitCode: 0, stderr: "" });
    const parsed = JSON.parse(json.stdout) as {
      statistics: Record<string, { real: number; simulated: number; errorPercent: number }>;
      requests: number;
      assumed: Record<string, unknown>;
    };
    expect(Object.keys(parsed.statistics)).toHaveLength(12);
    expect(parsed.requests).toBe(3);
    const { real, simulated, errorPercent } = parsed.statistics["ttftMean"]!;
    expect(real).toBeCloseTo(0.05, 6);
    expect(errorPercent).toBeCloseTo((simulated / real - 1) * 100, 6);
    // What the meta file says is not assumed; what it leaves out is.
    expect(parsed.assumed).toMatchObject({ async_scheduling: true });
    expect(parsed.assumed).not.toHaveProperty("num_gpu_blocks");
    expect(parsed.assumed).not.toHaveProperty("block_size");
    expect(text).toMatchObject({ exitCode: 0, stderr: "" });
    expect(text.stdout).toMatch(/latencyP99 .* %/);
    expect(text.stdout).toContain("async_scheduling: true");
  }, 30_000);
});

describe("bad input is one line and code 2", () => {
  it.each([
    ["a missing log", { requests: "nowhere.jsonl" }, /nowhere\.jsonl: no such file/],
    ["a missing meta", { meta: "nowhere.json" }, /nowhere\.json: no such file/],
    ["a missing folder", { profile: "nowhere" }, /--profile nowhere/],
    ["an unknown profile", { profile: ".", "profile-name": "X" }, /--profile/],
    ["a name without a folder", { "profile-name": "T" }, /--profile-name goes with --profile/],
    ["an unknown GPU", { gpu: "rtx-4080" }, /unknown GPU "rtx-4080".*rtx-4090/],
    ["no number of blocks", { "kv-blocks": "many" }, /--kv-blocks "many"/],
    ["one block", { "kv-blocks": "1" }, /--kv-blocks "1"/],
  ])("%s", async (_name, options, pattern) => {
    const { line, exitCode } = await outcome(...args(options as Record<string, string>));
    expect(line).toMatch(pattern);
    expect(exitCode).toBe(2);
  });

  it.each([
    ["no JSON", "{", /bad\.json: no JSON/],
    ["no object", "[]", /expected an object/],
    ["another schema", { ...META, schema_version: 2 }, /schema_version 2, expected 1/],
    ["another version", { ...META, vllm_version: "0.8.5" }, /vllm_version 0\.8\.5/],
    ["no engine", { ...META, engine_kwargs: null }, /no engine_kwargs/],
    ["a wrong type", { ...META, engine_kwargs: { max_num_seqs: "8" } }, /max_num_seqs is "8"/],
    ["two GPUs", { ...META, engine_kwargs: { tensor_parallel_size: 2 } }, /tensor_parallel_size 2/],
    ["fp8", { ...META, engine_kwargs: { kv_cache_dtype: "fp8" } }, /kv_cache_dtype fp8/],
    ["an unknown model", { ...META, model: "Nobody-7B" }, /unknown model "Nobody-7B"/],
    ["no GPU", { ...META, hardware: null }, /--gpu is missing/],
  ])("in the meta file: %s", async (_name, meta, pattern) => {
    write("bad.json", typeof meta === "string" ? meta : JSON.stringify(meta));
    const { line, exitCode } = await outcome(...args({ meta: path("bad.json") }));
    expect(line).toMatch(pattern);
    expect(exitCode).toBe(2);
  });

  it.each([
    ["nothing", "\n\n", /no requests/],
    ["no JSON in line 2", `${JSON.stringify(ROW)}\nx`, /bad\.jsonl:2: no JSON/],
    ["no arrival", JSON.stringify({ ...ROW, queued_ts: undefined }), /:1: no queued_ts/],
    ["no output", JSON.stringify({ ...ROW, output_toks: 0 }), /output_toks is 0/],
    ["half a token", JSON.stringify({ ...ROW, input_toks: 1.5 }), /input_toks is 1\.5/],
    ["time that runs back", JSON.stringify({ ...ROW, last_token_ts: 1 }), /queued_ts <= /],
  ])("in the log: %s", async (_name, log, pattern) => {
    write("bad.jsonl", log);
    const { line, exitCode } = await outcome(...args({ requests: path("bad.jsonl") }));
    expect(line).toMatch(pattern);
    expect(exitCode).toBe(2);
  });

  it.each([
    ["dense", "layer,time_us\nqkv_proj,1", /B_tp1_dense\.csv:1: no column tokens/],
    ["dense", "layer,tokens,time_us\nqkv_proj,1,x", /B_tp1_dense\.csv:2: time_us is "x"/],
    ["dense", "layer,tokens,time_us\nqkv_proj,1,2", /no rows of layer o_proj/],
    ["attention", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us", /no rows/],
    ["per_sequence", "layer,sequences,time_us\nsampler,1,2", /no rows of layer lm_head/],
    ["skew_fit", "pc,n_label\n0,n<=2", /no column skew_rate_label/],
  ])("in the profile's %s table", async (table, text, pattern) => {
    write("B_tp1_dense.csv", DENSE);
    write("B_tp1_attention.csv", ATTENTION);
    write("B_tp1_per_sequence.csv", "layer,sequences,time_us\nlm_head,1,500\n");
    const skew = "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples\n";
    write("B_tp1_skew_fit.csv", `${skew}0,n<=2,sr<=70%,kvB<=1k,kp=0,0.1,2\n`);
    write(`B_tp1_${table}.csv`, text);
    const options = { profile: folder, "profile-name": "B" };
    const { line, exitCode } = await outcome(...args(options));
    expect(line).toMatch(pattern);
    expect(exitCode).toBe(2);
  });

  it("in a folder with several profiles and no name", async () => {
    write("B_tp1_attention.csv", ATTENTION);
    const { line, exitCode } = await outcome(...args({ profile: folder }));
    expect(line).toMatch(/--profile-name is missing.*B, T/);
    expect(exitCode).toBe(2);
  });
});
