/**
 * What capacities mean in one sentence, and what to beware of.
 *
 * Called by capacity.ts. It looks at requests a second within the SLO over `static`; like the
 * verdict of a comparison it never lets `double` win, which nobody can switch on.
 */

import type { CapacityJson, SystemCapacity } from "./capacity-schema.ts";
import { significant } from "./figures.ts";

export interface CapacityFacts {
  readonly engine: string;
  readonly slo: CapacityJson["slo"];
  readonly capacity: CapacityJson["capacity"];
}

/** Both capacities are known to within the tolerance of the search: less is no difference. */
const GAIN_MIN = 1.02;
/** Other engines that keep this much of their goodput are not harmed. */
const OTHERS_KEEP_MIN = 0.98;
/** A p99 of fewer requests rests on a single one. */
const REQUESTS_MIN = 200;

/** @param reference the system that ratios are of; `null` when none was run. */
export function capacityVerdict(
  facts: CapacityFacts,
  reference: string | null,
): CapacityJson["verdict"] {
  if (reference === null) {
    return { text: "No verdict: static was not among the systems compared.", winner: null };
  }
  const elastic = Object.entries(facts.capacity).filter(([, own]) => own.base === "ema");
  if (elastic.length === 0) {
    const text = "No verdict on elastic memory: no system that lends was among those compared.";
    return { text, winner: reference };
  }
  const rate = (own: SystemCapacity): number => own.requestsPerSecond ?? 0;
  const [name, best] = elastic.reduce((left, right) =>
    rate(right[1]) > rate(left[1]) ? right : left,
  );
  const base = facts.capacity[reference]!;
  const { engine } = facts;
  if (best.requestsPerSecond === null) {
    const text = `No: with ${name}, ${engine} meets the SLO at no rate that was tried.`;
    return { text, winner: reference };
  }
  if (best.versusStatic === null) {
    const served = `${significant(best.requestsPerSecond)} requests/s`;
    const gain = `with ${name}, ${engine} serves ${served} within the SLO`;
    const text = `Yes: ${gain}, with ${reference} none.`;
    return { text, winner: name };
  }
  const gain = gainText(name, best, base, facts, reference);
  if (best.versusStatic < GAIN_MIN) return { text: `No: ${gain}.`, winner: reference };
  const kept = othersKeep(best, base);
  if (kept !== null && kept < OTHERS_KEEP_MIN) {
    const others = `the other engines finish ${kept.toFixed(2)} times theirs`;
    return { text: `Partly: ${gain}, but ${others}.`, winner: name };
  }
  return { text: `Yes: ${gain}.`, winner: name };
}

function gainText(
  name: string,
  best: SystemCapacity,
  base: SystemCapacity,
  facts: CapacityFacts,
  reference: string,
): string {
  const { slo, engine } = facts;
  const least = best.isBracketed ? "" : "at least ";
  const ratio = `${least}${best.versusStatic!.toFixed(2)} times`;
  const goals = `p99 TTFT ${slo.ttftSeconds} s, p99 TPOT ${slo.tpotSeconds} s`;
  const rates =
    `${significant(best.requestsPerSecond)} against ` +
    `${significant(base.requestsPerSecond)} requests/s`;
  const double = Object.values(facts.capacity).find((own) => own.base === "double");
  const share = (best.requestsPerSecond ?? 0) / (double?.requestsPerSecond ?? 0);
  const ofDouble = Number.isFinite(share)
    ? `, ${share.toFixed(2)} of what double its memory would give`
    : "";
  return (
    `with ${name}, ${engine} serves ${ratio} the requests within the SLO (${goals}) of ` +
    `${reference}: ${rates}${ofDouble}`
  );
}

/** Share of their goodput that the other engines keep; `null` where they had none. */
function othersKeep(best: SystemCapacity, base: SystemCapacity): number | null {
  const before = base.othersGoodputRequestsPerSecond;
  const after = best.othersGoodputRequestsPerSecond;
  return before === null || after === null || before === 0 ? null : after / before;
}

export function capacityWarnings({ capacity }: CapacityFacts): string[] {
  const warnings: string[] = [];
  for (const [name, own] of Object.entries(capacity)) {
    if (own.requestsPerSecond === null) {
      warnings.push(`${name} meets the SLO at none of ${own.rates} rates tried`);
    } else if (!own.isBracketed) {
      warnings.push(`${name} meets the SLO at all of ${own.rates} rates tried: it serves more`);
    } else if (own.finished !== null && own.finished < REQUESTS_MIN) {
      const count = Math.round(own.finished);
      warnings.push(`the p99 of ${name} rests on ${count} requests: more seconds would tell`);
    }
  }
  return warnings;
}
