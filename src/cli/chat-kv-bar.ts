/**
 * One line that says where the KV of a conversation lies: a bar by place, with its bytes.
 *
 * Called by both screens. Pure. Where a line is too short for all of it, the word goes before the
 * bars: the cells say what is borrowed.
 *
 *     KV 132 KiB  gpu0 ████████ 72 KiB  gpu1 ▓▓▓▓ 36 KiB borrowed  host ░░ 24 KiB
 */

import type { Paint } from "../report/index.ts";
import type { KvPlace } from "../serving/index.ts";
import type { AnswerSummary } from "./chat-session.ts";
import type { KvReport } from "./chat-client.ts";
import { sizeText } from "./serve-devices.ts";

/** Cells of all bars together: the most, and the least beside which words have a place. */
const CELLS_MAX = 24;
const CELLS_MIN = 8;
const CELL_STEP = 4;

const CELLS = { local: "█", borrowed: "▓", host: "░" } as const;

/** @param columns what the line may take; bars shrink first, then words go for them, then bars */
export function kvLine(report: KvReport | null, columns: number, paint: Paint): string {
  if (report === null) return "";
  const total = report.places.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total === 0) return `KV: none, ${report.state} in ${report.engine}`;
  const lineOf = (cells: number, hasWords: boolean): string => {
    const parts = report.places.map((place) => {
      return placeText(place, (cells * place.bytes) / total, hasWords, paint);
    });
    return [`KV ${sizeText(total)}`, ...parts].join("  ");
  };
  for (const hasWords of [true, false]) {
    const least = hasWords ? CELLS_MIN : CELL_STEP;
    for (let cells = CELLS_MAX; cells >= least; cells -= CELL_STEP) {
      const line = lineOf(cells, hasWords);
      if (paint.widthOf(line) <= columns) return line;
    }
  }
  return lineOf(0, true);
}

/** The lines below an answer that is over: where its KV lay, and what it took. */
export function summaryText(summary: AnswerSummary, columns: number, paint: Paint): string {
  const { kv, tokens, seconds, isInterrupted, isCut } = summary;
  const facts: string[] = [];
  if (tokens !== null) {
    const speed = seconds > 0 ? `, ${(tokens / seconds).toFixed(1)}/s` : "";
    facts.push(`${tokens} tokens${speed}`);
  }
  if (isInterrupted) facts.push("interrupted");
  else if (isCut) facts.push("cut at its limit");
  if (kv !== null) facts.push(kv.engine);
  const lines = [kvLine(kv, columns, paint), facts.join(", ")];
  return lines.filter((line) => line !== "").join("\n");
}

function placeText(
  { kind, device, bytes }: KvPlace,
  cells: number,
  hasWords: boolean,
  paint: Paint,
): string {
  const color = { local: paint.own, borrowed: paint.borrowed, host: paint.lent }[kind];
  const name = device === null ? "host" : `gpu${device}`;
  // Whatever lies somewhere is seen, however little it is.
  const count = cells === 0 ? 0 : Math.max(1, Math.round(cells));
  const bar = count === 0 ? "" : ` ${color(CELLS[kind].repeat(count))}`;
  return `${name}${bar} ${sizeText(bytes)}${hasWords && kind === "borrowed" ? " borrowed" : ""}`;
}
