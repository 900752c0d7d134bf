/**
 * Compiles the training kernels in memory and hands them out with the memory they work on.
 *
 * Called by the trainer and its tests, once a process (the compiler takes about two seconds). It
 * knows neither the model nor the optimizer. Memory is given out from the bottom up and never
 * freed: a training run holds what it holds until it ends.
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { main as compile } from "assemblyscript/asc";

const SOURCES = ["kernels.as", "attention.as"];
const PAGE_BYTES = 65536;

/** A place in the linear memory: a byte address, always a multiple of 16. */
export type Address = number;

/** What the kernels export; arguments are described beside their code in kernels.as. */
export interface Kernels {
  freeFrom(): Address;
  // prettier-ignore
  product(
    m: number, n: number, k: number, a: Address, aRowStride: number, aColumnStride: number,
    b: Address, bRowStride: number, bColumnStride: number, c: Address, scratch: Address,
  ): void;
  fill(x: Address, count: number, value: number): void;
  add(y: Address, x: Address, count: number): void;
  scale(x: Address, count: number, factor: number): void;
  sumOfSquares(x: Address, count: number): number;
  // prettier-ignore
  normForward(
    y: Address, inverse: Address, x: Address, w: Address,
    rows: number, width: number, epsilon: number,
  ): void;
  // prettier-ignore
  normBackward(
    dx: Address, dw: Address, dy: Address, inverse: Address, x: Address, w: Address,
    rows: number, width: number,
  ): void;
  // prettier-ignore
  rotate(
    x: Address, table: Address, rows: number, positions: number,
    heads: number, headWidth: number, sign: number,
  ): void;
  swigluForward(h: Address, gate: Address, up: Address, count: number): void;
  swigluBackward(gate: Address, up: Address, dh: Address, count: number): void;
  // prettier-ignore
  crossEntropy(
    logits: Address, targets: Address, weights: Address, rows: number, width: number,
  ): number;
  // prettier-ignore
  adamw(
    parameters: Address, gradients: Address, first: Address, second: Address, count: number,
    rate: number, beta1: number, beta2: number, correction1: number, correction2: number,
    epsilon: number, decay: number,
  ): void;
  // prettier-ignore
  attentionForward(
    out: Address, logs: Address, q: Address, k: Address, v: Address,
    qStride: number, kStride: number, length: number, width: number, scratch: Address,
  ): void;
  // prettier-ignore
  attentionBackward(
    dq: Address, dk: Address, dv: Address, dout: Address, out: Address, logs: Address,
    q: Address, k: Address, v: Address,
    qStride: number, kStride: number, length: number, width: number, scratch: Address,
  ): void;
}

/** The part of WebAssembly's interface that is used: the types of Node 20 leave it out. */
interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** A compiled module; opaque. */
export type KernelModule = object;

const wasm = (
  globalThis as unknown as {
    WebAssembly: {
      Module: new (binary: Uint8Array) => KernelModule;
      Memory: new (options: { initial: number; maximum: number }) => WasmMemory;
      Instance: new (module: KernelModule, imports: object) => { readonly exports: unknown };
    };
  }
).WebAssembly;

/** Compiled once, started as often as there are memories. */
export async function compileKernels(): Promise<KernelModule> {
  let binary: Uint8Array | null = null;
  const sources = SOURCES.map((name) => name.replace(/\.as$/, ".ts"));
  const options = ["--optimizeLevel", "3", "--runtime", "stub", "--enable", "simd", "--noAssert"];
  const { error, stderr } = await compile(
    [...sources, "--outFile", "out.wasm", "--importMemory", ...options],
    {
      // Kept under an ending of their own, so that the type checker does not take them for its own.
      readFile: (name) =>
        sources.includes(name)
          ? readFileSync(resolve(import.meta.dirname, name.replace(/\.ts$/, ".as")), "utf8")
          : null,
      writeFile: (name, contents) => {
        if (name === "out.wasm") binary = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === null) throw new Error(`kernels: ${stderr.toString()}`);
  return new wasm.Module(binary);
}

/** A linear memory with the kernels on it. */
export class Workbench {
  readonly kernels: Kernels;
  readonly #memory: WasmMemory;
  #top: number;

  constructor(module: KernelModule) {
    this.#memory = new wasm.Memory({ initial: 1, maximum: 65536 });
    const abort = (): never => {
      throw new Error("a kernel aborted");
    };
    const instance = new wasm.Instance(module, { env: { memory: this.#memory, abort } });
    this.kernels = instance.exports as Kernels;
    this.#top = Math.ceil(this.kernels.freeFrom() / 16) * 16;
  }

  /** Room for `count` floats (or 32-bit integers), zero. Views taken before may be detached. */
  take(count: number): Address {
    const address = this.#top;
    this.#top += Math.ceil((4 * count) / 16) * 16;
    const missing = this.#top - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE_BYTES));
    return address;
  }

  /** Valid until the next take(). */
  floats(address: Address, count: number): Float32Array {
    return new Float32Array(this.#memory.buffer, address, count);
  }

  /** Valid until the next take(). */
  integers(address: Address, count: number): Int32Array {
    return new Int32Array(this.#memory.buffer, address, count);
  }
}
