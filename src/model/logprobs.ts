/**
 * How likely a chosen token was, and which would have been likelier.
 *
 * Called by the engine in real time for requests that ask for it. Probabilities are those of the
 * model, before temperature and topP: what OpenAI's and vLLM's interfaces report by default.
 */

export interface LikelyToken {
  readonly id: number;
  /** Natural logarithm; at least LOGPROB_MIN. */
  readonly logprob: number;
}

/** Stands for anything less likely, which JSON has no number for; the interfaces above use it. */
export const LOGPROB_MIN = -9999;

/**
 * @param topCount how many of the likeliest to give
 * @returns the token's own, and the top: likeliest first, lower id first among equals
 */
export function logprobsOf(
  logits: Float32Array,
  id: number,
  topCount: number,
): LikelyToken & { readonly top: readonly LikelyToken[] } {
  const topIds = likeliestIds(logits, Math.max(1, topCount));
  const highest = logits[topIds[0]!]!;
  let total = 0;
  for (const logit of logits) if (!Number.isNaN(logit)) total += Math.exp(logit - highest);
  const logTotal = highest + Math.log(total);
  const of = (each: number): LikelyToken => {
    const logprob = logits[each]! - logTotal;
    return { id: each, logprob: logprob > LOGPROB_MIN ? logprob : LOGPROB_MIN };
  };
  return { ...of(id), top: topIds.slice(0, topCount).map(of) };
}

/** By insertion into a short list: `count` is 20 at most in the interfaces that ask. */
function likeliestIds(logits: Float32Array, count: number): number[] {
  const ids: number[] = [];
  let least = -Infinity;
  for (let id = 0; id < logits.length; id++) {
    const logit = Number.isNaN(logits[id]!) ? -Infinity : logits[id]!;
    if (ids.length === count && logit <= least) continue;
    let rank = ids.length;
    while (rank > 0 && valueOf(logits, ids[rank - 1]!) < logit) rank--;
    ids.splice(rank, 0, id);
    if (ids.length > count) ids.pop();
    least = valueOf(logits, ids.at(-1)!);
  }
  return ids;
}

function valueOf(logits: Float32Array, id: number): number {
  const logit = logits[id]!;
  return Number.isNaN(logit) ? -Infinity : logit;
}
