/** Tests of the corpus: the same from the same seed, well-formed, and right in what it says. */

import { describe, expect, it } from "vitest";

import { Prng } from "../../../src/base/prng.ts";
import { makeDocument } from "../../../tools/train/corpus/dialogue.ts";
import { PLOTS } from "../../../tools/train/corpus/plots.ts";
import { tellStory } from "../../../tools/train/corpus/story.ts";
import { withArticle, write } from "../../../tools/train/corpus/template.ts";
import { NUMBERS } from "../../../tools/train/corpus/words.ts";

const documents = (seed: number, count: number) => {
  const prng = new Prng(seed);
  return Array.from({ length: count }, () => makeDocument(prng));
};
const exchanges = documents(5, 1500).flatMap((turns) =>
  turns
    .map((turn, index) => ({ user: turns[index - 1]?.text ?? "", ...turn }))
    .filter(({ role }) => role === "assistant"),
);

describe("documents", () => {
  it("are the same from the same seed and others from another", () => {
    expect(documents(1, 50)).toEqual(documents(1, 50));
    expect(documents(1, 50)).not.toEqual(documents(2, 50));
  });

  it("have nothing left of their templates", () => {
    for (const { text } of documents(3, 1500).flat()) {
      expect(text).not.toMatch(/[{}|$]| {2}|undefined|\ba [aeiou](?!ne\b)/);
      expect(text.trim()).toBe(text);
      expect(text.length).toBeGreaterThan(1);
    }
  });

  it("take turns: a user asks, the model answers", () => {
    for (const turns of documents(4, 300)) {
      const said = turns.filter(({ role }) => role !== "system").map(({ role }) => role);
      if (said[0] === "text") expect(said).toEqual(["text"]);
      else
        for (const [index, role] of said.entries()) {
          expect(role).toBe(index % 2 === 0 ? "user" : "assistant");
        }
    }
  });

  it("begin their answers with a capital letter or a digit and end them", () => {
    for (const { text } of exchanges) expect(text).toMatch(/^["']?[A-Z0-9][^]*[.!?]"?$/);
  });
});

describe("what is said is right:", () => {
  const value = (word: string): number =>
    /\d/.test(word) ? Number(word) : NUMBERS.indexOf(word.toLowerCase());

  it("sums", () => {
    const pattern = /^(\w+) (plus|minus|\+|-) (\w+) (?:is|=) (\w+)\.$/;
    const sums = exchanges.map(({ text }) => pattern.exec(text)).filter((sum) => sum !== null);
    expect(sums.length).toBeGreaterThan(100);
    for (const [text, a, sign, b, c] of sums) {
      const right = /plus|\+/.test(sign!) ? value(a!) + value(b!) : value(a!) - value(b!);
      expect(value(c!), text).toBe(right);
    }
  });

  it("baskets", () => {
    let seen = 0;
    for (const { user, text } of exchanges) {
      const numbers = user.match(new RegExp(`\\b(?:${NUMBERS.join("|")})\\b`, "gi")) ?? [];
      const answer = / has (\w+) \w+(?: now)?\.$/.exec(text)?.[1];
      if (!/how many/i.test(user) || numbers.length !== 2 || answer === undefined) continue;
      const [start, change] = numbers.map((word) => value(word)) as [number, number];
      const isMore = /more/i.test(user);
      expect(value(answer), `${user} ${text}`).toBe(isMore ? start + change : start - change);
      seen++;
    }
    expect(seen).toBeGreaterThan(50);
  });

  it("colours of things that were told before", () => {
    let seen = 0;
    for (const { user, text } of exchanges) {
      const colour = /^The (.+) is (\w+)\.$/.exec(text);
      const told = [...user.matchAll(/has an? (\w+) ([a-z ]+)\./g)];
      if (colour === null || told.length === 0) continue;
      expect(told.map(([, shade, thing]) => `${thing} ${shade}`)).toContain(
        `${colour[1]} ${colour[2]}`,
      );
      seen++;
    }
    expect(seen).toBeGreaterThan(20);
  });
});

describe("stories", () => {
  it("of every plot name their hero, and hold what may be asked", () => {
    const prng = new Prng(9);
    for (const plot of PLOTS) {
      const { text, slots } = tellStory(prng, { plot });
      expect(text).toContain(slots["hero"]);
      expect(write(prng, plot.summary, slots)).toContain(slots["hero"]);
      for (const asked of plot.asked) expect(text, asked).toContain(slots[asked]);
    }
  });
});

describe("templates", () => {
  it("choose, nest, fill and capitalise", () => {
    const prng = new Prng(1);
    const seen = new Set(
      Array.from({ length: 60 }, () => write(prng, '{a|{b|c}} $x. "{d}." e!', { x: "y" })),
    );
    expect(seen).toEqual(new Set(['A y. "D." E!', 'B y. "D." E!', 'C y. "D." E!']));
    expect(withArticle("apple")).toBe("an apple");
  });

  it("with a slot that nothing fills are a bug", () => {
    expect(() => write(new Prng(1), "$gone")).toThrow("no slot gone");
  });
});
