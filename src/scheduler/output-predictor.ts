/**
 * How many more tokens a sequence will generate, learnt from the requests that finished.
 *
 * Asked by admission. It never sees a running request's true length. The expectation is over all
 * finished outputs longer than what the sequence has generated (a residual life), so a sequence
 * that has outlived most is expected to go on for as long as such sequences did.
 *
 * Starts from a prior of eight geometric outputs with mean 256, so that the first admissions are
 * neither reckless nor timid; old outputs fade (halving every 4,096) so that a drift is followed.
 *
 * Invariant: every expectation is finite and at least one token.
 */

import { assert } from "../base/index.ts";

const BUCKET_TOKENS = 16;
const PRIOR_MEAN_TOKENS = 256;
const PRIOR_WEIGHT = 8;
const FADE_EVERY = 4096;

/** Weights by bucket of 16 tokens; what is expected is refreshed as outputs come in. */
export class OutputPredictor {
  readonly #weight: Float64Array;
  readonly #residualTokens: Float64Array;
  /** (buckets) sums of weights, and of weighted outputs, from a bucket up. */
  readonly #weightFrom: Float64Array;
  readonly #tokensFrom: Float64Array;
  /** The highest bucket whose weight has changed since the last refresh. */
  #changedMax: number;
  #seen = 0;
  #refreshAt = 1;

  /** @param outputTokensMax longer outputs count as that long. */
  constructor(outputTokensMax: number) {
    const buckets = Math.ceil((outputTokensMax + 1) / BUCKET_TOKENS) + 1;
    this.#weight = new Float64Array(buckets);
    this.#residualTokens = new Float64Array(buckets);
    this.#weightFrom = new Float64Array(buckets + 1);
    this.#tokensFrom = new Float64Array(buckets + 1);
    this.#changedMax = buckets - 1;
    const keep = 1 - BUCKET_TOKENS / PRIOR_MEAN_TOKENS;
    let mass = PRIOR_WEIGHT;
    for (let bucket = 0; bucket < buckets; bucket++) {
      const share = bucket === buckets - 1 ? mass : mass * (1 - keep);
      this.#weight[bucket] = share;
      mass -= share;
    }
    this.#refresh();
  }

  /** A request ended after so many output tokens. */
  observe(outputTokens: number): void {
    const bucket = Math.min(this.#weight.length - 1, Math.floor(outputTokens / BUCKET_TOKENS));
    this.#weight[bucket]!++;
    this.#changedMax = Math.max(this.#changedMax, bucket);
    this.#seen++;
    if (this.#seen % FADE_EVERY === 0) {
      this.#changedMax = this.#weight.length - 1;
      for (let at = 0; at < this.#weight.length; at++) this.#weight[at]! /= 2;
    }
    if (this.#seen >= this.#refreshAt) {
      this.#refresh();
      // Refreshing costs a pass over many buckets, so it is done ever more rarely: each 3 % more.
      this.#refreshAt = this.#seen + Math.max(1, Math.min(64, Math.floor(this.#seen / 32)));
    }
  }

  /** Expected further tokens of a sequence that has generated so many. At least one. */
  remainingTokens(generatedTokens: number): number {
    const bucket = Math.floor(generatedTokens / BUCKET_TOKENS);
    return this.#residualTokens[Math.min(bucket, this.#residualTokens.length - 1)]!;
  }

  check(): void {
    for (const [bucket, weight] of this.#weight.entries()) {
      const tokens = this.#residualTokens[bucket]!;
      const isSound = weight >= 0 && tokens >= 1 && Number.isFinite(tokens + weight);
      assert(isSound, () => `output predictor: bucket ${bucket}: weight ${weight}, ${tokens} more`);
    }
  }

  /** What lies above the longest output since the last time stands. */
  #refresh(): void {
    const from = this.#changedMax;
    this.#changedMax = -1;
    let weight = this.#weightFrom[from + 1]!;
    let tokens = this.#tokensFrom[from + 1]!;
    for (let bucket = from; bucket >= 0; bucket--) {
      weight += this.#weight[bucket]!;
      tokens += this.#weight[bucket]! * (bucket + 0.5) * BUCKET_TOKENS;
      this.#weightFrom[bucket] = weight;
      this.#tokensFrom[bucket] = tokens;
      const mean = weight > 0 ? tokens / weight : 0;
      this.#residualTokens[bucket] = Math.max(1, mean - (bucket + 0.5) * BUCKET_TOKENS);
    }
  }
}
