/**
 * Everything `ema compare` says on stdout: the table, the picture, what was assumed, the verdict.
 *
 * Called by the command, which knows the terminal's width and colours. The verdict comes last: it
 * is what stays on the screen.
 */

import type { CompareResult, Comparison, SystemComparison } from "./comparison.ts";
import { gigabytes, milliseconds, plain } from "./figures.ts";
import { memoryPicture } from "./memory-picture.ts";
import type { Paint } from "./paint.ts";
import { tableText } from "./table.ts";

/** @returns text with a final newline. */
export function textReport(result: CompareResult, widthColumns: number, paint: Paint): string {
  const { comparison, json } = result;
  const sections: string[][] = [
    [paint.bold(headline(comparison))],
    [tableText(comparison, widthColumns, paint)],
    pictureSection(comparison, widthColumns, paint),
    detailLines(comparison, widthColumns),
    json.warnings.flatMap((warning) => {
      return wrap(`Warning: ${warning}.`, widthColumns).map((line) => paint.warning(line));
    }),
    wrap(json.verdict.text, widthColumns, "").map((line) => paint.bold(line)),
  ];
  const texts = sections.filter((lines) => lines.length > 0).map((lines) => lines.join("\n"));
  return `${texts.join("\n\n")}\n`;
}

function headline({ scenario, seeds }: Comparison): string {
  const { topology } = scenario;
  const seedText = seeds.length === 1 ? `seed ${seeds[0]}` : `mean of ${seeds.length} seeds`;
  const gpus = new Set(topology.gpus.map((gpu) => gpu.label));
  return `${scenario.name}: ${topology.gpus.length} x ${[...gpus].join(", ")}, ${seedText}`;
}

/** The first elastic system that moved memory; without one, of the first system. */
function pictureSection(comparison: Comparison, widthColumns: number, paint: Paint): string[] {
  const elastic = comparison.systems.filter((system) => system.settings.base === "ema");
  const moved = elastic.find((system) => system.total.result.borrowedBytes.max > 0);
  const shown = moved ?? elastic[0] ?? comparison.systems[0];
  if (shown === undefined) return [];
  const lines = memoryPicture(shown.firstRun, widthColumns, paint);
  if (lines.length === 0) return [];
  const name = `${shown.settings.name}, seed ${comparison.seeds[0]}`;
  return [`KV memory over time under ${name} (a full block: all of the GPU's own)`, ...lines];
}

/** Capacities, admission settings, and what recalls did, one line a subject. */
function detailLines(comparison: Comparison, widthColumns: number): string[] {
  const first = comparison.systems[0];
  if (first === undefined) return [];
  const capacities = new Map<string, string[]>();
  for (const [engine, capacity] of Object.entries(first.capacities)) {
    const { gpu, model, kvTokens, kvBytes } = capacity;
    const text = `${model} on ${gpu} ${plain(kvTokens)} tokens (${gigabytes(kvBytes)} GB)`;
    capacities.set(text, [...(capacities.get(text) ?? []), engine]);
  }
  const capacityTexts = [...capacities].map(([text, engines]) => `${engines.join(", ")}: ${text}`);
  const admission = comparison.systems.map((s) => `${s.settings.name} ${s.admission}`).join(", ");
  const lines = [
    `KV memory under ${first.settings.name}: ${capacityTexts.join("; ")}`,
    `Admission (best of the same list by throughput): ${admission}`,
  ];
  for (const system of comparison.systems) lines.push(...recallLines(system));
  return lines.flatMap((line) => wrap(line, widthColumns));
}

function recallLines(system: SystemComparison): string[] {
  const { refill, demand } = system.recalls;
  if (refill.count + demand.count === 0) return [];
  const wait = (kind: typeof refill): string =>
    `${plain(kind.count)} (wait p99 ${milliseconds(kind.waitSeconds.p99)} ms)`;
  const rungs = Object.entries(system.ladder).map(([rung, slices]) =>
    slices === 0 ? `${rung} unused` : `${rung} ${plain(slices)}`,
  );
  const ladder = rungs.length === 0 ? "" : `; slices by rung: ${rungs.join(", ")}`;
  const name = system.settings.name;
  return [`Recalls under ${name}: refill ${wait(refill)}, demand ${wait(demand)}${ladder}`];
}

/** Breaks between words; later lines are indented. */
function wrap(text: string, widthColumns: number, indent = "  "): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > widthColumns) {
      lines.push(line);
      line = indent + word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines;
}
