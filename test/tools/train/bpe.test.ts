/** Tests of the vocabulary: what is learnt, that text survives, that special tokens stay apart. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { BpeEncoder } from "../../../tools/train/bpe-encoder.ts";
import { byteCharacters, splitWords, trainVocabulary } from "../../../tools/train/bpe-trainer.ts";
import { SPECIALS, vocabularyText } from "../../../tools/train/training-text.ts";

const vocabulary = trainVocabulary(vocabularyText(1, 40), SPECIALS, 400);
const encoder = new BpeEncoder(vocabulary);

describe("the vocabulary", () => {
  it("holds special tokens, every byte, and a token a merge", () => {
    expect(vocabulary.tokens).toHaveLength(400);
    expect(vocabulary.tokens.slice(0, SPECIALS.length)).toEqual(SPECIALS);
    expect(new Set(vocabulary.tokens).size).toBe(400);
    expect(vocabulary.merges.length).toBeGreaterThanOrEqual(400 - 256 - SPECIALS.length);
    for (const [left, right] of vocabulary.merges) {
      expect(vocabulary.tokens).toContain(left + right);
    }
  });

  it("is the same for the same text", () => {
    expect(trainVocabulary(vocabularyText(1, 40), SPECIALS, 400)).toEqual(vocabulary);
  });

  it("merges the most frequent pair first, and ties in order", () => {
    const { merges } = trainVocabulary("aab aab ab cd", [], 256 + 2);
    expect(merges).toEqual([
      ["a", "b"],
      // "Ġa" and "aab"'s "a" + "ab" both come twice; the one that sorts first is taken.
      ["a", "ab"],
    ]);
  });

  it("ends early when the text has no pair twice", () => {
    expect(trainVocabulary("abc", [], 1000).tokens.length).toBeLessThan(1000);
  });
});

describe("text", () => {
  it("survives encoding, whatever it is", () => {
    const text = fc.string({ unit: "binary", maxLength: 60 });
    fc.assert(
      fc.property(text, (value) => {
        expect(encoder.decode(encoder.encode(value))).toBe(value);
      }),
    );
    expect(encoder.decode(encoder.encode("Hällo 你好 🙂\n\n  x"))).toBe("Hällo 你好 🙂\n\n  x");
  });

  it("never becomes a special token", () => {
    for (const special of SPECIALS) {
      for (const id of encoder.encode(special)) {
        expect(id).toBeGreaterThanOrEqual(SPECIALS.length);
      }
    }
  });

  it("is shorter in tokens than in bytes", () => {
    const sentence = "Once upon a time there was a little girl.";
    expect(encoder.encode(sentence).length).toBeLessThan(0.7 * sentence.length);
  });

  it("is split as GPT-2 splits it", () => {
    expect(splitWords("It's  12 apples,\n don't")).toEqual([
      "It",
      "'s",
      " ",
      " 12",
      " apples",
      ",",
      "\n",
      " don",
      "'t",
    ]);
  });

  it("has a printable character a byte", () => {
    const characters = byteCharacters();
    expect(new Set(characters).size).toBe(256);
    expect(characters[0x20]).toBe("Ġ");
    expect(characters[0x0a]).toBe("Ċ");
    expect(characters[0x41]).toBe("A");
  });
});
