/**
 * A Llama-family decoder over the compute port: token ids in, logits out, layer by layer.
 *
 * Driven by the engine in real time, which owns the KV blocks and may stop between layers until
 * staged KV has arrived. The decoder knows neither leases nor copies: for each run of layers it is
 * told where the blocks of the batch lie, and it reads whatever address that is. The architecture
 * is that of Llama (2302.13971, section 2.2), with the grouped KV heads of 2305.13245.
 *
 *     begin(ids, batch)      hidden = embedding rows
 *     runLayers(first, n)    x n: norm, Q K V, RoPE, write K V, attend, project, add;
 *                                 norm, gate and up, SwiGLU, down, add
 *     finish(sampleRows)     final norm of those rows, head, logits
 *
 * Invariants: layers run in order, each once a step; every operation works row by row, so a
 * token's logits are the same bits in any batch and any chunk.
 */

import { assert, EmaError, formatBytes } from "../base/index.ts";
import type {
  AttentionBatch,
  AttentionShape,
  Compute,
  DeviceMemory,
  LayerPlace,
  Matrix,
} from "../device/index.ts";
import {
  weightLayout,
  workspaceLayout,
  type DecoderLimits,
  type WorkspaceLayout,
} from "./decoder-memory.ts";
import { FLOAT_BYTES, type ModelConfig } from "./model-config.ts";
import { ropeFrequencies, type RopeFrequencies } from "./rope-frequencies.ts";
import { LAYER_PARTS, type CheckpointWeights, type LayerPart, type Tensor } from "./tensors.ts";

/** Floats that pass through this process at a time while weights are uploaded. */
const UPLOAD_FLOATS = 1 << 18;

type LayerMatrices = Readonly<Record<LayerPart, Matrix>>;

export interface DecoderParts {
  readonly config: ModelConfig;
  readonly memory: DeviceMemory;
  readonly compute: Compute;
  readonly limits: DecoderLimits;
}

/** Where another thread's decoder of the same device has put weights and workspace. */
export interface DecoderPlace {
  readonly weightAddress: number;
  readonly workspaceAddress: number;
}

export class Decoder {
  readonly config: ModelConfig;
  readonly limits: DecoderLimits;
  readonly #memory: DeviceMemory;
  readonly #compute: Compute;
  readonly #weightAddress: number;
  readonly #workspaceAddress: number;
  readonly #at: WorkspaceLayout;
  readonly #layers: readonly LayerMatrices[];
  readonly #embedding: Matrix;
  readonly #finalNorm: Matrix;
  readonly #head: Matrix;
  readonly #rope: RopeFrequencies;
  readonly #shape: AttentionShape;
  readonly #logits: Float32Array;
  #tokenCount = 0;
  #layersDone = 0;

  /**
   * Takes memory for weights and workspace and uploads the weights; they may be closed afterwards.
   * Given a place instead, it takes what lies there: one of the two decoders may be stepped, and
   * only the one that took the memory frees it.
   * @throws EmaError E_MODEL_FIT when the device has not that much memory, or what `read` throws;
   *   nothing stays allocated then
   */
  constructor(parts: DecoderParts, weights: CheckpointWeights | DecoderPlace) {
    const { config, memory, limits } = parts;
    this.config = config;
    this.limits = limits;
    this.#memory = memory;
    this.#compute = parts.compute;
    const layout = weightLayout(config);
    const workspace = workspaceLayout(config, limits);
    [this.#weightAddress, this.#workspaceAddress] =
      "weightAddress" in weights
        ? [weights.weightAddress, weights.workspaceAddress]
        : takeMemory(memory, [layout.totalBytes, workspace.totalBytes]);
    this.#at = workspace;
    const matrices = new Map<string, Matrix>();
    try {
      for (const tensor of layout.tensors) {
        const address = this.#weightAddress + tensor.offsetBytes;
        if ("read" in weights) upload(memory, address, weights, tensor);
        const { rows, columns } = tensor;
        matrices.set(`${tensor.layer} ${tensor.part}`, { address, rows, columns });
      }
    } catch (error) {
      this.free();
      throw error;
    }
    this.#embedding = matrices.get("-1 embedding")!;
    this.#finalNorm = matrices.get("-1 finalNorm")!;
    this.#head = config.isTied ? this.#embedding : matrices.get("-1 head")!;
    this.#layers = Array.from({ length: config.layers }, (_, layer) => {
      const named = LAYER_PARTS.map((part) => [part, matrices.get(`${layer} ${part}`)!]);
      return Object.fromEntries(named) as LayerMatrices;
    });
    this.#rope = ropeFrequencies(config.headDim, config.ropeTheta, config.ropeScaling);
    const { heads, kvHeads, headDim } = config;
    this.#shape = { heads, kvHeads, headDim };
    this.#logits = new Float32Array(limits.sampleRowsMax * config.vocab);
  }

  get place(): DecoderPlace {
    const [weightAddress, workspaceAddress] = [this.#weightAddress, this.#workspaceAddress];
    return { weightAddress, workspaceAddress };
  }

  /**
   * Begins a step; one that was not finished is forgotten.
   * @param ids (tokens) what each token of the batch is; may be longer than the batch
   */
  begin(ids: Int32Array, batch: AttentionBatch): void {
    const { tokenCount } = batch;
    const isWithin = tokenCount > 0 && tokenCount <= this.limits.batchTokensMax;
    assert(isWithin, () => `${tokenCount} tokens, at most ${this.limits.batchTokensMax}`);
    this.#tokenCount = tokenCount;
    this.#layersDone = 0;
    this.#compute.embed(this.#address("hidden"), this.#embedding, ids.subarray(0, tokenCount));
  }

  /**
   * Runs `count` layers from `first` on; their KV must be where `batch` and `placeOf` say.
   * @param batch the tokens of `begin`, with the addresses that hold for these layers
   */
  runLayers(
    first: number,
    count: number,
    batch: AttentionBatch,
    placeOf: (layer: number) => LayerPlace,
  ): void {
    assert(first === this.#layersDone, () => `layer ${first} after ${this.#layersDone} were run`);
    assert(first + count <= this.config.layers, () => `layers to ${first + count}`);
    assert(batch.tokenCount === this.#tokenCount, () => `${batch.tokenCount} tokens in mid-step`);
    for (let layer = first; layer < first + count; layer++) {
      this.#attention(this.#layers[layer]!, batch, placeOf(layer));
      this.#feedForward(this.#layers[layer]!);
    }
    this.#layersDone += count;
  }

  /**
   * Ends the step.
   * @param sampleRows tokens of the batch whose logits are wanted, at most `sampleRowsMax`
   * @returns (rows, vocab) logits; the decoder's own, void when the next step is finished
   */
  finish(sampleRows: Int32Array): Float32Array {
    const compute = this.#compute;
    const { vocab, hidden, layers, normEps } = this.config;
    const rows = sampleRows.length;
    assert(this.#layersDone === layers, () => `finished after ${this.#layersDone} layers`);
    assert(rows <= this.limits.sampleRowsMax, () => `logits of ${rows} rows`);
    for (const row of sampleRows) {
      assert(row >= 0 && row < this.#tokenCount, () => `row ${row} of ${this.#tokenCount}`);
    }
    this.#layersDone = 0;
    this.#tokenCount = 0;
    const logits = this.#logits.subarray(0, rows * vocab);
    if (rows > 0) {
      const sampled = this.#address("sampled");
      compute.gatherRows(sampled, this.#address("hidden"), sampleRows, hidden);
      compute.rmsNorm(sampled, sampled, this.#finalNorm.address, rows, hidden, normEps);
      compute.linear(this.#address("logits"), sampled, this.#head, rows);
    }
    compute.finish();
    if (rows > 0) this.#memory.read(this.#address("logits"), bytesOf(logits));
    return logits;
  }

  /** Gives the device memory back; the decoder is void afterwards. */
  free(): void {
    this.#memory.free(this.#workspaceAddress);
    this.#memory.free(this.#weightAddress);
  }

  #attention(layer: LayerMatrices, batch: AttentionBatch, place: LayerPlace): void {
    const compute = this.#compute;
    const shape = this.#shape;
    const rows = this.#tokenCount;
    const { hidden, headDim, heads, kvHeads, normEps } = this.config;
    const [x, normed] = [this.#address("hidden"), this.#address("normed")];
    const [queries, keys] = [this.#address("queries"), this.#address("keys")];
    const [values, attended] = [this.#address("values"), this.#address("attended")];
    compute.rmsNorm(normed, x, layer.attentionNorm.address, rows, hidden, normEps);
    compute.linear(queries, normed, layer.query, rows);
    compute.linear(keys, normed, layer.key, rows);
    compute.linear(values, normed, layer.value, rows);
    this.#turn(queries, heads, batch.positionOfToken);
    this.#turn(keys, kvHeads, batch.positionOfToken);
    compute.writeKv(keys, values, batch, place, shape);
    compute.attend(attended, queries, batch, place, shape, 1 / Math.sqrt(headDim));
    compute.linear(normed, attended, layer.attentionOutput, rows);
    compute.add(x, normed, rows * hidden);
  }

  #turn(x: number, heads: number, positions: Int32Array): void {
    const { headDim, ropePairs } = this.config;
    const { frequencies, magnitude } = this.#rope;
    const rows = this.#tokenCount;
    this.#compute.rope(x, rows, heads, headDim, positions, frequencies, ropePairs, magnitude);
  }

  #feedForward(layer: LayerMatrices): void {
    const compute = this.#compute;
    const rows = this.#tokenCount;
    const { hidden, ffn, normEps } = this.config;
    const [x, normed] = [this.#address("hidden"), this.#address("normed")];
    const [gate, up] = [this.#address("gate"), this.#address("up")];
    compute.rmsNorm(normed, x, layer.ffnNorm.address, rows, hidden, normEps);
    compute.linear(gate, normed, layer.gate, rows);
    compute.linear(up, normed, layer.up, rows);
    compute.swiGlu(gate, gate, up, rows * ffn);
    compute.linear(normed, gate, layer.down, rows);
    compute.add(x, normed, rows * hidden);
  }

  #address(part: Exclude<keyof WorkspaceLayout, "totalBytes">): number {
    return this.#workspaceAddress + this.#at[part];
  }
}

/** @throws EmaError E_MODEL_FIT when not all can be had; none is kept then. */
function takeMemory(memory: DeviceMemory, wantedBytes: [number, number]): [number, number] {
  const weights = memory.allocate(wantedBytes[0]);
  const workspace = weights === null ? null : memory.allocate(wantedBytes[1]);
  if (weights !== null && workspace !== null) return [weights, workspace];
  if (weights !== null) memory.free(weights);
  const [weightText, workText] = wantedBytes.map((bytes) => formatBytes(bytes));
  const wanted = `weights of ${weightText} and ${workText} to work in`;
  const free = `${formatBytes(memory.freeBytes)} of the device are free`;
  throw new EmaError("E_MODEL_FIT", `${wanted} do not fit: ${free}`);
}

function upload(
  memory: DeviceMemory,
  address: number,
  weights: CheckpointWeights,
  tensor: Tensor,
): void {
  const count = tensor.rows * tensor.columns;
  const buffer = new Float32Array(Math.min(count, UPLOAD_FLOATS));
  for (let first = 0; first < count; first += buffer.length) {
    const piece = buffer.subarray(0, Math.min(buffer.length, count - first));
    weights.read(tensor, first, piece);
    memory.write(address + first * FLOAT_BYTES, bytesOf(piece));
  }
}

/** The bytes of floats, in place: both devices and this process are little-endian. */
function bytesOf(floats: Float32Array): Uint8Array {
  return new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
}
