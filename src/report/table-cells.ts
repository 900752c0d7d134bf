/**
 * The table's cells: one row per system and engine group, and one of all engines together.
 *
 * Called by table.ts for terminals and by html-report.ts for the page: both show the same figures.
 * It knows columns and rounding, not how a table is drawn. The best of the systems that one can
 * switch on is marked; `double` is a yardstick and is not.
 */

import type { Comparison, Line, SystemComparison } from "./comparison.ts";
import { bytesPair, milliseconds, NOTHING, plain, share, significant } from "./figures.ts";

export interface Cell {
  readonly text: string;
  /** No switchable system is better for these engines, and one is worse. */
  readonly isBest: boolean;
}

export interface TableRow {
  readonly cells: readonly Cell[];
  /** The first row of its system. */
  readonly isFirst: boolean;
  readonly isTotal: boolean;
  /** Whether anything was borrowed or lent. */
  readonly movesMemory: boolean;
}

/** Parallel to the cells of a row. The title's first space is where it may break. */
export interface TableColumn {
  readonly title: string;
  readonly kind: "name" | "speed" | "memory";
}

export function tableRows(comparison: Comparison): TableRow[] {
  const rows = rowsOf(comparison);
  return rows.map((row, index) => ({
    cells: COLUMNS.map((column) => ({
      text: column.text(row),
      isBest: isBest(column, row, rows),
    })),
    isFirst: rows[index - 1]?.system !== row.system,
    isTotal: row.isTotal,
    movesMemory: row.line.result.borrowedBytes.max > 0 || row.line.result.lentBytes.max > 0,
  }));
}

interface Row {
  readonly system: SystemComparison;
  readonly label: string;
  readonly line: Line;
  readonly isTotal: boolean;
}

interface Column extends TableColumn {
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

export const TABLE_COLUMNS: readonly TableColumn[] = COLUMNS;

function rowsOf(comparison: Comparison): Row[] {
  return comparison.systems.flatMap((system) => {
    const rows = comparison.groups.map(({ label }): Row => {
      return { system, label, line: system.groups[label]!, isTotal: false };
    });
    return [...rows, { system, label: "total", line: system.total, isTotal: true }];
  });
}

/**
 * Whether no switchable system has a better value for the same engines, and one has a worse one.
 */
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
