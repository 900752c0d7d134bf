/**
 * The operations of a decoder by WASM SIMD kernels, in place in the window.
 *
 * Implements Compute where the window's memory is WebAssembly's own. What only moves bytes, and
 * RoPE, which is a few sines a token, are the plain ones'.
 *
 * The kernels sum in float32, so results differ from the plain ones' by rounding: compute-self-test
 * holds each to WASM_ERROR_MAX. Each element's order is fixed (assembly/kernels.ts).
 */

import { assert } from "../../base/index.ts";
import type {
  AttentionBatch,
  AttentionShape,
  Compute,
  LayerPlace,
  Matrix,
  RopePairs,
} from "../ports.ts";
import { KERNELS_WASM } from "./kernels-wasm.ts";
import { PlainCompute } from "./plain-compute.ts";
import { wasmApi, type WasmMemory } from "./wasm-api.ts";
import { LEAD_BYTES, type Window } from "./window.ts";

/** Addresses of one sequence's blocks: 32,768 of them. */
const SCRATCH_BYTES = 128 * 1024;
const SCRATCH_SLOTS = LEAD_BYTES / SCRATCH_BYTES;
const ADDRESS_BYTES = 4;

interface Kernels {
  linear(
    out: number,
    x: number,
    matrix: number,
    rows: number,
    columns: number,
    outs: number,
  ): void;
  readonly rmsNorm: Compute["rmsNorm"];
  swiGlu(out: number, gate: number, up: number, count: number): void;
  add(x: number, y: number, count: number): void;
  attend(
    out: number,
    query: number,
    blocks: number,
    count: number,
    blockTokens: number,
    heads: number,
    kvHeads: number,
    headDim: number,
    scale: number,
  ): void;
}

export class WasmCompute implements Compute {
  readonly #plain: PlainCompute;
  readonly #kernels: Kernels;
  readonly #scratch: number;
  /** The scratch as addresses: where each block of a sequence begins, in this layer. */
  readonly #blocks: Uint32Array;

  /** @param window with memory of WebAssembly */
  constructor(window: Window) {
    const memory = window.wasmMemory;
    assert(memory !== null, "this window has no memory that WebAssembly can reach");
    this.#plain = new PlainCompute(window);
    this.#kernels = instantiate(memory);
    this.#scratch = claimScratch(memory);
    const length = SCRATCH_BYTES / ADDRESS_BYTES;
    this.#blocks = new Uint32Array(memory.buffer, this.#scratch, length);
  }

  embed(out: number, table: Matrix, ids: Int32Array): void {
    this.#plain.embed(out, table, ids);
  }

  rmsNorm(
    out: number,
    x: number,
    weight: number,
    rows: number,
    columns: number,
    eps: number,
  ): void {
    this.#kernels.rmsNorm(out, x, weight, rows, columns, eps);
  }

  linear(out: number, x: number, matrix: Matrix, rows: number): void {
    this.#kernels.linear(out, x, matrix.address, rows, matrix.columns, matrix.rows);
  }

  rope(
    x: number,
    rows: number,
    heads: number,
    headDim: number,
    positions: Int32Array,
    frequencies: Float64Array,
    pairs: RopePairs,
    magnitude: number,
  ): void {
    this.#plain.rope(x, rows, heads, headDim, positions, frequencies, pairs, magnitude);
  }

  writeKv(
    k: number,
    v: number,
    batch: AttentionBatch,
    place: LayerPlace,
    shape: AttentionShape,
  ): void {
    this.#plain.writeKv(k, v, batch, place, shape);
  }

  attend(
    out: number,
    query: number,
    batch: AttentionBatch,
    place: LayerPlace,
    shape: AttentionShape,
    scale: number,
  ): void {
    const { heads, kvHeads, headDim } = shape;
    const rowBytes = heads * headDim * Float32Array.BYTES_PER_ELEMENT;
    let sequence = -1;
    let filled = 0;
    for (let token = 0; token < batch.tokenCount; token++) {
      if (batch.sequenceOfToken[token] !== sequence) {
        sequence = batch.sequenceOfToken[token]!;
        filled = 0;
      }
      const count = batch.positionOfToken[token]! + 1;
      filled = this.#fill(batch, place, sequence, filled, Math.ceil(count / batch.blockTokens));
      this.#kernels.attend(
        out + token * rowBytes,
        query + token * rowBytes,
        this.#scratch,
        count,
        batch.blockTokens,
        heads,
        kvHeads,
        headDim,
        scale,
      );
    }
  }

  swiGlu(out: number, gate: number, up: number, count: number): void {
    this.#kernels.swiGlu(out, gate, up, count);
  }

  add(x: number, y: number, count: number): void {
    this.#kernels.add(x, y, count);
  }

  gatherRows(out: number, x: number, rows: Int32Array, columns: number): void {
    this.#plain.gatherRows(out, x, rows, columns);
  }

  finish(): void {
    // Every operation has been carried out when its call returned.
  }

  /** Writes where blocks `from` to `to - 1` of a sequence begin. @returns how many are there. */
  #fill(
    batch: AttentionBatch,
    place: LayerPlace,
    sequence: number,
    from: number,
    to: number,
  ): number {
    const { length } = this.#blocks;
    assert(to <= length, `${to} blocks of one sequence, at most ${length}`);
    const first = batch.firstBlock[sequence]!;
    for (let block = from; block < to; block++) {
      const inSlice = batch.indexInSlice[first + block]! * place.blockStrideBytes;
      const address = batch.sliceAddress[first + block]! + inSlice + place.layerOffsetBytes;
      this.#blocks[block] = address;
    }
    return Math.max(from, to);
  }
}

function instantiate(memory: WasmMemory): Kernels {
  const module = new wasmApi.Module(Buffer.from(KERNELS_WASM, "base64"));
  const instance = new wasmApi.Instance(module, { env: { memory } });
  return instance.exports as unknown as Kernels;
}

/** Threads may share one memory, never one slot. Slot 0 holds how many have been claimed. */
function claimScratch(memory: WasmMemory): number {
  const slot = Atomics.add(new Int32Array(memory.buffer, 0, 1), 0, 1) + 1;
  assert(slot < SCRATCH_SLOTS, `more than ${SCRATCH_SLOTS - 1} threads compute in one window`);
  return slot * SCRATCH_BYTES;
}
