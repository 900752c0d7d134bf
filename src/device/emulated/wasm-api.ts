/**
 * The part of WebAssembly that emulated devices use, typed.
 *
 * Called by windows and by the WASM kernels. Node's types leave WebAssembly out and the browser's
 * would bring a browser along.
 */

/** A shared linear memory: its buffer can be posted to threads and never moves. */
export interface WasmMemory {
  readonly buffer: SharedArrayBuffer;
}

export interface WasmInstance {
  readonly exports: Readonly<Record<string, unknown>>;
}

interface MemoryDescriptor {
  readonly initial: number;
  readonly maximum: number;
  readonly shared: true;
}

interface WasmApi {
  readonly Memory: new (descriptor: MemoryDescriptor) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ) => WasmInstance;
}

export const wasmApi = (globalThis as unknown as { readonly WebAssembly: WasmApi }).WebAssembly;

/** @returns cleared memory of at least `bytes` that never grows. */
export function createWasmMemory(bytes: number): WasmMemory {
  const pages = Math.ceil(bytes / WASM_PAGE_BYTES);
  return new wasmApi.Memory({ initial: pages, maximum: pages, shared: true });
}

const WASM_PAGE_BYTES = 65_536;
