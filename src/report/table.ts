/**
 * The table for people in a terminal.
 *
 * Called by text-report.ts. It knows how wide the terminal is, not what the figures are
 * (table-cells.ts). Wide terminals get one table; where that does not fit, speed and memory are
 * two.
 */

import Table from "cli-table3";
import type { Comparison } from "./comparison.ts";
import type { Paint } from "./paint.ts";
import { TABLE_COLUMNS, tableRows, type TableColumn, type TableRow } from "./table-cells.ts";

/** Columns stand apart by two spaces; the one rule is drawn below the heads. */
const NO_LINES = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
};

/** @param widthColumns of the terminal. @returns text without a final newline. */
export function tableText(comparison: Comparison, widthColumns: number, paint: Paint): string {
  const rows = tableRows(comparison);
  const whole = draw(rows, ["name", "speed", "memory"], paint);
  if (whole.split("\n").every((line) => paint.widthOf(line) <= widthColumns)) return whole;
  const speed = draw(rows, ["name", "speed"], paint);
  const moving = rows.filter((row) => row.movesMemory);
  if (moving.length === 0) return speed;
  return `${speed}\n\n${draw(moving, ["name", "memory"], paint)}`;
}

function draw(
  rows: readonly TableRow[],
  kinds: readonly TableColumn["kind"][],
  paint: Paint,
): string {
  const shown = TABLE_COLUMNS.map((column, index) => ({ column, index })).filter(({ column }) =>
    kinds.includes(column.kind),
  );
  const heads = shown.map(({ column }) => column.title.replace(" ", "\n"));
  const table = new Table({
    head: heads,
    // Colours are this project's own (paint.ts), so that NO_COLOR holds for all of it.
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0, compact: true },
    colAligns: shown.map(({ column }) => (column.kind === "name" ? "left" : "right")),
    chars: NO_LINES,
  });
  let previousSystem = "";
  for (const row of rows) {
    const system = row.cells[0]!.text;
    table.push(
      shown.map(({ index }) => {
        const { text, isBest } = row.cells[index]!;
        if (index === 0) return system === previousSystem ? "" : paint.bold(text);
        return isBest ? paint.bold(text) : text;
      }),
    );
    previousSystem = system;
  }
  const lines = table.toString().split("\n");
  const rule = paint.dim("-".repeat(Math.max(...lines.map((line) => paint.widthOf(line)))));
  const headLines = Math.max(...heads.map((head) => head.split("\n").length));
  const trimmed = lines.map((line) => line.trimEnd());
  return [...trimmed.slice(0, headLines), rule, ...trimmed.slice(headLines)].join("\n");
}
