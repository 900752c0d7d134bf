/**
 * What is said in turn: the unit that dialogues are put together from.
 *
 * Called by every kind of talk and by dialogue.ts. `typed` makes questions look as people type
 * them, because a model that has only seen neat ones answers only neat ones.
 */

import type { Prng } from "../../../src/base/prng.ts";
import { chance, pick, type Slots, write } from "./template.ts";

/** One question and its answer. */
export interface Exchange {
  readonly user: string;
  readonly assistant: string;
}

/** Makes a few exchanges that belong together. */
export type Talk = (prng: Prng) => Exchange[];

const COMMON_START =
  /^(?:What|Which|Who|Whose|Where|When|Why|How|Tell|Count|Write|Name|Give|Say|Can|Do|Is|Remember) /;

/** A question as typed: sometimes without capitals, without its mark, or with a word before it. */
export function typed(prng: Prng, text: string): string {
  let result = text;
  if (chance(prng, 0.08))
    result = `${pick(prng, ["Please", "Hey,", "Ok,", "So,", "And"])} ${lower(text)}`;
  if (chance(prng, 0.08))
    result = result.replace(/[.!?]$/, pick(prng, [" please", ", please", " now"]));
  if (chance(prng, 0.12)) result = result.replace(/[.!?]$/, "");
  if (chance(prng, 0.12)) result = result.toLowerCase();
  return result;
}

/** One exchange from two templates that share their slots. */
export function exchange(prng: Prng, user: string, assistant: string, slots: Slots = {}): Exchange {
  return {
    user: typed(prng, write(prng, user, slots)),
    assistant: write(prng, assistant, slots),
  };
}

/** The first letter small where a common word begins the text, so that names keep theirs. */
function lower(text: string): string {
  return COMMON_START.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text;
}
