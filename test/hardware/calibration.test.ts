/** The committed calibration files against the measured tables that they were boiled down from. */

import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { calibrationOf } from "../../src/hardware/calibration/catalogue.ts";
import { findGpu } from "../../src/hardware/index.ts";
import { boil, MEASURED_GPUS, type MeasuredRows } from "../../tools/calibrate-boil.ts";
import { summarise } from "../../tools/calibrate-errors.ts";
import {
  decodeErrors,
  decodeModelErrors,
  gemmErrors,
  LAYER_COMPARISONS,
  layerErrors,
  prefillErrors,
} from "../../tools/calibrate-held-out.ts";
import { readDecode, readGemm, readPrefill } from "../../tools/calibrate-read.ts";
import { sharedDataPath } from "../shared-data.ts";

const gemmPath = sharedDataPath("aiconfigurator/gemm_bf16.csv");
const isMissing = gemmPath === null;
const folder = isMissing ? "" : dirname(gemmPath);
const rows: MeasuredRows = isMissing
  ? { gemm: [], decode: [], prefill: [] }
  : { gemm: readGemm(folder), decode: readDecode(folder), prefill: readPrefill(folder) };

const own = (gpuName: string): NonNullable<ReturnType<typeof calibrationOf>>["calibration"] =>
  calibrationOf(findGpu(gpuName))!.calibration;

describe.each(MEASURED_GPUS)("tables of $gpuName", (gpu) => {
  it.skipIf(isMissing)("are what tools/calibrate.ts makes of the source today", () => {
    const committed = own(gpu.gpuName);
    const fresh = boil(gpu, rows, committed.source);
    expect(committed.gemm.percent).toEqual(fresh.gemm.percent);
    expect(committed.attention).toEqual(fresh.attention);
    expect(committed.peakBytesPerSecond).toBe(fresh.peakBytesPerSecond);
    const { bytesPerSecond, flopsPerSecond } = fresh.gemm.roofline;
    expect(committed.gemm.roofline.bytesPerSecond / bytesPerSecond).toBeCloseTo(1, 5);
    expect(committed.gemm.roofline.flopsPerSecond / flopsPerSecond).toBeCloseTo(1, 5);
  });

  it.skipIf(isMissing)("give GEMMs of shapes that are not in them within 8 %", () => {
    const summary = summarise(gemmErrors(gpu, own(gpu.gpuName), rows));
    expect(summary.count).toBeGreaterThan(2000);
    expect(summary.meanAbsolute).toBeLessThan(0.08);
    expect(Math.abs(summary.mean)).toBeLessThan(0.02);
  });

  it.skipIf(isMissing)("give decode attention that is not in them within 10 %", () => {
    for (const kind of ["other query heads", "other KV heads", "between grid points"] as const) {
      const summary = summarise(decodeErrors(gpu, own(gpu.gpuName), rows, kind));
      expect(summary.count).toBeGreaterThan(300);
      expect(summary.meanAbsolute).toBeLessThan(0.1);
    }
  });

  it.skipIf(isMissing)("give whole cost models whose decode attention is within 7 %", () => {
    const summary = summarise(decodeModelErrors(gpu, rows));
    expect(summary.count).toBeGreaterThan(50);
    expect(summary.meanAbsolute).toBeLessThan(0.07);
  });

  it.skipIf(isMissing)("give prefill attention of other KV heads within 12 %", () => {
    const summary = summarise(prefillErrors(gpu, own(gpu.gpuName), rows));
    expect(summary.count).toBeGreaterThan(100);
    expect(summary.meanAbsolute).toBeLessThan(0.12);
  });
});

describe.each(LAYER_COMPARISONS)("an independent source", (comparison) => {
  const path = sharedDataPath(`vidur/${comparison.file}`);
  const { modelName, gpuName } = comparison;

  it.skipIf(path === null)(
    `agrees on layers of ${modelName} on ${gpuName} that are bound by memory`,
    () => {
      const summary = summarise(layerErrors(comparison, path!, 1, 64));
      expect(summary.count).toBeGreaterThan(5);
      expect(summary.meanAbsolute).toBeLessThan(0.08);
    },
  );
});

describe("calibration files", () => {
  const calibrationFolder = resolve(import.meta.dirname, "../../src/hardware/calibration");

  it("are small, and name repository and commit in their headers", () => {
    const names = readdirSync(calibrationFolder);
    const tables = names.filter((name) => /-(gemm|attention)\.ts$/.test(name));
    expect(tables).toHaveLength(2 * MEASURED_GPUS.length);
    let bytes = 0;
    for (const name of names) bytes += statSync(join(calibrationFolder, name)).size;
    expect(bytes).toBeLessThan(100e3);
    for (const name of tables) {
      const header = readFileSync(join(calibrationFolder, name), "utf8").split("*/")[0];
      expect(header).toMatch(/ai-dynamo\/aiconfigurator, commit [0-9a-f]{40}/);
    }
  });
});
