/**
 * How long engines and pool let each other wait: the same in every world.
 *
 * Read by whoever makes a pool and its engines, simulated or served.
 */

export const WAIT_TIMES = {
  /** A refill recall, which nobody waits for, may take as long to move data. */
  refillNs: 100e6,
  /** What a loan brought and cost counts for as long. */
  accountWindowNs: 60e9,
  /** The first in a queue that could not begin by then fails. */
  headTimeoutNs: 600e9,
  /** A sequence that others' steps leave out comes back by then. */
  parkedMaxNs: 500e6,
} as const;
