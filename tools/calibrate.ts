/**
 * Makes the calibration files under src/hardware/calibration, or reports how well they hold.
 *
 *   npx tsx tools/calibrate.ts [--data ../shared/data]            writes the files
 *   npx tsx tools/calibrate.ts --report [--data ../shared/data]   prints errors and decode steps
 *
 * Not part of the package. The report also prints what whole decode steps cost, for comparison with
 * the bandwidths of the GPU catalogue; nothing is fitted to those.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Calibration } from "../src/hardware/calibration/tables.ts";
import { boil, MEASURED_GPUS } from "./calibrate-boil.ts";
import { readDecode, readGemm, readPrefill } from "./calibrate-read.ts";
import { printReport } from "./calibrate-report.ts";

const root = resolve(import.meta.dirname, "..");
const options = parseArgs({
  options: {
    data: { type: "string", default: join(root, "../shared/data") },
    report: { type: "boolean", default: false },
  },
}).values;
const folder = join(options.data, "aiconfigurator");
const rows = {
  gemm: readGemm(folder),
  decode: readDecode(folder),
  prefill: readPrefill(folder),
};
if (options.report) {
  printReport(rows, options.data);
} else {
  const source = sourceOf(readFileSync(join(folder, "SOURCE.txt"), "utf8"));
  for (const gpu of MEASURED_GPUS) {
    const calibration = boil(gpu, rows, source);
    const base = join(root, "src/hardware/calibration", gpu.gpuName);
    writeFileSync(`${base}-gemm.ts`, gemmModule(calibration));
    writeFileSync(`${base}-attention.ts`, attentionModule(calibration));
    console.log(`wrote ${base}-gemm.ts and ${base}-attention.ts`);
  }
}

/** Repository and commit, from the first line of SOURCE.txt. */
function sourceOf(text: string): string {
  const match = /repo:\s*(\S+)\s+commit\s+([0-9a-f]{7,40})/.exec(text);
  if (match === null) throw new Error("SOURCE.txt: expected `repo: <address> commit <hash>`");
  return `${match[1]!.replace(/^https:\/\/github\.com\//, "")} at ${match[2]}`;
}

function constantName(calibration: Calibration): string {
  return calibration.gpuName.toUpperCase().replaceAll("-", "_");
}

function header(calibration: Calibration, what: string, digits: string): string[] {
  return [
    "/**",
    ` * Measured ${what} of ${calibration.gpuName}, boiled down.`,
    " *",
    " * Written by tools/calibrate.ts, never by hand; read by calibration/catalogue.ts. Source:",
    ` * ${calibration.source.replace(" at ", ", commit ")}`,
    ` * (Apache-2.0), measured with vLLM's kernels in bf16; selected points, ${digits} digits.`,
    " */",
    "",
  ];
}

function gemmModule(calibration: Calibration): string {
  const { roofline, percent } = calibration.gemm;
  return [
    ...header(calibration, "matrix products", "two"),
    'import { GEMM_M, GEMM_NK } from "./grids.ts";',
    'import type { GemmTable } from "./tables.ts";',
    "",
    `export const ${constantName(calibration)}_GEMM: GemmTable = {`,
    "  roofline: {",
    `    bytesPerSecond: ${tidy(roofline.bytesPerSecond / 1e9)}e9,`,
    `    flopsPerSecond: ${tidy(roofline.flopsPerSecond / 1e12)}e12,`,
    `    fixedNs: ${roofline.fixedNs},`,
    "  },",
    "  m: GEMM_M,",
    "  n: GEMM_NK,",
    "  k: GEMM_NK,",
    ...list("percent", percent, 2),
    "};",
    "",
  ].join("\n");
}

function attentionModule(calibration: Calibration): string {
  const lines = [
    ...header(calibration, "attention kernels", "three"),
    'import { DECODE_BATCH, DECODE_CONTEXT, PREFILL_TOKENS } from "./grids.ts";',
    'import type { AttentionTables } from "./tables.ts";',
    "",
    `export const ${constantName(calibration)}_ATTENTION: AttentionTables = {`,
    `  decodeNsPerByte: ${calibration.attention.decodeNsPerByte},`,
    "  decode: [",
  ];
  for (const table of calibration.attention.decode) {
    lines.push("    {", `      isMultiHead: ${table.isMultiHead},`);
    lines.push(`      kvHeads: ${table.kvHeads},`);
    lines.push("      batch: DECODE_BATCH,", "      context: DECODE_CONTEXT,");
    lines.push(...list("us", table.us, 6), "    },");
  }
  lines.push("  ],", "  prefill: [");
  for (const table of calibration.attention.prefill) {
    lines.push("    {", `      isMultiHead: ${table.isMultiHead},`, `      heads: ${table.heads},`);
    lines.push("      tokens: PREFILL_TOKENS,", ...list("us", table.us, 6), "    },");
  }
  lines.push("  ],", "};", "");
  return lines.join("\n");
}

function list(name: string, values: readonly number[], indent: number): string[] {
  const pad = " ".repeat(indent);
  const result = [`${pad}${name}: [`];
  let line = `${pad} `;
  for (const value of values) {
    if (line.length + String(value).length + 2 > 100) {
      result.push(line);
      line = `${pad} `;
    }
    line += ` ${value},`;
  }
  result.push(line, `${pad}],`);
  return result;
}

function tidy(value: number): number {
  return Number(value.toPrecision(6));
}
