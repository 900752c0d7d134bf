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

/** What 32-bit WebAssembly can address. */
export const WASM_BYTES_MAX = 2 ** 32;
