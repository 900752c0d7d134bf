/**
 * How unequal the times per token of requests are: the slowest twentieth over the mean.
 *
 * Told of each request that ends, asked before every loan. A forecast gives the mean time of a
 * step; a target for time per token is kept by nearly all requests only when the mean stays below
 * it by as much as requests differ: short answers have a few long steps with prompts among few.
 *
 * Requests that were preempted are not told of: they say how short memory was, not how long steps
 * are.
 */

const KEPT_REQUESTS = 128;
/** Fewer say nothing of a twentieth. */
const REQUESTS_MIN = 40;
/** Taken before that; random servers show 1.1 (long answers) to 1.5 (short ones amid prompts). */
const SPREAD_PRIOR = 1.3;
const SPREAD_MAX = 2;
const QUANTILE = 0.95;

export class TokenTimes {
  /** The last requests' nanoseconds per token, in a ring. */
  readonly #tpotNs = new Float64Array(KEPT_REQUESTS);
  /** (count) the same, least first: each request that ends changes one place. */
  readonly #sortedNs = new Float64Array(KEPT_REQUESTS);
  #count = 0;
  #next = 0;
  #spread = SPREAD_PRIOR;
  #meanNs = 0;
  #isStale = false;

  /** A request has ended that took so long per token after its first. */
  observe(tpotNs: number): void {
    if (this.#count === KEPT_REQUESTS) this.#forget(this.#tpotNs[this.#next]!);
    this.#tpotNs[this.#next] = tpotNs;
    this.#next = (this.#next + 1) % KEPT_REQUESTS;
    let at = this.#count++;
    for (; at > 0 && this.#sortedNs[at - 1]! > tpotNs; at--) {
      this.#sortedNs[at] = this.#sortedNs[at - 1]!;
    }
    this.#sortedNs[at] = tpotNs;
    this.#isStale = true;
  }

  /** Nanoseconds that all but the slowest twentieth keep; 0 while too few have ended. */
  get slowNs(): number {
    return this.#count < REQUESTS_MIN ? 0 : this.spread * this.#meanNs;
  }

  /** @returns at least 1. */
  get spread(): number {
    if (this.#isStale && this.#count >= REQUESTS_MIN) this.#refresh();
    return this.#spread;
  }

  #forget(tpotNs: number): void {
    const at = this.#sortedNs.indexOf(tpotNs);
    this.#sortedNs.copyWithin(at, at + 1, this.#count--);
  }

  #refresh(): void {
    this.#isStale = false;
    const sorted = this.#sortedNs;
    let sum = 0;
    for (let at = 0; at < this.#count; at++) sum += sorted[at]!;
    const mean = sum / this.#count;
    this.#meanNs = mean;
    const slow = sorted[Math.ceil(QUANTILE * this.#count) - 1]!;
    this.#spread = mean > 0 ? Math.min(SPREAD_MAX, Math.max(1, slow / mean)) : SPREAD_PRIOR;
  }
}
