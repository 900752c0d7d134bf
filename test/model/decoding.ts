/** A decoder on a plain emulated device with its KV blocks, stepped as an engine would. */

import {
  createPlainDevices,
  type AttentionBatch,
  type LayerPlace,
} from "../../src/device/index.ts";
import {
  Decoder,
  decoderBytes,
  FLOAT_BYTES,
  type CheckpointWeights,
  type ModelConfig,
} from "../../src/model/index.ts";

const PAGE_BYTES_MAX = 1 << 20;

/** Part of one sequence's tokens, computed in one step. */
export interface Chunk {
  /** Which sequence of the decoding; its KV stays where it is between steps. */
  readonly sequence: number;
  /** Position of the first token. */
  readonly first: number;
  readonly ids: readonly number[];
}

export interface DecodingSizes {
  readonly sequences: number;
  readonly contextTokens: number;
  readonly batchTokensMax: number;
  readonly blockTokens: number;
}

/** Blocks of a sequence are scattered, so that no test passes by their being neighbours. */
export class Decoding {
  readonly decoder: Decoder;
  readonly #config: ModelConfig;
  readonly #sizes: DecodingSizes;
  readonly #kvAddress: number;
  readonly #blocksOfSequence: number;
  readonly #blockBytes: number;

  constructor(config: ModelConfig, weights: CheckpointWeights, sizes: DecodingSizes) {
    const limits = { batchTokensMax: sizes.batchTokensMax, sampleRowsMax: sizes.batchTokensMax };
    this.#config = config;
    this.#sizes = sizes;
    this.#blocksOfSequence = Math.ceil(sizes.contextTokens / sizes.blockTokens);
    const { layers, kvHeads, headDim } = config;
    this.#blockBytes = layers * 2 * sizes.blockTokens * kvHeads * headDim * FLOAT_BYTES;
    const kvBytes = sizes.sequences * this.#blocksOfSequence * this.#blockBytes;
    const [device] = createPlainDevices([decoderBytes(config, limits) + kvBytes + PAGE_BYTES_MAX]);
    const { memory, compute } = device!;
    this.#kvAddress = memory.allocate(kvBytes)!;
    this.decoder = new Decoder({ config, memory, compute, limits }, weights);
  }

  /**
   * One step; layers are run in groups of `groupLayers`.
   * @returns the logits after each token of each chunk, in order
   */
  step(chunks: readonly Chunk[], groupLayers = 1): Float32Array[] {
    const batch = this.#batchOf(chunks);
    const ids = Int32Array.from(chunks.flatMap((chunk) => chunk.ids));
    const { layers, vocab } = this.#config;
    this.decoder.begin(ids, batch);
    for (let first = 0; first < layers; first += groupLayers) {
      const count = Math.min(groupLayers, layers - first);
      this.decoder.runLayers(first, count, batch, (layer) => this.#placeOf(layer));
    }
    const logits = this.decoder.finish(Int32Array.from(ids, (_, row) => row));
    return Array.from(ids, (_, row) => logits.slice(row * vocab, (row + 1) * vocab));
  }

  #placeOf(layer: number): LayerPlace {
    return {
      blockStrideBytes: this.#blockBytes,
      layerOffsetBytes: (layer * this.#blockBytes) / this.#config.layers,
    };
  }

  #batchOf(chunks: readonly Chunk[]): AttentionBatch {
    const { blockTokens, sequences } = this.#sizes;
    const columns = chunks.map(({ sequence, first, ids }) => {
      const count = Math.ceil((first + ids.length) / blockTokens);
      return Array.from({ length: count }, (_, block) => block * sequences + sequence);
    });
    const firstBlock = [0];
    for (const blocks of columns) firstBlock.push(firstBlock.at(-1)! + blocks.length);
    const blocks = columns.flat();
    const tokens = chunks.flatMap(({ first, ids }, at) =>
      ids.map((_, index) => ({ at, position: first + index })),
    );
    return {
      tokenCount: tokens.length,
      sequenceOfToken: Int32Array.from(tokens, ({ at }) => at),
      positionOfToken: Int32Array.from(tokens, ({ position }) => position),
      firstBlock: Int32Array.from(firstBlock),
      // Addresses vary with the block's parity: a slice and an index in it, either way.
      sliceAddress: Float64Array.from(
        blocks,
        (block) => this.#kvAddress + (block - (block % 2)) * this.#blockBytes,
      ),
      indexInSlice: Int32Array.from(blocks, (block) => block % 2),
      blockTokens,
    };
  }
}
