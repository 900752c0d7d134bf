/**
 * Memory of each GPU over time as bands of block characters: own use, lent and borrowed.
 *
 * Called by text-report.ts with the samples of one run. It knows nothing of systems. A GPU has one
 * band a kind that it ever had; the height of a column is the time-weighted mean share of the
 * GPU's KV memory in that slot of time. Borrowed memory lies on other GPUs but is drawn at the
 * same scale.
 *
 * Invariant: no line is wider than asked for.
 */

import { gigabytes } from "./figures.ts";
import type { Paint } from "./paint.ts";
import type { MemorySample, RunRecord } from "./simulation.ts";

const LEVELS = " ▁▂▃▄▅▆▇█";
/** Bands longer than this say nothing more and are harder to compare. */
const BAND_COLUMNS_MAX = 96;

type Kind = "own" | "lent" | "borrowed";

/** @returns lines, empty when the run has no samples. */
export function memoryPicture(run: RunRecord, widthColumns: number, paint: Paint): string[] {
  if (!run.samples.some((column) => column.length > 0) || run.endNs <= 0) return [];
  const names = run.engines.map((engine) => `GPU ${engine.gpuIndex} ${engine.name}`);
  const nameColumns = Math.min(20, Math.max(...names.map((name) => name.length)));
  const labelColumns = nameColumns + " borrowed ".length;
  const tailColumns = " max 100.0 GB".length;
  const free = widthColumns - labelColumns - tailColumns;
  const bandColumns = Math.max(10, Math.min(BAND_COLUMNS_MAX, free));
  const lines: string[] = [];
  for (const [index, engine] of run.engines.entries()) {
    const samples = run.samples[index] ?? [];
    const own = engine.kvBytesCapacity;
    for (const [row, kind] of kindsOf(samples).entries()) {
      const name = row === 0 ? names[index]!.slice(0, nameColumns) : "";
      const means = slotMeans(samples, kind, bandColumns, run.endNs);
      const scale = Math.max(own, ...means, 1);
      const band = means.map((bytes) => LEVELS[levelOf(bytes / scale)]!).join("");
      const max = samples.reduce((most, sample) => Math.max(most, bytesOf(sample, kind)), 0);
      const label = `${name.padEnd(nameColumns)} ${kind.padEnd(8)} `;
      lines.push(`${label}${paint[kind](band)} ${paint.dim(`max ${gigabytes(max)} GB`)}`);
    }
  }
  lines.push(paint.dim(`${" ".repeat(labelColumns)}${axis(bandColumns, run.endNs / 1e9)}`));
  return lines;
}

function kindsOf(samples: readonly MemorySample[]): Kind[] {
  const kinds: Kind[] = ["own"];
  if (samples.some((sample) => sample.lentBytes > 0)) kinds.push("lent");
  if (samples.some((sample) => sample.borrowedBytes > 0)) kinds.push("borrowed");
  return kinds;
}

/**
 * Time-weighted mean bytes in each of `count` equal slots of [0, endNs); gauges hold until the
 * next.
 */
function slotMeans(
  samples: readonly MemorySample[],
  kind: Kind,
  count: number,
  endNs: number,
): number[] {
  const sums = new Array<number>(count).fill(0);
  const slotNs = endNs / count;
  for (const [index, sample] of samples.entries()) {
    const untilNs = Math.min(endNs, samples[index + 1]?.timeNs ?? endNs);
    let fromNs = sample.timeNs;
    for (let slot = Math.floor(fromNs / slotNs); slot < count && fromNs < untilNs; slot++) {
      const stopNs = Math.min(untilNs, (slot + 1) * slotNs);
      sums[slot]! += bytesOf(sample, kind) * Math.max(0, stopNs - fromNs);
      fromNs = Math.max(fromNs, stopNs);
    }
  }
  return sums.map((sum) => sum / slotNs);
}

/** Anything at all shows at least the lowest bar. */
function levelOf(share: number): number {
  if (share <= 0) return 0;
  return Math.max(1, Math.min(LEVELS.length - 1, Math.round(share * (LEVELS.length - 1))));
}

function bytesOf(sample: MemorySample, kind: Kind): number {
  if (kind === "own") return sample.ownBytes;
  return kind === "lent" ? sample.lentBytes : sample.borrowedBytes;
}

function axis(columns: number, endSeconds: number): string {
  const end = `${endSeconds.toFixed(endSeconds >= 10 ? 0 : 2)} s`;
  return `0 s${end.padStart(columns - 3)}`;
}
