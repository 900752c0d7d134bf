/**
 * The table for people: one line per system and engine group, and one of all engines together.
 *
 * Called by text-report.ts. It knows columns and rounding, not where the lines come from. Wide
 * terminals get one table; where that does not fit, speed and memory are two tables of the same rows.
 * The best of the systems one can switch on is bold; `double` is a yardstick and is not.
 */

import Table from "cli-table3";
import type { Comparison, Line, SystemComparison } from "./comparison.ts";
import { bytesPair, milliseconds, plain, share, significant, NOTHING } from "./figures.ts";
import type { Paint } from "./paint.ts";

/** Columns of the one wide table, with the separators; below it there are two. */
const WIDE_COLUMNS = 118;

interface Row {
  readonly system: SystemComparison;
  readonly label: string;
  readonly line: Line;
  readonly isTotal: boolean;
}

interface Column {
  readonly title: string;
  readonly kind: "name" | "speed" | "memory";
  text(row: Row): string;
  /** What is compared for the best; absent where no value is better than another. */
  value?(row: Row): number | null;
  readonly isLessBetter?: boolean;
}

const COLUMNS: readonly Column[] = [
  { title: "system", kind: "name", text: (row) => row.system.settings.name },
  { title: "engine", kind: "name", text: (row) => row.label },
  {
    title: "tok/s",
    kind: "speed",
    text: (row) => plain(row.line.result.outputTokensPerSecond),
    value: (row) => row.line.result.outputTokensPerSecond,
  },
  { title: "x static", kind: "speed", text: (row) => timesStatic(row.line) },
  {
    title: "TTFT s mean/p99",
    kind: "speed",
    text: ({ line }) => pair(line.result.ttftSeconds, significant),
    value: (row) => row.line.result.ttftSeconds.mean,
    isLessBetter: true,
  },
  {
    title: "TPOT ms mean/p99",
    kind: "speed",
    text: ({ line }) => pair(line.result.tpotSeconds, milliseconds),
    value: (row) => row.line.result.tpotSeconds.mean,
    isLessBetter: true,
  },
  { title: "preempt", kind: "speed", text: (row) => plain(row.line.result.preemptions) },
  {
    title: "borrowed GB mean/max",
    kind: "memory",
    text: ({ line }) => bytesPair(line.result.borrowedBytes),
  },
  {
    title: "lent GB mean/max",
    kind: "memory",
    text: ({ line }) => bytesPair(line.result.lentBytes),
  },
  {
    title: "recalls refill/demand",
    kind: "memory",
    text: ({ system, isTotal }) => (isTotal ? recallCounts(system) : ""),
  },
  { title: "hidden", kind: "memory", text: (row) => share(row.line.result.hiddenShare) },
];

/** @param widthColumns of the terminal. @returns text without a final newline. */
export function tableText(comparison: Comparison, widthColumns: number, paint: Paint): string {
  const rows = rowsOf(comparison);
  if (widthColumns >= WIDE_COLUMNS) return draw(rows, COLUMNS, paint);
  const part = (kind: Column["kind"]): string => {
    const columns = COLUMNS.filter((column) => column.kind === "name" || column.kind === kind);
    const isUseful = kind !== "memory" || rows.some((row) => movesMemory(row.line));
    const shown = kind === "memory" ? rows.filter((row) => movesMemory(row.line)) : rows;
    return isUseful ? draw(shown, columns, paint) : "";
  };
  return [part("speed"), part("memory")].filter((text) => text !== "").join("\n\n");
}

function rowsOf(comparison: Comparison): Row[] {
  return comparison.systems.flatMap((system) => {
    const rows = comparison.groups.map(({ label }): Row => {
      return { system, label, line: system.groups[label]!, isTotal: false };
    });
    return [...rows, { system, label: "total", line: system.total, isTotal: true }];
  });
}

function draw(rows: readonly Row[], columns: readonly Column[], paint: Paint): string {
  const table = new Table({
    head: columns.map((column) => wrapTitle(column.title)),
    // Colours are this project's own (paint.ts), so that NO_COLOR holds for all of it.
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0, compact: true },
    colAligns: columns.map((column) => (column.kind === "name" ? "left" : "right")),
    chars: {
      ...{ top: "", "top-mid": "", "top-left": "", "top-right": "" },
      ...{ bottom: "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" },
      ...{ left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "" },
      middle: "  ",
    },
  });
  let previous: SystemComparison | null = null;
  for (const row of rows) {
    const isRepeat = previous === row.system;
    table.push(columns.map((column) => cell(column, row, rows, isRepeat, paint)));
    previous = row.system;
  }
  const lines = table.toString().split("\n");
  const rule = paint.dim("-".repeat(Math.max(...lines.map((line) => paint.widthOf(line)))));
  const headLines = Math.max(...columns.map((column) => wrapTitle(column.title).split("\n").length));
  const trimmed = lines.map((line) => line.trimEnd());
  return [...trimmed.slice(0, headLines), rule, ...trimmed.slice(headLines)].join("\n");
}

function cell(
  column: Column,
  row: Row,
  rows: readonly Row[],
  isRepeat: boolean,
  paint: Paint,
): string {
  if (column.title === "system" && isRepeat) return "";
  const text = column.text(row);
  if (column.title === "system") return paint.bold(text);
  return isBest(column, row, rows) ? paint.bold(text) : text;
}

/** Whether no switchable system has a better value for the same engines, and one has a worse one. */
function isBest(column: Column, row: Row, rows: readonly Row[]): boolean {
  const value = column.value?.(row) ?? null;
  if (value === null || row.system.settings.base === "double") return false;
  const sign = column.isLessBetter === true ? -1 : 1;
  let isAnyWorse = false;
  for (const other of rows) {
    if (other.label !== row.label || other.system.settings.base === "double") continue;
    const otherValue = column.value?.(other) ?? null;
    if (otherValue === null) continue;
    if (sign * otherValue > sign * value) return false;
    if (otherValue !== value) isAnyWorse = true;
  }
  return isAnyWorse;
}

function movesMemory(line: Line): boolean {
  return line.result.borrowedBytes.max > 0 || line.result.lentBytes.max > 0;
}

/** The paired ratio with half its 95 % interval where seeds give one. */
function timesStatic(line: Line): string {
  const value = line.versus?.throughput ?? null;
  if (value === null) return NOTHING;
  const interval = line.versusIntervals?.throughput ?? null;
  if (interval === null) return value.toFixed(2);
  const half = (interval[1] - interval[0]) / 2;
  return half < 0.005 ? value.toFixed(2) : `${value.toFixed(2)} ±${half.toFixed(2)}`;
}

function pair(
  values: { readonly mean: number | null; readonly p99: number | null },
  format: (value: number | null) => string,
): string {
  return values.mean === null ? NOTHING : `${format(values.mean)}/${format(values.p99)}`;
}

function recallCounts(system: SystemComparison): string {
  return `${plain(system.recalls.refill.count)}/${plain(system.recalls.demand.count)}`;
}

/** Titles break at their first space: names above, units below. */
function wrapTitle(title: string): string {
  return title.replace(" ", "\n");
}
