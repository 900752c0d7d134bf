/**
 * Placement by its definition: sort the lenders anew for every slice.
 *
 * Oracle of the pool's model; shares no code with src/pool/placement.ts.
 */

export interface NaiveLender {
  readonly idle: number;
  readonly lent: number;
  readonly path: number;
  readonly isRunning: boolean;
  readonly isBlocked: boolean;
}

/** One slice at a time to the best lender: not running, then fast, then least lent, then first. */
export function naivePlacement(
  count: number,
  lenders: readonly NaiveLender[],
  allowRunning: boolean,
): number[] {
  const grants = lenders.map(() => 0);
  for (let placed = 0; placed < count; placed++) {
    const [best] = lenders
      .map((lender, index) => ({ lender, index, granted: grants[index]! }))
      .filter(({ lender, granted }) => granted < lender.idle && isSound(lender))
      .filter(({ lender }) => allowRunning || !lender.isRunning)
      .map(({ lender, index, granted }) => ({
        index,
        key: [Number(lender.isRunning), -lender.path, lender.lent + granted, index],
      }))
      .sort((a, b) => a.key.map((part, at) => part - b.key[at]!).find((part) => part !== 0) ?? 0);
    if (best === undefined) break;
    grants[best.index]!++;
  }
  return grants;
}

/** What keeps the rest from being granted. */
export function naiveShortage(lenders: readonly NaiveLender[], grants: readonly number[]): string {
  const idle = lenders.filter((lender, index) => lender.idle > grants[index]!);
  if (idle.length === 0) return "no-idle-memory";
  if (idle.every((lender) => lender.path === 0)) return "link";
  return idle.some(isSound) ? "lender-share" : "account";
}

function isSound(lender: NaiveLender): boolean {
  return lender.path > 0 && !lender.isBlocked;
}
