/**
 * Carries out one step over a decoder, layer group by layer group.
 *
 * Driven by the runner in virtual time, and by the compute thread in real time: both run the same
 * lines. It knows addresses and ids; when a group may run is its caller's to know.
 *
 *     begin --> runGroup 0 --> runGroup 1 --> ... --> finish
 *                         ^ exclude, retable: between two groups
 *
 * A sequence that is taken out in mid-step keeps its rows in the decoder's workspace, so that
 * nobody's results move; its KV is read from and written to scratch memory from then on.
 *
 * Invariant: between `begin` and `finish` no byte of KV is touched but at addresses of the tables.
 */

import { assert } from "../base/index.ts";
import type { AttentionBatch } from "../device/index.ts";
import { chooseToken, logprobsOf, type Decoder } from "../model/index.ts";
import type { TokenLogprob } from "./generation.ts";
import type { KvGeometry } from "./kv-geometry.ts";
import type { StepTables } from "./step-tables.ts";

/** The next token of a sequence. */
export interface SampledToken {
  readonly request: number;
  readonly id: number;
  readonly logprob: TokenLogprob | null;
}

/** Device memory that any group's part of a block fits into, read and written by nobody else. */
export interface ScratchBlock {
  readonly address: number;
}

export class StepExecution {
  readonly #decoder: Decoder;
  readonly #geometry: KvGeometry;
  readonly #scratch: ScratchBlock;
  #tables: StepTables | null = null;
  readonly #out = new Set<number>();
  #batch: AttentionBatch | null = null;

  constructor(decoder: Decoder, geometry: KvGeometry, scratch: ScratchBlock) {
    this.#decoder = decoder;
    this.#geometry = geometry;
    this.#scratch = scratch;
  }

  begin(tables: StepTables): void {
    this.#tables = tables;
    this.#out.clear();
    this.#batch = batchOf(tables, this.#geometry);
    this.#decoder.begin(tables.ids, this.#batch);
  }

  /** From now on the step is of those sequences that `rest` names, at the places it names. */
  retable(rest: StepTables): void {
    const tables = this.#tables;
    assert(tables !== null, "execution: no step to lay anew");
    const staying = new Map<number, number>();
    rest.rows.forEach((row, sequence) => staying.set(row, sequence));
    tables.rows.forEach((row, sequence) => {
      const now = staying.get(row);
      if (now === undefined) {
        this.#out.add(sequence);
        const [first, end] = [tables.firstBlock[sequence]!, tables.firstBlock[sequence + 1]!];
        tables.stagedUnit.fill(-1, first, end);
        return;
      }
      const from = rest.firstBlock[now]!;
      const to = tables.firstBlock[sequence]!;
      const count = rest.firstBlock[now + 1]! - from;
      tables.handles.set(rest.handles.subarray(from, from + count), to);
      tables.sliceAddress.set(rest.sliceAddress.subarray(from, from + count), to);
      tables.stagedUnit.set(rest.stagedUnit.subarray(from, from + count), to);
    });
  }

  /** Whether anything of the step goes through the ring. */
  get isStaged(): boolean {
    return this.#tables !== null && this.#tables.stagedUnit.some((unit) => unit >= 0);
  }

  /** @param unitAddress where each staged unit of this group begins */
  runGroup(group: number, unitAddress: (unit: number) => number): void {
    const [tables, batch, geometry] = [this.#tables, this.#batch, this.#geometry];
    assert(tables !== null && batch !== null, "execution: no step to run");
    const { blocksPerSlice } = geometry.layout;
    const offset = geometry.groupOffsetBytes(group);
    for (let sequence = 0; sequence < tables.rows.length; sequence++) {
      const isOut = this.#out.has(sequence);
      const end = tables.firstBlock[sequence + 1]!;
      for (let block = tables.firstBlock[sequence]!; block < end; block++) {
        const unit = tables.stagedUnit[block]!;
        if (isOut || unit >= 0) {
          const address = isOut ? this.#scratch.address : unitAddress(unit);
          batch.sliceAddress[block] = address - offset;
          batch.indexInSlice[block] = 0;
          continue;
        }
        batch.sliceAddress[block] = tables.sliceAddress[block]!;
        batch.indexInSlice[block] = tables.handles[block]! % blocksPerSlice;
      }
    }
    const first = geometry.firstLayer(group);
    const place = (layer: number) => geometry.layerPlace(layer);
    this.#decoder.runLayers(first, geometry.layersOf(group), batch, place);
  }

  /** @returns the next token of every sequence that is left and has its last token in this step. */
  finish(): SampledToken[] {
    const tables = this.#tables;
    assert(tables !== null, "execution: no step to finish");
    const sampled: number[] = [];
    tables.samples.forEach((order, sequence) => {
      if (order !== null && !this.#out.has(sequence)) sampled.push(sequence);
    });
    const rows = Int32Array.from(sampled, (sequence) => tables.firstToken[sequence + 1]! - 1);
    const logits = this.#decoder.finish(rows);
    const { vocab } = this.#decoder.config;
    this.#tables = null;
    this.#batch = null;
    return sampled.map((sequence, index) => {
      const own = logits.subarray(index * vocab, (index + 1) * vocab);
      const order = tables.samples[sequence]!;
      const id = chooseToken(own, order, order.position);
      const { topLogprobs } = order;
      const logprob = topLogprobs === null ? null : logprobsOf(own, id, topLogprobs);
      return { request: tables.requests[sequence]!, id, logprob };
    });
  }
}

function batchOf(tables: StepTables, geometry: KvGeometry): AttentionBatch {
  const tokenCount = tables.ids.length;
  const sequenceOfToken = new Int32Array(tokenCount);
  const positionOfToken = new Int32Array(tokenCount);
  for (let sequence = 0; sequence < tables.rows.length; sequence++) {
    const first = tables.firstToken[sequence]!;
    for (let token = first; token < tables.firstToken[sequence + 1]!; token++) {
      sequenceOfToken[token] = sequence;
      positionOfToken[token] = tables.pastTokens[sequence]! + token - first;
    }
  }
  return {
    tokenCount,
    sequenceOfToken,
    positionOfToken,
    firstBlock: tables.firstBlock,
    sliceAddress: new Float64Array(tables.handles.length),
    indexInSlice: new Int32Array(tables.handles.length),
    blockTokens: geometry.layout.blockTokens,
  };
}
