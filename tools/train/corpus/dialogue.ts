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
import { acceptedStory, longStory, remember, repeat, story, world } from "./talk-worlds.ts";
import { chance } from "./template.ts";

/** Who speaks; "text" is a document without speakers. */
export type Role = "system" | "user" | "assistant" | "text";

/** One piece of a document. */
export interface Turn {
  readonly role: Role;
  readonly text: string;
}

/**
 * What a run sees first and what it sees last: language is learnt from stories, and what is asked
 * for in few words takes more of them.
 */
export type Stage = "early" | "late";

/** Talks and how often they come in either stage; a story counts more because it is longer. */
const TALKS: readonly (readonly [talk: Talk, early: number, late: number])[] = [
  [greeting, 6, 3],
  [farewell, 3, 2],
  [mood, 4, 4],
  [self, 9, 6],
  [joke, 2, 1],
  [poem, 3, 2],
  [names, 4, 8],
  [likes, 3, 6],
  [fact, 14, 14],
  [lists, 4, 6],
  [calendar, 4, 6],
  [unknown, 5, 3],
  [count, 4, 4],
  [sum, 9, 12],
  [neighbours, 4, 5],
  [baskets, 5, 10],
  [repeat, 10, 10],
  [world, 14, 24],
  [remember, 7, 12],
  [story, 9, 5],
  [longStory, 1, 1],
];

/** How many documents are plain stories. */
const TEXT_PART = { early: 0.1, late: 0.05 };

/** One document: a plain story or a dialogue. */
export function makeDocument(prng: Prng, stage: Stage = "early"): Turn[] {
  if (chance(prng, TEXT_PART[stage])) {
    const told = chance(prng, 0.2) ? tellLongStory(prng, 2 + prng.nextBelow(3)) : tellStory(prng);
    return [{ role: "text", text: told.text }];
  }
  const turns: Turn[] = [];
  const system = systemText(prng);
  if (system !== null) turns.push({ role: "system", text: system });
  const talks = chance(prng, 0.15) ? 8 + prng.nextBelow(12) : 1 + prng.nextBelow(6);
  for (let index = 0; index < talks; index++) {
    say(turns, pickTalk(prng, stage)(prng));
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

function pickTalk(prng: Prng, stage: Stage): Talk {
  const column = stage === "early" ? 1 : 2;
  const total = TALKS.reduce((sumOfWeights, row) => sumOfWeights + row[column], 0);
  let place = prng.nextBelow(total);
  for (const row of TALKS) {
    if (place < row[column]) return row[0];
    place -= row[column];
  }
  return story;
}
