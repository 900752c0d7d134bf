/**
 * Chooses the next token from logits: the likeliest, or a draw that depends on nothing but the
 * request's seed and the position.
 *
 * Pure functions, called by the engine in real time for each sequence of a step. A draw has no
 * state, so that a sequence continues with the same tokens in any batch, after a preemption and
 * after its KV was lost and computed again.
 *
 * Order of operations, as OpenAI's and vLLM's parameters mean it: logits / temperature, softmax,
 * then the least set of likeliest tokens whose probabilities reach topP, then one draw from it.
 */

import { drawUnit } from "./counter-draw.ts";

export interface SamplingSettings {
  /** 0: the likeliest token. */
  readonly temperature: number;
  /** In (0, 1]. */
  readonly topP: number;
  /** An integer; below 2^53 in size. */
  readonly seed: number;
}

/** @returns the token with the greatest logit, the lowest id among equals; NaN is never greatest */
export function likeliest(logits: Float32Array): number {
  let best = 0;
  let highest = -Infinity;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
    if (logit > highest) {
      highest = logit;
      best = id;
    }
  }
  return best;
}

/** @param position of the token that is chosen, from 0 at the begin of the sequence */
export function chooseToken(
  logits: Float32Array,
  settings: SamplingSettings,
  position: number,
): number {
  const best = likeliest(logits);
  if (settings.temperature <= 0 || settings.topP <= 0) return best;
  const shares = sharesOf(logits, logits[best]!, settings.temperature);
  const ids = settings.topP < 1 ? nucleus(logits, shares, settings.topP) : null;
  const total = ids === null ? sum(shares) : ids.reduce((acc, id) => acc + shares[id]!, 0);
  const goal = drawUnit(settings.seed, position) * total;
  let reached = 0;
  for (let rank = 0; rank < (ids ?? shares).length; rank++) {
    const id = ids === null ? rank : ids[rank]!;
    reached += shares[id]!;
    if (reached > goal) return id;
  }
  // Rounding may leave the last bit of the sum out of reach; no finite logit leaves all of it.
  return best;
}

/** (vocab) exp((logit - highest) / temperature); what is not a number has no share. */
function sharesOf(logits: Float32Array, highest: number, temperature: number): Float64Array {
  const shares = new Float64Array(logits.length);
  for (let id = 0; id < logits.length; id++) {
    const share = Math.exp((logits[id]! - highest) / temperature);
    shares[id] = Number.isNaN(share) ? 0 : share;
  }
  return shares;
}

/** @returns the ids of the nucleus, likeliest first, lower id first among equals */
function nucleus(logits: Float32Array, shares: Float64Array, topP: number): number[] {
  const goal = topP * sum(shares);
  // All tokens below the cut together hold less than what lies outside of the nucleus, so none of
  // them is in it: a vocabulary of 100,000 need not be sorted.
  const cut = ((1 - topP) * sum(shares)) / shares.length;
  const ids: number[] = [];
  for (let id = 0; id < shares.length; id++) if (shares[id]! >= cut) ids.push(id);
  // By logit: shares of unlike logits may have been rounded to the same number.
  ids.sort((a, b) => logits[b]! - logits[a]! || a - b);
  let reached = 0;
  for (let rank = 0; rank < ids.length; rank++) {
    reached += shares[ids[rank]!]!;
    if (reached >= goal) return ids.slice(0, rank + 1);
  }
  return ids;
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
