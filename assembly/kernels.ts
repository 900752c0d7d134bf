/**
 * The heavy operations of a decoder as WebAssembly SIMD, in AssemblyScript.
 *
 * Built by tools/build-kernels.ts into src/device/emulated/kernels-wasm.ts; called by WasmCompute.
 * They import the window's memory and compute in place; they allocate nothing and keep no state.
 * Addresses and counts are 32 bits: a window ends at 4 GiB.
 */

export { attend } from "./attend";
export { add, rmsNorm, swiGlu } from "./elementwise";
export { linear } from "./linear";
