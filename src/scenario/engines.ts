/**
 * The `engines` of a scenario: which model runs on which GPU, and what it is asked.
 *
 * Called while a scenario is resolved. An engine is refused here when it cannot exist: its model
 * does not fit its GPU, its GPU is taken, or it needs what is not built yet.
 */

import { existsSync } from "node:fs";
import { formatBytes } from "../base/index.ts";
import { findModel, kvMemoryBytes, type ModelShape, type Topology } from "../hardware/index.ts";
import { EMPTY_TABLE, mergeTables, type RequestTable } from "../workload/index.ts";
import type { Checker } from "./checker.ts";
import { DEFAULT_ENGINE } from "./defaults.ts";
import type { KeyPath } from "./scenario-text.ts";
import type { EngineSettings, PoolSettings } from "./scenario.ts";
import { ENGINE } from "./schema.ts";
import type { TraceLibrary } from "./trace-library.ts";
import { resolveWorkload, type WorkloadPart } from "./workload-part.ts";

export interface EngineContext {
  readonly checker: Checker;
  readonly topology: Topology;
  /** The scenario's and each system's. */
  readonly pools: readonly PoolSettings[];
  readonly traces: TraceLibrary;
  readonly locate: (path: string) => string;
  /** The seed whose clipped prompts are counted. */
  readonly seed: number;
}

interface EngineParts {
  readonly engine: Omit<EngineSettings, "meanPromptTokens" | "meanOutputTokens">;
  readonly parts: readonly WorkloadPart[];
  /** Of the scenario's own seed, drawn when the engine was resolved. */
  clippedPrompts(): number;
}

/** @returns the engines and what is to be said of their workloads. */
export function resolveEngines(
  context: EngineContext,
  count: number,
): { engines: EngineSettings[]; notes: string[] } {
  const resolved: EngineParts[] = [];
  for (let index = 0; index < count; index++) {
    const next = resolveEngine(context, index);
    refuseSharing(context.checker, resolved, next.engine, ["engines", index]);
    resolved.push(next);
  }
  // Only now are all shares of all traces known, so only now may requests be drawn.
  const notes: string[] = [];
  const engines = resolved.map(({ engine, parts, clippedPrompts }): EngineSettings => {
    const clipped = clippedPrompts();
    if (clipped > 0) notes.push(clippingNote(engine, clipped, parts, context.seed));
    return { ...engine, ...meanLengths(parts, context.seed) };
  });
  return { engines, notes };
}

function resolveEngine(context: EngineContext, index: number): EngineParts {
  const { checker, topology, seed } = context;
  const path: KeyPath = ["engines", index];
  const written = checker.read(ENGINE, path);
  const gpuIndex = readGpu(checker, written.gpus, topology, path);
  const model = checker.about([...path, "model"], () => readModel(written.model, context.locate));
  const blockTokens = written.blockTokens ?? DEFAULT_ENGINE.blockTokens;
  checkMemory(context, path, gpuIndex, model, blockTokens);
  const { contextTokensMax } = model;
  const parts = resolveWorkload(
    { checker, traces: context.traces, engineIndex: index, contextTokensMax },
    [...path, "workload"],
  );
  const draw = memoizeLast((drawSeed) => drawAll(parts, drawSeed));
  const engine = {
    name: written.name,
    gpuIndex,
    model,
    tenant: written.tenant ?? written.name,
    blockTokens,
    maxBatchTokens: written.maxBatchTokens ?? DEFAULT_ENGINE.maxBatchTokens,
    maxSequences: written.maxSequences ?? DEFAULT_ENGINE.maxSequences,
    isGenerated: parts.some((part) => part.isGenerated),
    requests: (drawSeed: number) => draw(drawSeed).table,
  };
  return { engine, parts, clippedPrompts: () => draw(seed).clippedPrompts };
}

function refuseSharing(
  checker: Checker,
  others: readonly EngineParts[],
  engine: EngineParts["engine"],
  path: KeyPath,
): void {
  for (const { engine: other } of others) {
    if (other.name === engine.name) {
      checker.fail([...path, "name"], `two engines are named ${JSON.stringify(engine.name)}`);
    }
    if (other.gpuIndex === engine.gpuIndex) {
      const taken = `GPU ${engine.gpuIndex} already has engine ${JSON.stringify(other.name)}`;
      checker.fail([...path, "gpus"], `${taken}; two engines on one GPU are not built yet`);
    }
  }
}

function readGpu(
  checker: Checker,
  gpus: readonly number[],
  topology: Topology,
  path: KeyPath,
): number {
  const [gpuIndex] = gpus;
  const count = topology.gpus.length;
  if (gpus.length > 1) {
    const reason = "tensor parallel is not built yet; expected one GPU";
    checker.fail([...path, "gpus"], `${reason}, got ${gpus.length}`, "E_MODEL_UNSUPPORTED");
  }
  if (gpuIndex! >= count) {
    const has = `${topology.name} has GPUs 0 to ${count - 1}`;
    checker.fail([...path, "gpus"], `there is no GPU ${gpuIndex}; ${has}`);
  }
  return gpuIndex!;
}

function readModel(text: string, locate: (path: string) => string): ModelShape {
  const isPath = /[/\\]|\.json$/.test(text);
  const beside = isPath ? locate(text) : text;
  return findModel(existsSync(beside) ? beside : text);
}

/** A slice holds whole blocks of one engine, and an engine holds whole slices. */
function checkMemory(
  context: EngineContext,
  path: KeyPath,
  gpuIndex: number,
  model: ModelShape,
  blockTokens: number,
): void {
  const { checker, topology, pools } = context;
  const gpu = topology.gpus[gpuIndex]!;
  const kvBytes = checker.about([...path, "model"], () => kvMemoryBytes(gpu, model));
  const blockBytes = blockTokens * model.kvBytesPerToken;
  for (const { sliceBytes } of pools) {
    const slice = `sliceBytes is ${formatBytes(sliceBytes)}`;
    if (sliceBytes < blockBytes) {
      const block = `a block of ${blockTokens} tokens of ${model.name}: ${blockBytes} bytes`;
      checker.fail(path, `${slice}; expected at least ${block}`);
    }
    if (sliceBytes > kvBytes) {
      const memory = `the KV memory of ${model.name} on ${gpu.name}: ${formatBytes(kvBytes)}`;
      checker.fail(path, `${slice}; expected at most ${memory}`);
    }
  }
}

function drawAll(
  parts: readonly WorkloadPart[],
  seed: number,
): { table: RequestTable; clippedPrompts: number } {
  if (parts.length === 0) return { table: EMPTY_TABLE, clippedPrompts: 0 };
  const drawn = parts.map((part) => part.draw(seed));
  return {
    table: mergeTables(drawn.map(({ table }) => table)),
    clippedPrompts: drawn.reduce((sum, { clippedPrompts }) => sum + clippedPrompts, 0),
  };
}

/** All systems of one seed replay one table; other seeds replace it. */
function memoizeLast<T>(make: (seed: number) => T): (seed: number) => T {
  let last: { seed: number; result: T } | null = null;
  return (seed) => {
    if (last === null || last.seed !== seed) last = { seed, result: make(seed) };
    return last.result;
  };
}

/** Weighted by how many requests each part has. */
function meanLengths(
  parts: readonly WorkloadPart[],
  seed: number,
): { meanPromptTokens: number; meanOutputTokens: number } {
  let requests = 0;
  let promptTokens = 0;
  let outputTokens = 0;
  for (const part of parts) {
    if (part.means !== null) {
      requests += part.means.requests;
      promptTokens += part.means.requests * part.means.promptTokens;
      outputTokens += part.means.requests * part.means.outputTokens;
      continue;
    }
    const { table } = part.draw(seed);
    requests += table.count;
    for (let row = 0; row < table.count; row++) {
      promptTokens += table.promptTokens[row]!;
      outputTokens += table.outputTokens[row]!;
    }
  }
  const divisor = Math.max(requests, Number.MIN_VALUE);
  return { meanPromptTokens: promptTokens / divisor, meanOutputTokens: outputTokens / divisor };
}

function clippingNote(
  engine: EngineParts["engine"],
  clipped: number,
  parts: readonly WorkloadPart[],
  seed: number,
): string {
  const limits = parts.map((part) => part.promptTokensMax).filter((limit) => limit !== null);
  const cut = [...new Set(limits)].join(" or ");
  const count = `${clipped} of ${engine.requests(seed).count} prompts`;
  return `engine ${engine.name}: ${count} clipped to ${cut} tokens (seed ${seed})`;
}
