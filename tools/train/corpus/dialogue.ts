/**
 * The documents of the corpus: plain stories and dialogues, drawn without end from a seed.
 *
 * Called by the trainer and by the tokenizer's training. A dialogue chains several talks, so that
 * what is asked may lie far back.
 *
 * Invariant: the same seed gives the same documents in the same order.
 */

import type { Prng } from "../../../src/base/prng.ts";
import type { Exchange, Talk } from "./exchange.ts";
import { tellLongStory, tellStory } from "./story.ts";
import { calendar, fact, lists, unknown } from "./talk-facts.ts";
import { baskets, count, neighbours, sum } from "./talk-numbers.ts";
import {
  farewell,
  greeting,
  joke,
  likes,
  mood,
  names,
  poem,
  refusal,
  self,
  systemText,
} from "./talk-small.ts";
import { acceptedStory, longStory, remember, story, world } from "./talk-worlds.ts";
import { chance } from "./template.ts";

/** Who speaks; "text" is a document without speakers. */
export type Role = "system" | "user" | "assistant" | "text";

/** One piece of a document. */
export interface Turn {
  readonly role: Role;
  readonly text: string;
}

/** Talks by how often they come; a story counts more because it is longer. */
const TALKS: readonly (readonly [Talk, number])[] = [
  [greeting, 6],
  [farewell, 3],
  [mood, 4],
  [self, 9],
  [joke, 2],
  [poem, 3],
  [names, 4],
  [likes, 3],
  [fact, 14],
  [lists, 4],
  [calendar, 4],
  [unknown, 5],
  [count, 4],
  [sum, 9],
  [neighbours, 4],
  [baskets, 5],
  [world, 14],
  [remember, 7],
  [story, 9],
  [longStory, 1],
];

const TOTAL = TALKS.reduce((sumOfWeights, [, weight]) => sumOfWeights + weight, 0);

/** One document; a tenth are plain stories, the rest dialogues. */
export function makeDocument(prng: Prng): Turn[] {
  if (chance(prng, 0.1)) {
    const told = chance(prng, 0.2) ? tellLongStory(prng, 2 + prng.nextBelow(3)) : tellStory(prng);
    return [{ role: "text", text: told.text }];
  }
  const turns: Turn[] = [];
  const system = systemText(prng);
  if (system !== null) turns.push({ role: "system", text: system });
  const talks = chance(prng, 0.15) ? 8 + prng.nextBelow(12) : 1 + prng.nextBelow(6);
  for (let index = 0; index < talks; index++) {
    say(turns, pickTalk(prng)(prng));
    // Who offers a story must know what "yes" means.
    const isOffer = turns.at(-1)!.text.endsWith("tell you a story?");
    if (isOffer && chance(prng, 0.4)) say(turns, acceptedStory(prng));
    else if (isOffer && chance(prng, 0.2)) say(turns, refusal(prng));
  }
  return turns;
}

function say(turns: Turn[], talk: readonly Exchange[]): void {
  for (const { user, assistant } of talk) {
    turns.push({ role: "user", text: user }, { role: "assistant", text: assistant });
  }
}

function pickTalk(prng: Prng): Talk {
  let place = prng.nextBelow(TOTAL);
  for (const [talk, weight] of TALKS) {
    if (place < weight) return talk;
    place -= weight;
  }
  return story;
}
