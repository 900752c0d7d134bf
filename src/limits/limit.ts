/**
 * What the closed form answers with: one borrower's limit, and what stands in its way.
 *
 * Made by ideal-limit.ts and practical-limit.ts, shown by the command line. A ratio whose divisor
 * is missing is `null`, never NaN.
 */

/**
 * The resource of which a little more would raise the ratio to static the most: what limits
 * borrowing, not what limits the engine, whose static self gets the same compute and batch.
 * `max-sequences` is the engine's own bound on its batch. Where more of nothing would raise the
 * ratio, `compute` or `hbm` says what a step of the engine waits for.
 */
export type LimitedBy = "link" | "memory" | "compute" | "lender-share" | "max-sequences" | "hbm";

/** A system that borrows nothing. */
export interface LocalPoint {
  readonly tokensPerSecond: number;
  readonly stepSeconds: number;
  readonly sequences: number;
}

export interface Limit {
  /** The GPU with its own KV memory alone. */
  readonly static: LocalPoint;
  /** The same GPU with twice the KV memory: same weights, compute and bandwidth. */
  readonly double: LocalPoint;
  readonly tokensPerSecond: number;
  readonly stepSeconds: number;
  /** Means over time where lenders come and go. */
  readonly sequences: number;
  readonly remoteBytes: number;
  readonly stagedBytes: number;
  readonly directBytes: number;
  /** Own KV memory that the staging ring takes. */
  readonly ringBytes: number;
  readonly ratioToStatic: number;
  readonly ratioToDouble: number;
  readonly limitedBy: LimitedBy;
  /**
   * Step times over those of the same steps with all KV local, less one; below 0 where reading over
   * the link while the HBM is read adds bandwidth.
   */
  readonly remoteSlowdown: number | null;
  /** 1 - time waited for the link / time the link was busy. */
  readonly hiddenShare: number | null;
}

/** How many times the present amount of each resource there is, to ask what limits. */
export interface Boost {
  readonly link: number;
  readonly memory: number;
  readonly compute: number;
  readonly lenderShare: number;
  readonly sequencesMax: number;
}

export const NO_BOOST: Boost = { link: 1, memory: 1, compute: 1, lenderShare: 1, sequencesMax: 1 };

/** One twentieth more: beyond rounding to slices, and still a small change. */
const MORE = 1.05;
/** Gains below a tenth of a percent are rounding. */
const GAIN_MIN = 1e-3;

/**
 * @param ratioToStatic with the boost given to both; called once a resource and once with none.
 * @param otherwise what is said when no boost raises it.
 * @returns the resource whose boost raises it the most.
 */
export function limitingResource(
  ratioToStatic: (boost: Boost) => number,
  otherwise: LimitedBy,
): LimitedBy {
  const candidates: readonly (readonly [LimitedBy, Partial<Boost>])[] = [
    ["memory", { memory: MORE }],
    ["link", { link: MORE }],
    ["lender-share", { lenderShare: MORE }],
    ["compute", { compute: MORE }],
    ["max-sequences", { sequencesMax: MORE }],
  ];
  let limitedBy = otherwise;
  let best = ratioToStatic(NO_BOOST) * (1 + GAIN_MIN);
  for (const [name, boost] of candidates) {
    const gained = ratioToStatic({ ...NO_BOOST, ...boost });
    if (gained > best) {
      best = gained;
      limitedBy = name;
    }
  }
  return limitedBy;
}
