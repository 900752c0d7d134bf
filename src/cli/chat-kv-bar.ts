/**
 * One line that says where the KV of a conversation lies: a bar by place, with its bytes.
 *
 * Called by both screens. Pure.
 *
 *     KV 132 KiB  gpu0 ████████ 72 KiB  gpu1 ▓▓▓▓ 36 KiB borrowed  host ░░ 24 KiB
 */

import type { Paint } from "../report/index.ts";
import type { KvPlace } from "../serving/index.ts";
import type { AnswerSummary } from "./chat-session.ts";
import type { KvReport } from "./chat-client.ts";
import { sizeText } from "./serve-devices.ts";

/** Cells of all bars together. */
const CELLS_MAX = 24;

const CELLS = { local: "█", borrowed: "▓", host: "░" } as const;

/** @param columns what the line may take; bars shrink, and go, before text does */
export function kvLine(report: KvReport | null, columns: number, paint: Paint): string {
  if (report === null) return "";
  const total = report.places.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total === 0) return `KV: none, ${report.state} in ${report.engine}`;
  for (let cells = CELLS_MAX; cells >= 0; cells -= 4) {
    const parts = report.places.map((place) => {
      return placeText(place, (cells * place.bytes) / total, paint);
    });
    const line = [`KV ${sizeText(total)}`, ...parts].join("  ");
    if (paint.widthOf(line) <= columns || cells === 0) return line;
  }
  return "";
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

function placeText({ kind, device, bytes }: KvPlace, cells: number, paint: Paint): string {
  const color = { local: paint.own, borrowed: paint.borrowed, host: paint.lent }[kind];
  const name = device === null ? "host" : `gpu${device}`;
  // Whatever lies somewhere is seen, however little it is.
  const count = cells === 0 ? 0 : Math.max(1, Math.round(cells));
  const bar = count === 0 ? "" : ` ${color(CELLS[kind].repeat(count))}`;
  return `${name}${bar} ${sizeText(bytes)}${kind === "borrowed" ? " borrowed" : ""}`;
}
