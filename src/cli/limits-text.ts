/**
 * How the answer of `ema limits` looks: aligned tables for people, one object for programs.
 *
 * Called by limits-command.ts. It decides what a reader is told about a limit, never what it is.
 */

import pc from "picocolors";
import { formatBytes, unreachable } from "../base/index.ts";
import { createCostModel } from "../hardware/index.ts";
import {
  idealLimit,
  practicalLimit,
  type Limit,
  type LimitedBy,
  type LocalPoint,
  type PracticalInputs,
} from "../limits/index.ts";
import type { MemoryLimit } from "../scenario/index.ts";
import type { Question } from "./limits-inputs.ts";

interface Answer {
  readonly ideal: Limit;
  /** With lenders that run as often as the scenario's; without one they are idle. */
  readonly practical: Limit;
  /** The ends of the range: lenders that never run, and lenders that always do. */
  readonly practicalLendersIdle: Limit;
  readonly practicalLendersRunning: Limit;
}

function answerOf(question: Question): Answer {
  const { practical } = question;
  return {
    ideal: idealLimit(question.ideal),
    practical: practicalLimit(practical),
    practicalLendersIdle: practicalLimit(withRunShare(practical, 0)),
    practicalLendersRunning: practicalLimit(withRunShare(practical, 1)),
  };
}

function withRunShare(inputs: PracticalInputs, runShare: number): PracticalInputs {
  return { ...inputs, lenders: inputs.lenders.map((lender) => ({ ...lender, runShare })) };
}

/** The one object of `--json`; `null` for what does not exist, never NaN or Infinity. */
export function limitsJson(question: Question): object {
  const answer = answerOf(question);
  const { borrower, capBytes, lenders } = question.practical;
  return {
    formatVersion: 1,
    engine: question.engineName,
    server: question.serverName,
    gpu: question.gpu.name,
    model: question.model.name,
    contextTokens: borrower.contextTokens,
    mode: question.ideal.mode,
    capBytes: Number.isFinite(capBytes) ? capBytes : null,
    peers: lenders.length,
    ownKvBytes: borrower.ownKvBytes,
    lenderShare: question.practical.lenderShare,
    ideal: limitJson(answer.ideal),
    practical: limitJson(answer.practical),
    practicalLendersIdle: limitJson(answer.practicalLendersIdle),
    practicalLendersRunning: limitJson(answer.practicalLendersRunning),
    workload: question.workload,
    costSources: createCostModel(question.gpu, question.model).sources,
  };
}

function limitJson(limit: Limit): object {
  return {
    ...localJson(limit),
    ratioToStatic: limit.ratioToStatic,
    ratioToDouble: limit.ratioToDouble,
    remoteBytes: limit.remoteBytes,
    stagedBytes: limit.stagedBytes,
    directBytes: limit.directBytes,
    ringBytes: limit.ringBytes,
    limitedBy: limit.limitedBy,
    remoteSlowdown: limit.remoteSlowdown,
    hiddenShare: limit.hiddenShare,
    static: localJson(limit.static),
    double: localJson(limit.double),
  };
}

function localJson({ tokensPerSecond, stepSeconds, sequences }: LocalPoint): object {
  return { outputTokensPerSecond: tokensPerSecond, stepSeconds, sequences };
}

/** Ends in a newline. */
export function limitsText(question: Question, isColoured: boolean): string {
  const colours = pc.createColors(isColoured);
  const answer = answerOf(question);
  const { practical, ideal } = answer;
  const rows: string[][] = [HEADINGS];
  rows.push(...localRows(ideal), borrowingRow("borrowing", ideal));
  const separator = rows.length;
  rows.push(...localRows(practical));
  rows.push(borrowingRow("borrowing, lenders idle", answer.practicalLendersIdle));
  if (question.workload !== null) rows.push(borrowingRow("borrowing, lenders as here", practical));
  rows.push(borrowingRow("borrowing, lenders running", answer.practicalLendersRunning));
  const lines = aligned(rows);
  return [
    ...heading(question).map((line, index) => (index === 0 ? colours.bold(line) : line)),
    "",
    colours.dim(lines[0]!),
    colours.bold("Ideal: bandwidths alone"),
    ...lines.slice(1, separator),
    colours.bold(costsTitle(question)),
    ...lines.slice(separator),
    "",
    verdict(question, answer),
    colours.dim(sourcesLine(question)),
    "",
  ].join("\n");
}

function sourcesLine({ gpu, model }: Question): string {
  const { sources } = createCostModel(gpu, model);
  const parts = sources.map(({ part, kind }) => `${part.replace("-", " ")} ${kind}`);
  return `Operators' times: ${parts.join(", ")}; --json says from which tables.`;
}

const HEADINGS = [
  "",
  "tokens/s",
  "step",
  "sequences",
  "x static",
  "x double",
  "borrowed",
  "staged",
  "direct",
  "slower",
  "hidden",
  "limited by",
];

function heading(question: Question): readonly string[] {
  const { practical, workload, gpu, model } = question;
  const { borrower, lenders } = practical;
  const who = question.engineName === null ? "" : `${question.engineName}: `;
  const context = Math.round(borrower.contextTokens).toLocaleString("en-US");
  const lines = [
    `${who}${model.name} on GPU ${question.gpuIndex} of ${question.serverName} (${gpu.label}), ` +
      `${workload === null ? "every context" : "mean context"} ${context} tokens`,
    `own KV memory ${formatBytes(borrower.ownKvBytes)}, may borrow ${capText(question.cap)} from ` +
      `${lenders.length} ${lenders.length === 1 ? "GPU" : "GPUs"}, ${question.ideal.mode} access`,
  ];
  if (workload === null) return lines;
  const { meanPromptTokens, meanOutputTokens } = workload.lengths;
  lines.push(
    `prompts of ${Math.round(meanPromptTokens)} and outputs of ${Math.round(meanOutputTokens)} ` +
      `tokens on average, ${rate(workload.offeredTokensPerSecond)} output tokens/s asked for; ` +
      `lenders run ${percent(workload.lenderRunShare)} of the time`,
  );
  return lines;
}

function capText(cap: MemoryLimit): string {
  switch (cap.kind) {
    case "none":
      return "all it can get";
    case "bytes":
      return `up to ${formatBytes(cap.bytes)}`;
    case "share":
      return `up to ${percent(cap.share)} of that`;
  }
}

function costsTitle(question: Question): string {
  const { lenderShare } = question.practical;
  const pace = lenderShare === null ? "no pacing" : `lender share ${percent(lenderShare)}`;
  const prompts = question.workload === null ? "" : ", prompts";
  return `With costs: operators, ring, copies, slices and blocks, ${pace}${prompts}`;
}

function localRows(limit: Limit): string[][] {
  const row = (name: string, point: LocalPoint): string[] => [
    `  ${name}`,
    rate(point.tokensPerSecond),
    milliseconds(point.stepSeconds),
    point.sequences.toFixed(1),
    ratio(point.tokensPerSecond / limit.static.tokensPerSecond),
    ratio(point.tokensPerSecond / limit.double.tokensPerSecond),
    ...Array.from({ length: 6 }, () => ""),
  ];
  return [row("static", limit.static), row("double", limit.double)];
}

function borrowingRow(name: string, limit: Limit): string[] {
  return [
    `  ${name}`,
    rate(limit.tokensPerSecond),
    milliseconds(limit.stepSeconds),
    limit.sequences.toFixed(1),
    ratio(limit.ratioToStatic),
    ratio(limit.ratioToDouble),
    formatBytes(limit.remoteBytes),
    formatBytes(limit.stagedBytes),
    formatBytes(limit.directBytes),
    limit.remoteSlowdown === null ? "-" : percent(limit.remoteSlowdown),
    limit.hiddenShare === null ? "-" : percent(limit.hiddenShare),
    LIMIT_NAMES[limit.limitedBy],
  ];
}

const LIMIT_NAMES: Readonly<Record<LimitedBy, string>> = {
  link: "link",
  memory: "memory",
  compute: "compute",
  "lender-share": "lender share",
  "max-sequences": "max sequences",
  hbm: "own HBM",
};

function verdict(question: Question, answer: Answer): string {
  const { practical } = answer;
  const gain = practical.ratioToStatic;
  const why = reason(practical.limitedBy, question) + lendersPart(answer);
  const text =
    gain < 1.005
      ? `Borrowing does not pay here: ${why}.`
      : `Borrowing serves at most ${ratio(gain)}x what static serves; ${why}.`;
  const { workload } = question;
  if (workload === null || workload.offeredTokensPerSecond >= practical.static.tokensPerSecond) {
    return text;
  }
  return (
    `${text} On average the engine asks for less than static serves: borrowing helps it in ` +
    `bursts only.`
  );
}

/** Said when lenders that run cost the borrower more than a hundredth. */
function lendersPart({ practical, practicalLendersIdle }: Answer): string {
  const kept = 1 - practical.tokensPerSecond / practicalLendersIdle.tokensPerSecond;
  return kept < 0.01 ? "" : `, and steps of the lenders' own cost ${percent(kept)}`;
}

function reason(limitedBy: LimitedBy, question: Question): string {
  switch (limitedBy) {
    case "link":
      return "the link limits it: more to read would cost longer steps than it serves";
    case "memory":
      return question.practical.lenders.length === 0
        ? "nobody lends"
        : "the memory it may borrow limits it, not the link";
    case "compute":
      return "compute limits it: memory saves no time on prompts and large batches";
    case "lender-share":
      return "the share of their bandwidth that running lenders give limits it";
    case "max-sequences":
      return "the engine's bound on its batch limits it";
    case "hbm":
      return "its own HBM bandwidth limits it: more KV is more to read in each step";
    default:
      return unreachable(limitedBy);
  }
}

/** First column to the left, the last as it is, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]!.length)),
  );
  return rows.map((cells) =>
    cells
      .map((cell, column) => {
        if (column === 0) return cell.padEnd(widths[column]!);
        return column === cells.length - 1 ? cell : cell.padStart(widths[column]!);
      })
      .join("  ")
      .trimEnd(),
  );
}

function rate(tokensPerSecond: number): string {
  const digits = tokensPerSecond < 100 ? 1 : 0;
  return tokensPerSecond.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

function ratio(value: number): string {
  return value.toFixed(2);
}

function milliseconds(seconds: number): string {
  return `${(seconds * 1000).toFixed(1)} ms`;
}

function percent(share: number): string {
  const value = share * 100;
  const digits = Number.isInteger(value) || Math.abs(value) >= 10 ? 0 : 1;
  return `${value.toFixed(digits)}%`;
}
