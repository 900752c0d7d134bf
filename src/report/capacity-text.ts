/**
 * Capacities as a table and a verdict for people in a terminal.
 *
 * Called by the command. It computes nothing; the verdict comes last, since it is what stays on the
 * screen.
 */

import type { CapacityJson, SystemCapacity } from "./capacity-schema.ts";
import { milliseconds, NOTHING, significant } from "./figures.ts";
import type { Paint } from "./paint.ts";

interface Column {
  readonly title: string;
  readonly isLeft?: boolean;
  of(name: string, own: SystemCapacity, json: CapacityJson): string;
}

const COLUMNS: readonly Column[] = [
  { title: "system", isLeft: true, of: (name) => name },
  {
    title: "requests/s",
    of: (_, own) => {
      const isOpen = own.requestsPerSecond !== null && !own.isBracketed;
      return `${isOpen ? ">= " : ""}${significant(own.requestsPerSecond)}`;
    },
  },
  { title: "tokens/s", of: (_, own) => significant(own.outputTokensPerSecond) },
  { title: "x static", of: (_, own) => own.versusStatic?.toFixed(2) ?? NOTHING },
  { title: "TTFT p99 s", of: (_, own) => significant(own.ttftP99Seconds) },
  { title: "TPOT p99 ms", of: (_, own) => milliseconds(own.tpotP99Seconds) },
  { title: "then misses", of: (_, own, json) => missed(own, json) },
  { title: "others' goodput/s", of: (_, own) => significant(own.othersGoodputRequestsPerSecond) },
  { title: "admission", isLeft: true, of: (_, own) => own.admission ?? NOTHING },
];

/** @returns text with a final newline. */
export function capacityText(json: CapacityJson, paint: Paint): string {
  const rows = Object.entries(json.capacity).map(([name, own]) =>
    COLUMNS.map((column) => column.of(name, own, json)),
  );
  const widths = COLUMNS.map((column, index) =>
    Math.max(column.title.length, ...rows.map((row) => row[index]!.length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) =>
        COLUMNS[index]!.isLeft === true
          ? cell.padEnd(widths[index]!)
          : cell.padStart(widths[index]!),
      )
      .join("  ")
      .trimEnd();
  const heads = line(COLUMNS.map(({ title }) => title));
  const { ttftSeconds, tpotSeconds } = json.slo;
  const seeds = json.seeds.length === 1 ? `seed ${json.seeds[0]}` : `${json.seeds.length} seeds`;
  const tolerance = `${(json.tolerance * 100).toFixed(0)} %`;
  const lines = [
    paint.bold(`${json.scenario}: how much ${json.engine} serves within the SLO, ${seeds}`),
    `The highest ${json.scaledKey} with p99 TTFT <= ${ttftSeconds} s and p99 TPOT <= ` +
      `${tpotSeconds} s, to within ${tolerance}; other engines as they are`,
    "",
    heads,
    paint.dim("-".repeat(heads.length)),
    ...rows.map(line),
    "",
    ...json.warnings.map((warning) => paint.warning(`Warning: ${warning}.`)),
    ...(json.warnings.length > 0 ? [""] : []),
    paint.bold(json.verdict.text),
  ];
  return `${lines.join("\n")}\n`;
}

/** Which objective the next higher rate misses. */
function missed({ beyond }: SystemCapacity, { slo }: CapacityJson): string {
  if (beyond === null) return NOTHING;
  const isTtft = beyond.ttftP99Seconds === null || beyond.ttftP99Seconds > slo.ttftSeconds;
  const isTpot = beyond.tpotP99Seconds !== null && beyond.tpotP99Seconds > slo.tpotSeconds;
  if (isTtft && isTpot) return "both";
  return isTpot ? "TPOT" : "TTFT";
}
