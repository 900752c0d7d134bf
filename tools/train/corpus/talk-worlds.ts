/**
 * Small worlds: facts that are told and then asked for, and stories with questions about them.
 *
 * Called by dialogue.ts. What is right stands in the text before, never in the weights: these are
 * the exchanges that need the KV cache, and that show when it is damaged.
 */

import type { Prng } from "../../../src/base/prng.ts";
import { type Exchange, exchange, type Talk, typed } from "./exchange.ts";
import { readSections, sectionLines, sides } from "./sections.ts";
import { type Story, tellLongStory, tellStory } from "./story.ts";
import { capitalise, chance, pick, pickSome, type Slots, write } from "./template.ts";
import { ANIMALS, COLOURS, inventedWord, NUMBERS, PEOPLE, SPOTS, THINGS } from "./words.ts";

/** One thing of a world: who has it, its colour, where it lies. */
interface Belonging {
  readonly name: string;
  readonly thing: string;
  readonly colour: string;
  readonly spot: string;
}

/** What is asked and answered, as templates. */
type Question = readonly [asked: string, answered: string];

const SECTIONS = readSections("world-questions.txt");
const OWNER_QUESTIONS: readonly Question[] = sectionLines(SECTIONS, "owners").map(sides);
const SPOT_QUESTIONS: readonly Question[] = sectionLines(SECTIONS, "spots").map(sides);
const STORY_QUESTIONS: readonly Question[] = sectionLines(SECTIONS, "every story").map(sides);

function makeWorld(prng: Prng, size: number): Belonging[] {
  const names = pickSome(prng, PEOPLE, size);
  const things = pickSome(prng, [...THINGS, ...ANIMALS], size);
  const colours = pickSome(prng, COLOURS, size);
  const spots = pickSome(prng, SPOTS, size);
  return names.map(({ name }, index) => ({
    name,
    thing: things[index]!,
    colour: colours[index]!,
    spot: spots[index]!,
  }));
}

/** Facts in one message with the first question; more questions follow. */
export const world: Talk = (prng) => {
  const isOwned = chance(prng, 0.6);
  const items = makeWorld(prng, 1 + prng.nextBelow(4));
  const sentence = isOwned
    ? pick(prng, ["$name has a $colour $thing.", "the $thing of $name is $colour."])
    : "the $thing is $spot.";
  const told = items.map((item) => write(prng, sentence, slotsOf(item))).join(" ");
  const talk: Exchange[] = [];
  const questions = 1 + prng.nextBelow(3);
  for (let index = 0; index < questions; index++) {
    const [asked, answered] = pick(prng, isOwned ? OWNER_QUESTIONS : SPOT_QUESTIONS);
    const next = exchange(prng, asked, answered, slotsOf(pick(prng, items)));
    talk.push(index === 0 ? { ...next, user: `${told} ${next.user}` } : next);
  }
  return talk;
};

/** Facts told one a message, remembered, and asked for afterwards. */
export const remember: Talk = (prng) => {
  const items = makeWorld(prng, 1 + prng.nextBelow(4));
  const isOwned = chance(prng, 0.5);
  const sentence = isOwned ? "$name has a $colour $thing." : "the $thing is $spot.";
  const talk = items.map((item) =>
    exchange(
      prng,
      `{remember: |please remember: |remember this: |}${sentence}`,
      "{I will remember that.|Good, I will remember it.|Yes, I know it now.}",
      slotsOf(item),
    ),
  );
  for (const item of pickSome(prng, items, 1 + prng.nextBelow(2))) {
    const [asked, answered] = pick(prng, isOwned ? OWNER_QUESTIONS : SPOT_QUESTIONS);
    talk.push(exchange(prng, asked, answered, slotsOf(item)));
  }
  return talk;
};

/** Words said again: nothing but what was read tells what comes next. */
export const repeat: Talk = (prng) => {
  const names = PEOPLE.map(({ name }) => name);
  const words = [...COLOURS, ...THINGS, ...ANIMALS, ...NUMBERS, ...names];
  const count = 2 + prng.nextBelow(9);
  const list = Array.from({ length: count }, () =>
    chance(prng, 0.15) ? inventedWord(prng) : pick(prng, words),
  ).join(chance(prng, 0.5) ? " " : ", ");
  const asked = "{repeat|say|please repeat|repeat after me|say after me|write}: $list";
  const talk = [{ user: write(prng, asked, { list }), assistant: `${capitalise(list)}.` }];
  if (chance(prng, 0.3)) {
    const again = "{again|say it again|once more|repeat that}{.|!|}";
    talk.push({ user: typed(prng, write(prng, again)), assistant: `${capitalise(list)}.` });
  }
  return talk;
};

function slotsOf(item: Belonging): Slots {
  return { ...item };
}

const STORY_ASKED =
  "{tell me|please tell me|can you tell me|write|I want to hear|tell} a " +
  "{story|short story|little story}";

/** A story that was asked for, and questions about it. */
export const story: Talk = (prng) => {
  const [wish, told] = wishAndStory(prng);
  const talk = [{ user: typed(prng, wish), assistant: told.text }];
  const questions = questionsAbout(told);
  for (const [asked, answered] of pickSome(prng, questions, prng.nextBelow(4))) {
    talk.push(exchange(prng, asked, answered, told.slots));
  }
  if (chance(prng, 0.2)) {
    const more = "{another one|tell me another one|one more|another story|tell me more|more}{.|!|}";
    talk.push({ user: typed(prng, write(prng, more)), assistant: tellStory(prng).text });
  }
  return talk;
};

/** The answer to an offer. */
export const acceptedStory: Talk = (prng) => {
  const yes = "{yes|yes please|yes, please|ok|sure|please do|that would be nice|go on}{.|!|}";
  return [{ user: typed(prng, write(prng, yes)), assistant: tellStory(prng).text }];
};

/** A long one. */
export const longStory: Talk = (prng) => {
  const told = tellLongStory(prng, 3 + prng.nextBelow(2));
  const user = typed(
    prng,
    write(prng, "{tell me|please tell me|can you tell me|write} {a long story|a very long story}."),
  );
  return [{ user, assistant: told.text }];
};

function wishAndStory(prng: Prng): [string, Story] {
  const kind = prng.nextBelow(5);
  if (kind === 0) return [write(prng, `${STORY_ASKED}.`), tellStory(prng)];
  if (kind === 1) {
    const hero = pick(prng, PEOPLE);
    return [
      write(prng, `${STORY_ASKED} about $name.`, hero as unknown as Slots),
      tellStory(prng, { hero }),
    ];
  }
  if (kind === 2) {
    const animal = pick(prng, ANIMALS);
    const about = /^[aeiou]/.test(animal) ? `an ${animal}` : `a ${animal}`;
    return [write(prng, `${STORY_ASKED} about ${about}.`), tellStory(prng, { animal })];
  }
  if (kind === 3) {
    const [thing, colour] = [pick(prng, THINGS), pick(prng, COLOURS)];
    const told = tellStory(prng, { thing, colour });
    return [write(prng, `${STORY_ASKED} about a $colour $thing.`, { thing, colour }), told];
  }
  const hero = pick(prng, PEOPLE);
  const told = tellStory(prng, { hero });
  return [write(prng, `${STORY_ASKED} about $hero and ${told.plot.about}.`, told.slots), told];
}

function questionsAbout(told: Story): Question[] {
  const { asked, summary } = told.plot;
  const special = asked
    .filter((word) => word !== "place")
    .flatMap((word) => sectionLines(SECTIONS, word).map(sides));
  const [whole] = sectionLines(SECTIONS, "whole");
  return [...STORY_QUESTIONS, ...special, [whole!, summary]];
}
