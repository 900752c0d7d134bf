/**
 * The nouns, names and colours of the small world that the corpus talks about.
 *
 * Called by stories and dialogues. The lists are short on purpose: a small vocabulary leaves most
 * words one token each, and a small model the room to use them well.
 */

import type { Prng } from "../../../src/base/prng.ts";
import { pickSome } from "./template.ts";

/** Somebody a story can be about. */
export interface Person {
  readonly name: string;
  /** "he" or "she". */
  readonly he: string;
  readonly him: string;
  readonly his: string;
}

const girls = ["Mia", "Anna", "Lily", "Ella", "Sara", "Nora", "Rosa", "Zoe", "Emma", "Lucy"];
const boys = ["Tom", "Ben", "Max", "Leo", "Sam", "Finn", "Jack", "Omar", "Noah", "Paul"];

export const PEOPLE: readonly Person[] = [
  ...girls.map((name) => ({ name, he: "she", him: "her", his: "her" })),
  ...boys.map((name) => ({ name, he: "he", him: "him", his: "his" })),
];

export const COLOURS = [
  "red",
  "blue",
  "green",
  "yellow",
  "white",
  "black",
  "brown",
  "orange",
  "pink",
  "golden",
];

export const THINGS = [
  "ball",
  "kite",
  "hat",
  "boat",
  "book",
  "bell",
  "drum",
  "key",
  "cup",
  "box",
  "lamp",
  "scarf",
  "toy car",
  "button",
  "shell",
  "bag",
];

export const ANIMALS = [
  "cat",
  "dog",
  "fox",
  "bear",
  "rabbit",
  "mouse",
  "bird",
  "frog",
  "horse",
  "duck",
  "owl",
  "hedgehog",
];

/** Names that only animals have. */
export const ANIMAL_NAMES = ["Pip", "Rusty", "Coco", "Biscuit", "Dot", "Fluff", "Hazel", "Bruno"];

/** With the preposition that goes before them. */
export const PLACES = [
  "in the garden",
  "in the forest",
  "by the river",
  "on the hill",
  "at the beach",
  "in the park",
  "by the lake",
  "in the village",
  "on the farm",
  "in the meadow",
];

/** Where small things lie. */
export const SPOTS = [
  "under the bed",
  "behind the door",
  "under a big tree",
  "on the table",
  "in the grass",
  "behind a stone",
  "in the kitchen",
  "under the bench",
  "in the boat",
  "beside the well",
];

export const FOODS = [
  "apple",
  "pear",
  "cookie",
  "carrot",
  "bun",
  "cake",
  "pie",
  "plum",
  "orange",
  "sandwich",
];

export const PLURALS = [
  "apples",
  "pears",
  "cookies",
  "carrots",
  "eggs",
  "stones",
  "shells",
  "books",
  "balls",
  "flowers",
  "stars",
  "fish",
];

export const NUMBERS = [
  "zero",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
  "thirteen",
  "fourteen",
  "fifteen",
  "sixteen",
  "seventeen",
  "eighteen",
  "nineteen",
  "twenty",
];

export const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

export const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

export const SEASONS = ["spring", "summer", "autumn", "winter"];

/** Names that users may have and stories do not. */
export const OTHER_NAMES = [
  "Alex",
  "Chris",
  "Dana",
  "David",
  "Eva",
  "George",
  "Hana",
  "Ivan",
  "Jane",
  "John",
  "Karl",
  "Laura",
  "Maria",
  "Nina",
  "Olga",
  "Peter",
  "Robert",
  "Sofia",
  "Thomas",
  "Vera",
];

const SYLLABLES = ["ba", "cor", "dex", "fi", "gra", "hul", "jo", "kel", "lum", "mor", "nex", "po"];
const MORE = ["qua", "ri", "sto", "tem", "ul", "vor", "wix", "yar", "zen", "phy", "tion", "ism"];

/** A word that nobody knows: what is typed to a model is not always in its vocabulary. */
export function inventedWord(prng: Prng): string {
  return pickSome(prng, [...SYLLABLES, ...MORE], 2 + prng.nextBelow(3)).join("");
}
