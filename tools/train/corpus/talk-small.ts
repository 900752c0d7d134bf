/**
 * Small talk: greetings, moods, names, jokes, poems, and what the model is.
 *
 * Called by dialogue.ts. All of it is written for this corpus.
 */

import type { Prng } from "../../../src/base/prng.ts";
import { type Exchange, exchange, type Talk } from "./exchange.ts";
import { readSections, sectionLines, sides } from "./sections.ts";
import { capitalise, chance, pick, pickSome, write } from "./template.ts";
import { ANIMALS, COLOURS, FOODS, inventedWord, OTHER_NAMES, PEOPLE } from "./words.ts";

type Pair = readonly [user: string, assistant: string];

const SECTIONS = readSections("small-talk.txt");
const pairs = (title: string): Pair[] => sectionLines(SECTIONS, title).map(sides);

const GREETINGS = pairs("greetings");
const FAREWELLS = pairs("farewells");
const MOODS = pairs("moods");
const SELF = pairs("self");
const JOKES = sectionLines(SECTIONS, "jokes");
/** Poems by what they are about; a slash ends a line. */
const POEMS = new Map(
  pairs("poems").map(([subject, lines]) => [subject, lines.replaceAll(" / ", "\n")]),
);

export const greeting: Talk = (prng) => [fromPairs(prng, GREETINGS)];
export const farewell: Talk = (prng) => [fromPairs(prng, FAREWELLS)];
export const mood: Talk = (prng) => [fromPairs(prng, MOODS)];
/** What follows an offer that is not taken. */
export const refusal: Talk = (prng) => [fromPairs(prng, pairs("no"))];
export const self: Talk = (prng) =>
  pickSome(prng, SELF, 1 + prng.nextBelow(2)).map((pair) => exchange(prng, ...pair));

export const joke: Talk = (prng) => {
  const asked = "{tell me a joke|do you know a joke|make me laugh|tell a joke|a joke}{.|!|?|}";
  return [exchange(prng, asked, pick(prng, JOKES))];
};

export const poem: Talk = (prng) => {
  const subject = pick(prng, [...POEMS.keys()]);
  const asked = chance(prng, 0.7)
    ? "{write|tell me|say|give me|make|write me} a {poem|short poem|little poem} about $subject."
    : "{write|tell me|say|give me|write me} a {poem|short poem|little poem}.";
  return [exchange(prng, asked, POEMS.get(subject)!, { subject })];
};

/** A name that is told and asked for later, maybe with something else between. */
export const names: Talk = (prng) => {
  const name = chance(prng, 0.5) ? pick(prng, PEOPLE).name : strangerName(prng);
  const talk = [
    exchange(
      prng,
      "{my name is $name|I am $name|call me $name|hello, I am $name|hi, my name is $name}.",
      "{Nice to meet you|Hello|Hi}, $name!{ What shall we talk about?| How are you today?|}",
      { name },
    ),
  ];
  if (chance(prng, 0.4)) talk.push(...pick(prng, [greeting, joke, mood, likes])(prng));
  talk.push(
    exchange(
      prng,
      "{what is my name|who am I|do you know my name|do you remember my name}?",
      "Your name is $name.",
      { name },
    ),
  );
  return talk;
};

function strangerName(prng: Prng): string {
  return chance(prng, 0.7) ? pick(prng, OTHER_NAMES) : capitalise(inventedWord(prng));
}

/** Something liked that is asked for later. */
export const likes: Talk = (prng) => {
  const kind = pick(prng, ["animal", "colour", "food"]);
  const words = kind === "animal" ? ANIMALS : kind === "colour" ? COLOURS : FOODS;
  const word = pick(prng, words);
  const slots = { kind, word };
  const talk = [
    exchange(
      prng,
      "{my favourite $kind is $word|the $kind that I like best is $word}.",
      "{I like $word too|That is a good choice|Good to know}.{ I will remember it.|}",
      slots,
    ),
  ];
  if (chance(prng, 0.4)) talk.push(...pick(prng, [greeting, joke, mood])(prng));
  talk.push(
    exchange(
      prng,
      "{what is my favourite $kind|what $kind do I like best}?",
      "Your favourite $kind is $word.",
      slots,
    ),
  );
  return talk;
};

function fromPairs(prng: Prng, choices: readonly Pair[]): Exchange {
  return exchange(prng, ...pick(prng, choices));
}

/** Instructions that stand before a dialogue; most have none. */
export function systemText(prng: Prng): string | null {
  if (chance(prng, 0.7)) return null;
  return write(
    prng,
    "{You are a {helpful|friendly|kind} {assistant|helper}.|You are ema-tiny, a very small model." +
      "|You are a helpful assistant. Answer in short sentences.|Be friendly and short.|You tell " +
      "stories.|Answer the questions.}",
  );
}
