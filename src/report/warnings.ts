/**
 * When a comparison says less than it seems to: nothing was borrowed, nothing recalled, lenders
 * idle.
 *
 * Called by compare.ts after the seeds are put together. The thresholds are the contract's. Only
 * systems that lend are looked at.
 */

import type { Comparison, SystemComparison } from "./comparison.ts";

/** Below this share of time in steps a lender costs nobody anything and proves nothing. */
const RUNNING_SHARE_MIN = 0.05;
/** Borrowing under this share of its cap hardly moved any memory. */
const CAP_SHARE_MIN = 0.1;

/** One clear line each; empty when the comparison exercised what it compares. */
export function warningsOf(comparison: Comparison): string[] {
  const elastic = comparison.systems.filter((system) => system.settings.base === "ema");
  if (elastic.length === 0) {
    return ["no borrowing was exercised: none of the systems compared lends memory"];
  }
  return elastic.flatMap((system) => systemWarnings(system));
}

function systemWarnings(system: SystemComparison): string[] {
  const name = system.settings.name;
  const warnings: string[] = [];
  const lines = Object.values(system.engines);
  const borrowers = lines.filter((line) => line.result.borrowedBytes.max > 0);
  if (borrowers.length === 0) warnings.push(`${name}: no borrowing was exercised`);
  const { refill, demand } = system.recalls;
  if (refill.count + demand.count === 0) warnings.push(`${name}: no recall was exercised`);

  const lenders = lines.filter((line) => line.result.lentBytes.max > 0);
  if (lenders.length > 0) {
    const share = lenders.reduce((sum, line) => sum + line.runningShare, 0) / lenders.length;
    if (share < RUNNING_SHARE_MIN) {
      warnings.push(
        `${name}: lenders ran steps ${percent(share)} of the time (less than 5 %), ` +
          `so what lending costs them was hardly exercised`,
      );
    }
  }
  const capShare = largestCapShare(system);
  if (borrowers.length > 0 && capShare !== null && capShare < CAP_SHARE_MIN) {
    warnings.push(
      `${name}: borrowed bytes stayed at ${percent(capShare)} of the cap (under 10 %), ` +
        `so memory was hardly moved`,
    );
  }
  return warnings;
}

/** The largest of any capped borrower's own; `null` when no borrower is capped. */
function largestCapShare(system: SystemComparison): number | null {
  let largest: number | null = null;
  for (const [engine, line] of Object.entries(system.engines)) {
    const borrowedBytes = line.result.borrowedBytes.max;
    const limitBytes = system.capacities[engine]?.borrowLimitBytes ?? null;
    if (borrowedBytes === 0) continue;
    // Without a cap there is nothing to be under; a cap of zero lets nobody borrow.
    if (limitBytes === null || limitBytes === 0) return null;
    largest = Math.max(largest ?? 0, borrowedBytes / limitBytes);
  }
  return largest;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
