/**
 * What a sweep found, as text: coverage, violations, and the ten that came nearest to one.
 *
 * Called by sweep.ts with verdicts; a pure function.
 */

import type { Judgement } from "./bounds.ts";
import type { EngineVerdict, ServerVerdict } from "./server-verdict.ts";

const WORST = 10;

interface Row {
  readonly seed: number;
  readonly engine: EngineVerdict;
  readonly judgement: Judgement;
}

export function sweepText(verdicts: readonly ServerVerdict[]): string {
  const rows = rowsOf(verdicts);
  const violations = rows.filter(({ judgement }) => judgement.isViolation);
  const errors = verdicts.flatMap(({ seed, errors: all }) =>
    all.slice(0, 3).map((error) => `server ${seed}: ${error}`),
  );
  return [
    coverageLine(verdicts),
    `${rows.length} bounds looked at, ${violations.length} broken; ${errors.length} errors`,
    ...errors,
    "",
    `the worst ${Math.min(WORST, rows.length)}:`,
    table(rows.slice(0, WORST)),
    ...(violations.length > WORST ? ["", "all broken:", table(violations)] : []),
  ].join("\n");
}

/** Every bound that was looked at, the most broken first. */
export function rowsOf(verdicts: readonly ServerVerdict[]): Row[] {
  const rows = verdicts.flatMap(({ seed, engines }) =>
    engines.flatMap((engine) =>
      engine.judgements.map((judgement) => ({ seed, engine, judgement })),
    ),
  );
  // An engine that made nothing has an infinite excess: the surest come first all the same.
  const rank = ({ isViolation, excess }: Judgement): number =>
    Math.min(excess, 1e6) + (isViolation ? 1e6 : 0);
  return rows.sort((a, b) => rank(b.judgement) - rank(a.judgement));
}

export function coverageOf(verdicts: readonly ServerVerdict[]): Record<string, number> {
  const engines = verdicts.flatMap((verdict) => verdict.engines);
  const judged = engines.filter(({ judgements }) => judgements.length > 0);
  const isRecalled = ({ recalls }: ServerVerdict): boolean => recalls.refill + recalls.demand > 0;
  const wirings = ["switch", "mesh", "pcie", "list"].map((wiring) => [
    wiring,
    verdicts.filter((verdict) => verdict.wiring === wiring).length,
  ]);
  return {
    servers: verdicts.length,
    "within the bounds' shares": verdicts.filter(({ isBound }) => isBound).length,
    engines: engines.length,
    judged: judged.length,
    borrowers: judged.filter(({ role }) => role === "borrower").length,
    lenders: judged.filter(({ role }) => role === "lender").length,
    neither: judged.filter(({ role }) => role === "neither").length,
    "servers with recalls": verdicts.filter(isRecalled).length,
    "refill recalls": verdicts.reduce((sum, { recalls }) => sum + recalls.refill, 0),
    "demand recalls": verdicts.reduce((sum, { recalls }) => sum + recalls.demand, 0),
    "requests that only loans can serve, left out": verdicts.reduce(
      (sum, { leftOut }) => sum + leftOut,
      0,
    ),
    ...Object.fromEntries(wirings),
  };
}

function coverageLine(verdicts: readonly ServerVerdict[]): string {
  const parts = Object.entries(coverageOf(verdicts)).map(([name, count]) => `${name} ${count}`);
  return parts.join(", ");
}

function table(rows: readonly Row[]): string {
  const heading = ["server", "engine", "role", "bound", "ratio", "99 % interval", ""];
  const cells = rows.map(({ seed, engine, judgement }) => {
    const { bound, ratio, interval, isViolation } = judgement;
    return [
      String(seed),
      engine.name,
      engine.role,
      bound,
      ratio.toFixed(3),
      interval === null ? "" : `${interval.low.toFixed(3)} to ${interval.high.toFixed(3)}`,
      isViolation ? "BROKEN" : "",
    ];
  });
  const widths = heading.map((_, column) =>
    Math.max(...[heading, ...cells].map((row) => row[column]!.length)),
  );
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd();
  return [heading, ...cells].map(line).join("\n");
}
