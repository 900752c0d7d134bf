/**
 * What a prompt's tokens are when nobody else is there: one sequence, all KV local, a step at a
 * time.
 *
 * The reference that every serving situation is held to. It shares the decoder with the engine and
 * nothing else: no tables, no slices, no batches.
 */

import {
  createEmulatedServer,
  type AttentionBatch,
  type EmulatedServer,
} from "../../src/device/index.ts";
import {
  chooseToken,
  Decoder,
  decoderBytes,
  kvBytesPerToken,
  logprobsOf,
  type CheckpointWeights,
  type ModelConfig,
} from "../../src/model/index.ts";
import type { GenerationRequest } from "../../src/serving/index.ts";

const BLOCK_TOKENS = 16;
const PAGE_BYTES = 65_536;

export interface SoloToken {
  readonly id: number;
  /** To the last bit: what the logits were. */
  readonly logprob: number;
}

export class SoloDecoder {
  readonly #config: ModelConfig;
  readonly #server: EmulatedServer;
  readonly #decoder: Decoder;
  readonly #kvAddress: number;
  readonly #blocks: Int32Array;

  private constructor(
    config: ModelConfig,
    weights: CheckpointWeights,
    contextTokens: number,
    server: EmulatedServer,
  ) {
    const { memory, compute } = server.devices[0]!;
    this.#config = config;
    this.#server = server;
    const blockCount = Math.ceil(contextTokens / BLOCK_TOKENS);
    this.#blocks = Int32Array.from({ length: blockCount }, (_, block) => block);
    this.#kvAddress = memory.allocate(kvBytesPerToken(config) * contextTokens)!;
    const limits = { batchTokensMax: contextTokens, sampleRowsMax: 1 };
    this.#decoder = new Decoder({ config, memory, compute, limits }, weights);
  }

  static async create(
    config: ModelConfig,
    weights: CheckpointWeights,
    contextTokens: number,
  ): Promise<SoloDecoder> {
    const limits = { batchTokensMax: contextTokens, sampleRowsMax: 1 };
    const kvBytes = kvBytesPerToken(config) * contextTokens;
    const capacityBytes = kvBytes + decoderBytes(config, limits) + 4 * PAGE_BYTES;
    const server = await createEmulatedServer({
      devices: [{ capacityBytes }],
      time: "virtual",
      memory: "shared",
    });
    return new SoloDecoder(config, weights, contextTokens, server);
  }

  tokensOf(request: GenerationRequest): SoloToken[] {
    const tokens: SoloToken[] = [];
    let ids = Int32Array.from(request.promptIds);
    let first = 0;
    while (tokens.length < request.outputTokensMax) {
      const logits = this.#step(ids, first);
      first += ids.length;
      const id = chooseToken(logits, request.sampling, first);
      tokens.push({ id, logprob: logprobsOf(logits, id, 0).logprob });
      if (request.stopIds.includes(id)) break;
      ids = Int32Array.of(id);
    }
    return tokens;
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  #step(ids: Int32Array, first: number): Float32Array {
    const batch: AttentionBatch = {
      tokenCount: ids.length,
      sequenceOfToken: new Int32Array(ids.length),
      positionOfToken: Int32Array.from(ids, (_, token) => first + token),
      firstBlock: Int32Array.of(0, this.#blocks.length),
      sliceAddress: new Float64Array(this.#blocks.length).fill(this.#kvAddress),
      indexInSlice: this.#blocks,
      blockTokens: BLOCK_TOKENS,
    };
    const { layers } = this.#config;
    const blockStrideBytes = kvBytesPerToken(this.#config) * BLOCK_TOKENS;
    this.#decoder.begin(ids, batch);
    this.#decoder.runLayers(0, layers, batch, (layer) => ({
      blockStrideBytes,
      layerOffsetBytes: (layer * blockStrideBytes) / layers,
    }));
    return this.#decoder.finish(Int32Array.of(ids.length - 1));
  }
}
