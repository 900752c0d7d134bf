/**
 * Sentences with choices: "{One day|Once}, $hero went to the $place."
 *
 * Called by every part of the corpus. Braces hold alternatives and may be nested, `$name` is filled
 * from slots, and what begins a sentence is capitalised afterwards, so that slots are written as
 * they stand in the middle of one.
 */

import { assert } from "../../../src/base/assert.ts";
import type { Prng } from "../../../src/base/prng.ts";

/** What `$name` stands for. */
export type Slots = Readonly<Record<string, string>>;

export function pick<T>(prng: Prng, items: readonly T[]): T {
  assert(items.length > 0, "nothing to pick from");
  return items[prng.nextBelow(items.length)]!;
}

/** `count` different items in random order. */
export function pickSome<T>(prng: Prng, items: readonly T[], count: number): T[] {
  const left = [...items];
  const chosen: T[] = [];
  while (chosen.length < count && left.length > 0) {
    chosen.push(left.splice(prng.nextBelow(left.length), 1)[0]!);
  }
  return chosen;
}

export function chance(prng: Prng, probability: number): boolean {
  return prng.nextUnit() < probability;
}

/** Makes every choice of a template and fills its slots. */
export function write(prng: Prng, template: string, slots: Slots = {}): string {
  let text = template;
  for (;;) {
    // The innermost braces first: what is left then holds none of its own.
    const next = text.replace(/\{([^{}]*)\}/, (_, inner: string) => pick(prng, inner.split("|")));
    if (next === text) break;
    text = next;
  }
  text = text.replace(/\$(\w+)/g, (_, name: string) => {
    assert(slots[name] !== undefined, () => `no slot ${name} in: ${template}`);
    return slots[name]!;
  });
  text = text.replace(/ {2,}/g, " ").replace(/\b([Aa]) (?=[aeiou])(?!one\b)/g, "$1n ");
  return capitalise(text.trim());
}

/** Capital letters at the start, after the end of a sentence and behind an opening quote. */
export function capitalise(text: string): string {
  return text.replace(
    /(^["']?|[.!?] "?|\." "?|, "|\n"?)([a-z])/g,
    (_, before: string, letter: string) => {
      return before + letter.toUpperCase();
    },
  );
}

/** "an apple", "a ball". */
export function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

/** "a cat, a dog and a hen". */
export function inList(items: readonly string[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}
