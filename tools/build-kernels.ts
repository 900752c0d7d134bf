/**
 * Builds the WASM kernels: `npx tsx tools/build-kernels.ts`.
 *
 * Writes src/device/emulated/kernels-wasm.ts, which is committed, so that neither a clone nor a
 * test has to compile anything. test/device/emulated/kernels-wasm.test.ts holds it to its source.
 */

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import asc from "assemblyscript/asc";

const SOURCE = "assembly/kernels.ts";
const TARGET = "src/device/emulated/kernels-wasm.ts";
const LINE_COLUMNS = 88;

/** Memory comes from outside, up to all of 32 bits; nothing is allocated, nothing checked. */
const OPTIONS = [
  "--importMemory --sharedMemory --initialMemory 1 --maximumMemory 65536 --noExportMemory",
  "--enable simd --enable threads --runtime stub --use abort= --noAssert -O3",
].flatMap((line) => line.split(" "));

/** @returns the text of the generated module. */
export async function buildKernels(): Promise<string> {
  let binary: Uint8Array | null = null;
  const { error, stderr } = await asc.main([SOURCE, "--outFile", "out.wasm", ...OPTIONS], {
    writeFile: (_name, contents) => {
      binary = contents as Uint8Array;
    },
  });
  const problems = stderr.toString();
  if (error !== null || problems !== "") throw new Error(problems, { cause: error });
  return moduleText(Buffer.from(binary!).toString("base64"));
}

function moduleText(base64: string): string {
  const lines = base64.match(new RegExp(`.{1,${LINE_COLUMNS}}`, "g"))!;
  return [
    "/**",
    " * The WASM kernels, compiled: written by tools/build-kernels.ts from assembly/kernels.ts.",
    " *",
    " * Read by WasmCompute. Change the source and run the tool, not this.",
    " */",
    "",
    "/** A WebAssembly module in base64. */",
    "export const KERNELS_WASM =",
    ...lines.map((line, index) => `  "${line}"${index === lines.length - 1 ? ";" : " +"}`),
    "",
  ].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  writeFileSync(TARGET, await buildKernels());
}
