/**
 * How long something must have lasted before an engine changes what it is to others.
 *
 * Read by the borrow controller. An engine is lender or borrower, not both; docs/adr/0005 tells why
 * roles change slowly, and docs/EXPERIMENTS.md what other times did.
 */

import { NS_PER_SECOND } from "../base/index.ts";

export interface RoleTimes {
  /**
   * An engine that has lent does not borrow for so long: with its own memory back its users see
   * what they saw without lending, while loans would trade their time per token for shorter queues.
   */
  readonly lentQuietNs: number;
  /**
   * A shortage must have lasted so long. Ten seconds cost all that loans give to the rate at which
   * first tokens come in time, and one second doubles the TTFT p95 of an engine that is short now
   * and then. Lenders are kept from trading by the time above.
   */
  readonly shortageNs: number;
  /** Empty borrowed slices are kept for so long after memory was last short. */
  readonly keepEmptyNs: number;
}

export const ROLE_TIMES: RoleTimes = {
  lentQuietNs: 120 * NS_PER_SECOND,
  shortageNs: 0,
  keepEmptyNs: 1 * NS_PER_SECOND,
};
