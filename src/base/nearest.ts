/**
 * "Did you mean": the known names closest to one that is unknown.
 *
 * Called by every reader that refuses a name (servers, GPUs, models, systems, scenario keys). The
 * distance is Levenshtein's, blind to case; a name that begins with what was typed counts as close
 * however long it is, because people leave suffixes out.
 */

import { distance } from "fastest-levenshtein";

const NEAREST_MAX = 3;

/** @returns at most three candidates, the closest first; empty when nothing is close. */
export function nearestNames(name: string, candidates: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  const tolerance = Math.max(2, Math.ceil(wanted.length * 0.4));
  const scored: { candidate: string; score: number }[] = [];
  for (const candidate of candidates) {
    const known = candidate.toLowerCase();
    const isPrefix = wanted.length > 1 && (known.startsWith(wanted) || wanted.startsWith(known));
    const score = isPrefix ? 0.5 : distance(wanted, known);
    if (score <= tolerance) scored.push({ candidate, score });
  }
  scored.sort((left, right) => left.score - right.score);
  return scored.slice(0, NEAREST_MAX).map((entry) => entry.candidate);
}

/** @returns `; did you mean x or y?`, or the whole list where nothing is close. */
export function suggestNames(name: string, candidates: readonly string[]): string {
  const near = nearestNames(name, candidates);
  return near.length > 0
    ? `; did you mean ${near.join(" or ")}?`
    : `; known: ${candidates.join(", ")}`;
}
