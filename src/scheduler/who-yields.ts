/**
 * Which sequence gives way when memory is short: the youngest, unless that one is dear.
 *
 * Asked by the scheduler for a decode that finds no block, and when nothing can go on. Who came
 * last waits first (vLLM's rule); but a prompt of thousands of tokens is seconds of work, and one
 * block is not worth them while somebody else costs a small part of that to compute again.
 *
 * Invariant: the same sequences give the same answer.
 */

import type { Sequences } from "./sequences.ts";

/** Computed tokens from which on a sequence is dear: a whole step of prompt. */
const DEAR_TOKENS = 2048;
/** Somebody else gives way who costs at most this part. */
const CHEAP_PART = 1 / 4;

/**
 * @param from position in the order of age from which on sequences may be asked.
 * @returns the row that gives way.
 */
export function whoYields(sequences: Sequences, from: number): number {
  const { order, count, computedTokens } = sequences;
  const youngest = order[count - 1]!;
  const tokens = computedTokens[youngest]!;
  if (tokens < DEAR_TOKENS) return youngest;
  for (let position = count - 2; position >= from; position--) {
    const row = order[position]!;
    if (computedTokens[row]! <= CHEAP_PART * tokens) return row;
  }
  return youngest;
}
