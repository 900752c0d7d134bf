/**
 * Tells stories: picks people, things and places, and fills a plot with them.
 *
 * Called by the documents of plain text and by dialogues that ask for a story. A story comes with
 * its slots, so that questions about it can be asked and answered.
 */

import type { Prng } from "../../../src/base/prng.ts";
import { type Asked, type Plot, PLOTS } from "./plots.ts";
import { chance, pick, pickSome, type Slots, withArticle, write } from "./template.ts";
import {
  ANIMAL_NAMES,
  ANIMALS,
  COLOURS,
  FOODS,
  PEOPLE,
  type Person,
  PLACES,
  SPOTS,
  THINGS,
} from "./words.ts";

/** What the asker wants in it; the rest is left to chance. */
export interface StoryWish {
  readonly hero?: Person;
  /** "cat": the hero is one. */
  readonly animal?: string;
  readonly thing?: string;
  readonly colour?: string;
  readonly plot?: Plot;
}

export interface Story {
  readonly text: string;
  readonly slots: Slots;
  readonly plot: Plot;
}

const OPENINGS = [
  "{once upon a time|long ago|once} there was $a_kind whose name was $hero.",
  "there was once $a_kind {called|named} $hero who lived $home.",
  "$hero was $a_kind and lived $home.",
  "this is the story of $hero, $a_kind.",
];

const LINKS = [
  "{the next day|the next morning|a week later} {something new happened.|the story went on.}",
  "{but that was not all.|and there is more.}",
  "{then came another day.|then winter came, and after it spring.}",
];

/** One story of one plot. */
export function tellStory(prng: Prng, wish: StoryWish = {}): Story {
  const plot = wish.plot ?? pick(prng, wish.thing === undefined ? PLOTS : plotsWith("thing"));
  const slots = makeSlots(prng, wish);
  const opening = write(prng, pick(prng, OPENINGS), slots);
  return { text: `${opening} ${write(prng, plot.text, slots)}`, slots, plot };
}

/** One hero, several plots after another; the slots are those of the first. */
export function tellLongStory(prng: Prng, parts: number, wish: StoryWish = {}): Story {
  const first = tellStory(prng, wish);
  const others = pickSome(
    prng,
    PLOTS.filter((plot) => plot !== first.plot),
    parts - 1,
  );
  const chapters = others.map((plot) => {
    const { hero, he, him, his, friend } = first.slots as Record<string, string>;
    const fresh = { ...makeSlots(prng, {}), hero, he, him, his, friend } as Slots;
    return `${write(prng, pick(prng, LINKS))} ${write(prng, plot.text, fresh)}`;
  });
  const end = write(prng, "{the end.|and that is the end of the story.|so ends the story.}");
  return { ...first, text: [first.text, ...chapters, end].join("\n\n") };
}

function plotsWith(asked: Asked): Plot[] {
  return PLOTS.filter((plot) => plot.asked.includes(asked));
}

function makeSlots(prng: Prng, wish: StoryWish): Slots {
  const isAnimal = wish.animal !== undefined || (wish.hero === undefined && chance(prng, 0.35));
  const animal = wish.animal ?? pick(prng, ANIMALS);
  const [one, other] = pickSome(prng, PEOPLE, 2) as [Person, Person];
  const child = wish.hero ?? one;
  const [ownName, otherName] = pickSome(prng, ANIMAL_NAMES, 2) as [string, string];
  const size = pick(prng, ["little", "small", "young", "kind", "brave", "clever"]);
  const kind = isAnimal ? animal : child.he === "she" ? "girl" : "boy";
  const friend = other.name === child.name ? one.name : other.name;
  return {
    hero: isAnimal ? ownName : child.name,
    he: child.he,
    him: child.him,
    his: child.his,
    kind,
    a_kind: withArticle(`${size} ${kind}`),
    home: pick(prng, ["in a small house", "at the edge of the forest", ...PLACES]),
    friend: chance(prng, 0.3) ? otherName : friend,
    rescued: pick(
      prng,
      ANIMALS.filter((candidate) => candidate !== animal),
    ),
    thing: wish.thing ?? pick(prng, THINGS),
    colour: wish.colour ?? pick(prng, COLOURS),
    place: pick(prng, PLACES),
    spot: pick(prng, SPOTS),
    food: pick(prng, FOODS),
  };
}
