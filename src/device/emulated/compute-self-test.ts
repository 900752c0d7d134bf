/**
 * Whether WASM kernels compute here what the plain ones do: asked once before they are used.
 *
 * Called by the composition and by tests. It works on memory of its own. A machine without SIMD, or
 * whose engine miscompiles, is a miss: plain kernels then serve.
 */

import { Prng } from "../../base/index.ts";
import type { AttentionBatch, Compute } from "../ports.ts";
import { PlainCompute } from "./plain-compute.ts";
import { SharedWindow } from "./shared-window.ts";
import { WasmCompute } from "./wasm-compute.ts";
import { createWasmMemory } from "./wasm-api.ts";
import { LEAD_BYTES, PAGE_BYTES, WindowLayout } from "./window.ts";

/**
 * Largest difference from plain, as a share of the largest element of the result. Sums of n terms
 * in float32 err by about sqrt(n) * 6e-8 of their size.
 */
export const WASM_ERROR_MAX = 1e-5;

const SEED = 20;
const COLUMNS = 70;
const ROWS = 5;
const OUTS = 19;
const POSITIONS = 23;
const HEADS = 4;
const KV_HEADS = 2;
const HEAD_DIM = 18;

/** Float indices in the window of the test; the areas are apart. */
const AREA = 4096;
const OUT = 0;
const X = AREA;
const WEIGHT = 2 * AREA;
const BLOCKS = 3 * AREA;

/** @returns whether every kernel keeps to WASM_ERROR_MAX. */
export function isWasmRight(): boolean {
  const layout = new WindowLayout([2 * PAGE_BYTES]);
  try {
    const window = new SharedWindow(layout, createWasmMemory(layout.endBytes));
    const [plain, wasm] = [new PlainCompute(window), new WasmCompute(window)];
    return OPERATIONS.every((operation) => {
      const expected = resultOf(window.floats, plain, operation);
      const found = resultOf(window.floats, wasm, operation);
      return isClose(found, expected);
    });
  } catch {
    // No SIMD, or no shared memory: the module does not compile.
    return false;
  }
}

/** @returns whether two results differ by no more than rounding. */
export function isClose(found: Float32Array, expected: Float32Array): boolean {
  let largest = 0;
  for (const value of expected) largest = Math.max(largest, Math.abs(value));
  return expected.every((value, index) => {
    return Math.abs(value - found[index]!) <= WASM_ERROR_MAX * largest;
  });
}

type Operation = (compute: Compute, at: (area: number) => number) => void;

const OPERATIONS: readonly Operation[] = [
  (compute, at) => {
    const matrix = { address: at(WEIGHT), rows: OUTS, columns: COLUMNS };
    compute.linear(at(OUT), at(X), matrix, ROWS);
  },
  (compute, at) => compute.rmsNorm(at(OUT), at(X), at(WEIGHT), ROWS, COLUMNS, 1e-5),
  (compute, at) => compute.swiGlu(at(OUT), at(X), at(WEIGHT), ROWS * COLUMNS + 3),
  (compute, at) => compute.add(at(OUT), at(X), ROWS * COLUMNS + 3),
  (compute, at) => {
    const blockStrideBytes = 2 * 4 * KV_HEADS * HEAD_DIM * 4;
    const place = { blockStrideBytes, layerOffsetBytes: 0 };
    const shape = { heads: HEADS, kvHeads: KV_HEADS, headDim: HEAD_DIM };
    compute.attend(at(OUT), at(X), batchAt(at(BLOCKS)), place, shape, 0.7);
  },
];

/** Two tokens of one sequence over blocks of four tokens. */
function batchAt(address: number): AttentionBatch {
  const blocks = Math.ceil(POSITIONS / 4);
  return {
    tokenCount: 2,
    sequenceOfToken: Int32Array.of(0, 0),
    positionOfToken: Int32Array.of(POSITIONS - 2, POSITIONS - 1),
    firstBlock: Int32Array.of(0, blocks),
    sliceAddress: new Float64Array(blocks).fill(address),
    indexInSlice: Int32Array.from({ length: blocks }, (_, block) => blocks - 1 - block),
    blockTokens: 4,
  };
}

function resultOf(floats: Float32Array, compute: Compute, operation: Operation): Float32Array {
  const first = LEAD_BYTES / Float32Array.BYTES_PER_ELEMENT;
  const prng = new Prng(SEED);
  for (let index = 0; index < 4 * AREA; index++) floats[first + index] = 4 * prng.nextUnit() - 2;
  operation(compute, (area) => LEAD_BYTES + area * Float32Array.BYTES_PER_ELEMENT);
  return floats.slice(first, first + AREA);
}
