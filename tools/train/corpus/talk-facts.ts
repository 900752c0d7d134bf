/**
 * Facts that hold everywhere: colours, sounds, opposites, capitals, days; and what is unknown.
 *
 * Called by dialogue.ts. Each fact has several questions, and each question several ways to be
 * typed; what the model cannot know it is taught to say.
 */

import { exchange, type Talk } from "./exchange.ts";
import { readSections, sides } from "./sections.ts";
import { chance, inList, pick, pickSome, withArticle, write } from "./template.ts";
import {
  ANIMALS,
  COLOURS,
  DAYS,
  FOODS,
  inventedWord,
  MONTHS,
  NUMBERS,
  PEOPLE,
  SEASONS,
  THINGS,
} from "./words.ts";

/** Rows of words for one question and one answer, `$0` and `$1` being the columns. */
interface FactTable {
  readonly asked: string;
  readonly answered: string;
  readonly rows: readonly (readonly string[])[];
}

const TABLES: readonly FactTable[] = readSections("facts.txt").map(({ title, lines }) => {
  const [asked, answered] = sides(title);
  return { asked, answered, rows: lines.map((line) => line.split(" : ")) };
});

export const fact: Talk = (prng) => {
  const count = 1 + prng.nextBelow(3);
  const table = pick(prng, TABLES);
  return pickSome(prng, table.rows, count).map(([subject, value]) => {
    const slots = { 0: subject!, 1: value! };
    return exchange(prng, table.asked, table.answered, slots);
  });
};

const CATEGORIES: readonly (readonly [string, readonly string[]])[] = [
  ["animals", ANIMALS],
  ["colours", COLOURS],
  ["foods", FOODS],
  ["names", PEOPLE.map(({ name }) => name)],
  ["things", THINGS],
  ["seasons", SEASONS],
  ["days", DAYS],
  ["months", MONTHS],
];

/** "Name three animals." */
export const lists: Talk = (prng) => {
  const [kind, words] = pick(prng, CATEGORIES);
  const count = 2 + prng.nextBelow(Math.min(4, words.length - 2));
  const needsArticle = kind === "animals" || kind === "things" || kind === "foods";
  const chosen = pickSome(prng, words, count);
  const list = inList(needsArticle ? chosen.map((word) => withArticle(word)) : chosen);
  const slots = { kind, count: NUMBERS[count]!, list };
  return [exchange(prng, "{name|tell me|give me|list|say} $count $kind.", "$list.", slots)];
};

/** What follows and what goes before in days, months and seasons. */
export const calendar: Talk = (prng) => {
  const cycle = pick(prng, [DAYS, DAYS, MONTHS, SEASONS]);
  if (chance(prng, 0.2)) {
    const kind = cycle === DAYS ? "days of the week" : cycle === MONTHS ? "months" : "seasons";
    const asked = `{name|what are|list|tell me} {the|all} ${kind}?`;
    const last = cycle.length - 1;
    const list = `${cycle.slice(0, last).join(", ")} and ${cycle[last]}`;
    return [exchange(prng, asked, "The $kind are $list.", { kind, list })];
  }
  const index = prng.nextBelow(cycle.length);
  const isAfter = chance(prng, 0.6);
  const other = cycle[(index + (isAfter ? 1 : cycle.length - 1)) % cycle.length]!;
  const kind = cycle === DAYS ? "day" : cycle === MONTHS ? "month" : "season";
  const side = isAfter ? "after" : "before";
  const slots = { kind, side, given: cycle[index]!, other };
  return [
    exchange(
      prng,
      "{what|which} $kind {comes|is} $side $given?",
      "$other comes $side $given.",
      slots,
    ),
  ];
};

const FAR_WORDS = ["quantum", "physics", "politics", "the stock market", "Python", "JavaScript"];
const FARTHER = ["philosophy", "football", "chemistry", "Rome in the year 100", "taxes", "music"];

/** Questions beyond this model, answered by saying so. */
export const unknown: Talk = (prng) => {
  const subject = chance(prng, 0.5) ? inventedWord(prng) : pick(prng, [...FAR_WORDS, ...FARTHER]);
  const asked =
    "{what is $subject|explain $subject|explain $subject to me|how does $subject work|who is " +
    "$subject|tell me about $subject|write a program in $subject|what do you think of $subject|" +
    "where is $subject|who invented $subject|what is the best $subject|how do I learn $subject|" +
    "translate $subject|can you do $subject|write an essay about $subject|define $subject}" +
    "{?|.|}";
  const answered =
    "{I do not know that.|I do not know much about that.|That is too hard for me.} I am a very " +
    "small model. {Ask me for a story, or about colours, animals and numbers.|Shall I tell you a " +
    "story?|Ask me something simple.}";
  return [exchange(prng, asked, answered, { subject: write(prng, subject) })];
};
