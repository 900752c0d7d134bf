/**
 * Log probabilities of a token and of the likeliest ones beside it.
 *
 * Called where logits are, for requests that ask for them. They are those of the model, before
 * temperature and nucleus, as vLLM reports them by default.
 */

import type { TokenLogprob } from "./generation.ts";

/** @param topCount how many of the likeliest to list; equal ones in the order of their ids */
export function tokenLogprob(logits: Float32Array, id: number, topCount: number): TokenLogprob {
  let highest = -Infinity;
  for (const logit of logits) highest = Math.max(highest, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  const logSum = highest + Math.log(sum);
  const top = likeliestIds(logits, topCount);
  return {
    id,
    logprob: logits[id]! - logSum,
    top: top.map((other) => ({ id: other, logprob: logits[other]! - logSum })),
  };
}

/** A short sorted list is kept while the logits go by: topCount is small. */
function likeliestIds(logits: Float32Array, topCount: number): number[] {
  const ids: number[] = [];
  if (topCount === 0) return ids;
  for (let id = 0; id < logits.length; id++) {
    if (ids.length === topCount && logits[id]! <= logits[ids[topCount - 1]!]!) continue;
    if (ids.length === topCount) ids.pop();
    let at = ids.length;
    while (at > 0 && logits[ids[at - 1]!]! < logits[id]!) at--;
    ids.splice(at, 0, id);
  }
  return ids;
}
