/**
 * The plots of plots.txt, checked and ready to be filled.
 *
 * Called by story.ts and by dialogues that ask about a story.
 */

import { assert } from "../../../src/base/assert.ts";
import { readSections, type Section } from "./sections.ts";

const ASKED = ["thing", "food", "rescued", "friend", "spot", "place"] as const;

/** What may be asked about in a story. */
export type Asked = (typeof ASKED)[number];

/** A chain of causes as a template; slots are described in plots.txt. */
export interface Plot {
  readonly about: string;
  readonly text: string;
  readonly asked: readonly Asked[];
  /** One sentence that tells the whole. */
  readonly summary: string;
}

export const PLOTS: readonly Plot[] = readSections("plots.txt").map(plotOf);

function plotOf({ title, lines }: Section): Plot {
  const [asked, summary, ...text] = lines;
  assert(asked?.startsWith("asked: ") === true, `${title}: expected "asked:" first`);
  assert(summary?.startsWith("summary: ") === true, `${title}: expected "summary:" second`);
  const words = asked.slice("asked: ".length).split(" ");
  assert(
    words.every((word) => (ASKED as readonly string[]).includes(word)),
    `${title}: unknown word in "${asked}"`,
  );
  return {
    about: title,
    asked: words as Asked[],
    summary: summary.slice("summary: ".length),
    text: text.join(" "),
  };
}
