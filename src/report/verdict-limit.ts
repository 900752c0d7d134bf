/**
 * What keeps borrowing from helping more: memory that is not needed, compute, the link, the
 * lenders.
 *
 * Called by verdict.ts for its one sentence. It reads what `double` gained (is memory the limit at
 * all?) and why requests for slices were refused; it does not know how the verdict is worded.
 */

import type { Comparison, SystemComparison } from "./comparison.ts";
import type { EngineResult } from "./compare-schema.ts";

type Refusal = keyof EngineResult["refusals"];

const REFUSAL_TEXTS: Readonly<Record<Refusal, string>> = {
  "no-idle-memory": "nothing is idle to be borrowed",
  limit: "the borrow limit is reached",
  account: "loans cost more than they earn, since recalls come too often",
  role: "engines that are short of memory lend at the same time",
  link: "the link limits: more remote bytes a step than it carries",
  "lender-share": "the lender share limits: lenders run and may be read slowly only",
  "does-not-pay": "the link limits: remote KV would cost more time than a larger batch saves",
  slo: "the TPOT target limits: larger batches would miss it",
};

/** Twice the memory must gain this much before memory counts as what limits. */
const MEMORY_GAIN_MIN = 0.02;

/**
 * @param engine whose limit is asked for; `null` for the server's.
 * @returns a clause without a final stop, or `null` when nothing stands out.
 */
export function limitOf(
  system: SystemComparison,
  reference: SystemComparison,
  comparison: Comparison,
  engine: string | null,
): string | null {
  const names = engine === null ? Object.keys(system.engines) : [engine];
  const unbound = memoryText(names, reference, comparison);
  if (unbound !== null) return unbound;
  const refusal = dominantRefusal(names, system);
  if (refusal !== null) return REFUSAL_TEXTS[refusal];
  const isTouched = names.some((name) => system.engines[name]!.result.borrowedBytes.max > 0);
  if (isTouched) return engine === null ? "compute limits, not memory" : null;
  return isPressed(names, reference) ? null : "memory is not what limits: nobody asked for more";
}

/** Says that twice the memory would not help either, when that was run and is so. */
function memoryText(
  names: readonly string[],
  reference: SystemComparison,
  comparison: Comparison,
): string | null {
  const double = comparison.systems.find((system) => system.settings.base === "double");
  if (double === undefined) return null;
  let best: number | null = null;
  for (const name of names) {
    const versus = double.engines[name]?.versus;
    for (const value of [versus?.throughput ?? null, versus?.goodput ?? null]) {
      if (value !== null) best = Math.max(best ?? 0, value);
    }
  }
  if (best === null || best >= 1 + MEMORY_GAIN_MIN) return null;
  const gain = `twice the memory gives ${best.toFixed(2)}x`;
  return isPressed(names, reference)
    ? `compute limits, not memory (${gain})`
    : `memory is not what limits (${gain})`;
}

/** Whether engines ran out of memory or time on their own: preemptions, or most requests late. */
function isPressed(names: readonly string[], reference: SystemComparison): boolean {
  return names.some((name) => {
    const line = reference.engines[name]!;
    const good = line.result.goodputRequestsPerSecond;
    const finished = line.finishedPerSecond;
    const isLate = good !== null && finished !== null && good < finished / 2;
    return line.result.preemptions > 0 || isLate;
  });
}

function dominantRefusal(names: readonly string[], system: SystemComparison): Refusal | null {
  let best: Refusal | null = null;
  let most = 0;
  for (const reason of Object.keys(REFUSAL_TEXTS) as Refusal[]) {
    let count = 0;
    for (const name of names) count += system.engines[name]!.result.refusals[reason];
    if (count > most) {
      most = count;
      best = reason;
    }
  }
  return best;
}
