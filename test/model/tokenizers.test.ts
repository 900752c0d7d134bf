/** Tokenizers of every format: texts come back, known encodings hold, users cannot type tokens. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EmaError } from "../../src/base/index.ts";
import type { Tokenizer } from "../../src/model/index.ts";
import { CheckpointFile } from "../../src/model/checkpoint-file.ts";
import { JsonTokenizer } from "../../src/model/json-tokenizer.ts";
import { readLlama2cTokenizer } from "../../src/model/llama2c-tokenizer.ts";
import { mergeSymbols, type Merge } from "../../src/model/merge-symbols.ts";
import { ScoreTokenizer, type Piece } from "../../src/model/score-tokenizer.ts";
import { SpecialTokens, WORD_MARK } from "../../src/model/special-tokens.ts";
import { checkTokenizerDescription } from "../../src/model/tokenizer-description.ts";
import { sharedDataPath } from "../shared-data.ts";
import { byteLevelDescription, sentencePieceDescription } from "./handmade-tokenizers.ts";

function jsonTokenizer(value: unknown, vocab: number): JsonTokenizer {
  const description = checkTokenizerDescription("tokenizer.json", value, vocab);
  const ends = { beginId: null, endIds: [] };
  return new JsonTokenizer({ where: "tokenizer.json", description, vocab, ...ends });
}

function scoreTokenizer(): ScoreTokenizer {
  const bytes = Array.from({ length: 256 }, (_, byte): Piece => ({
    kind: "byte",
    bytes: Uint8Array.of(byte),
    score: 0,
  }));
  const normal = [" ", "t", "h", "e", "a", "th", "he", "the", " the", "你", "ea", "ae"].map(
    (text, rank): Piece => ({ kind: "normal", bytes: Buffer.from(text), score: -rank }),
  );
  const control: Piece = { kind: "control", bytes: Buffer.from("<s>"), score: 0 };
  const own: Piece = { kind: "user-defined", bytes: Buffer.from("[x]"), score: 0 };
  return new ScoreTokenizer({
    pieces: [...bytes, ...normal, control, own],
    vocab: 270,
    beginId: 268,
    endIds: [],
    hasSpacePrefix: true,
    specials: [
      { id: 268, text: "<s>", isControl: true },
      { id: 269, text: "[x]", isControl: false },
    ],
  });
}

const tok512 = sharedDataPath("tinymodel/tok512.bin");

const kinds: [string, () => Tokenizer][] = [
  ["byte-level", () => jsonTokenizer(byteLevelDescription(), 270)],
  ["SentencePiece as JSON", () => jsonTokenizer(sentencePieceDescription(), 270)],
  ["scores", scoreTokenizer],
];
if (tok512 !== null) {
  kinds.push(["tok512", () => readLlama2cTokenizer(new CheckpointFile(tok512), 512)]);
}

const letters = fc.constantFrom("a", "t", "h", "e", " the", " ", "\n", "你", "👩‍💻", "<s>", "é", "1");
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.array(letters, { maxLength: 20 }).map((parts) => parts.join("")),
);

describe.each(kinds)("%s", (_, make) => {
  const tokenizer = make();

  it("any text comes back, from all ids at once and token by token", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        // U+2581 is how SentencePiece writes a space: its JSON form cannot tell them apart.
        const plain = text.replaceAll("\u2581", "_").replaceAll(WORD_MARK, "");
        const ids = tokenizer.encode(plain, true);
        expect(tokenizer.decode(ids)).toBe(plain);
        const pieces = [...ids].map((id, at) => tokenizer.bytesOf(id, ids[at - 1] ?? -1));
        expect(Buffer.concat(pieces).toString()).toBe(plain);
        expect(ids.every((id) => id >= 0 && id < tokenizer.vocabSize)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("an empty text has no tokens, ids beyond the vocabulary no bytes", () => {
    expect(tokenizer.encode("", true).length).toBe(0);
    expect(tokenizer.encode("", false).length).toBe(0);
    expect(tokenizer.bytesOf(tokenizer.vocabSize - 1, 5).length).toBeLessThan(20);
  });
});

describe("byte-level", () => {
  const tokenizer = jsonTokenizer(byteLevelDescription(), 270);

  it("merges by rank within words", () => {
    expect([...tokenizer.encode("the the", true)]).toEqual([257, 258]);
    expect([...tokenizer.encode("then", true)]).toEqual([257, 0x6e]);
    expect([...tokenizer.encode("é", true)]).toEqual([0xc3, 0xa9]);
  });

  it("control tokens are tokens for templates and words for users", () => {
    expect([...tokenizer.encode("<|end|>a", false)]).toEqual([261, 0x61]);
    expect([...tokenizer.encode("<|end|>", true)]).not.toContain(261);
    expect(tokenizer.decode(Int32Array.of(261, 0x61))).toBe("a");
    expect([...tokenizer.encode("[tool]", true)]).toEqual([262]);
    expect(tokenizer.decode(Int32Array.of(262))).toBe("[tool]");
  });

  it("a mark keeps a word a word and leaves no trace", () => {
    const ids = tokenizer.encode(`<${WORD_MARK}|end|>`, false);
    expect(ids).toEqual(tokenizer.encode("<|end|>", true));
  });
});

describe("SentencePiece as JSON", () => {
  const tokenizer = jsonTokenizer(sentencePieceDescription(), 270);

  it("puts a space in front and takes it away", () => {
    expect([...tokenizer.encode("the", true)]).toEqual([266]);
    expect(tokenizer.decode(Int32Array.of(266, 266))).toBe("the the");
    expect(Buffer.from(tokenizer.bytesOf(266, 1)).toString()).toBe("the");
    expect(Buffer.from(tokenizer.bytesOf(266, 266)).toString()).toBe(" the");
  });
});

describe("scores", () => {
  const tokenizer = scoreTokenizer();

  it("the best pair merges first, then the rest is spelled", () => {
    // "th" (-5) is better than "he" (-6), and " the" needs "the" first.
    expect([...tokenizer.encode("the", true)]).toEqual([264]);
    expect([...tokenizer.encode("ehe", true)]).toEqual([256, 259, 262]);
    expect([...tokenizer.encode("好", true)]).toEqual([256, ...Buffer.from("好")]);
    // "ea" is better than "ae".
    expect([...tokenizer.encode("aea", true)]).toEqual([256, 260, 266]);
    expect([...tokenizer.encode("<s>the", false)]).toEqual([268, 264]);
    expect([...tokenizer.encode("the[x]the", true)]).toEqual([264, 269, 263]);
    const marked = tokenizer.encode(`<${WORD_MARK}s>`, false);
    expect(marked).toEqual(tokenizer.encode("<s>", true));
  });
});

it.skipIf(tok512 === null)("tok512 spells what it has no piece for", () => {
  const tokenizer = readLlama2cTokenizer(new CheckpointFile(tok512!), 512);
  expect(tokenizer.endIds).toEqual([1, 2]);
  const bytes = [...Buffer.from("你")].map((byte) => byte + 3);
  expect([...tokenizer.encode("你", true)].slice(-3)).toEqual(bytes);
  expect([...tokenizer.encode("<s>", false)]).toEqual([1]);
  // Of the golden story: a space, then pieces.
  expect([...tokenizer.encode("Once upon a time", true)]).toEqual([403, 407, 261, 378]);
});

it("of special tokens that begin alike the longest is meant", () => {
  const tokens = ["<a", "<a>", "<a><b>"].map((text, id) => ({ id, text, isControl: true }));
  const specials = new SpecialTokens(tokens);
  expect(specials.split("x<a><b><a>.<a", false)).toEqual(["x", 2, 1, ".", 0]);
  const trimming = { id: 9, text: "|", isControl: true, trimsBefore: true, trimsAfter: true };
  expect(new SpecialTokens([trimming]).split(" a \n| b | ", false)).toEqual([" a", 9, "b", 9]);
  expect(new SpecialTokens([trimming]).split(" a | b ", true)).toEqual([" a | b "]);
});

describe("mergeSymbols", () => {
  it("does what scanning for the best pair again and again does", () => {
    const ranks = fc.array(fc.nat(20), { minLength: 16, maxLength: 16 });
    const symbols = fc.array(fc.nat(3), { maxLength: 14 });
    fc.assert(
      fc.property(symbols, ranks, (start, table) => {
        // Symbols are digits; two of them may become a longer one by the table, up to length 4.
        const mergeOf = (left: string, right: string): Merge<string> | null => {
          const merged = left + right;
          const rank = table[(Number(left[0]) * 4 + Number(right[0])) % 16]!;
          return merged.length > 4 || rank > 12 ? null : { rank: rank * merged.length, merged };
        };
        const texts = start.map(String);
        expect(mergeSymbols(texts, mergeOf)).toEqual(scanned(texts, mergeOf));
      }),
      { numRuns: 500 },
    );
  });

  function scanned(
    start: readonly string[],
    mergeOf: (left: string, right: string) => Merge<string> | null,
  ): string[] {
    const symbols = [...start];
    for (;;) {
      let best: { at: number; rank: number; merged: string } | null = null;
      for (let at = 0; at + 1 < symbols.length; at++) {
        const merge = mergeOf(symbols[at]!, symbols[at + 1]!);
        if (merge !== null && (best === null || merge.rank < best.rank)) best = { at, ...merge };
      }
      if (best === null) return symbols;
      symbols.splice(best.at, 2, best.merged);
    }
  }
});

describe("descriptions that are broken", () => {
  const check = (change: (value: Record<string, unknown>) => void, reason: RegExp): void => {
    const value = byteLevelDescription();
    change(value);
    expect(() => jsonTokenizer(value, 263)).toThrow(reason);
    expect(() => jsonTokenizer(value, 263)).toThrow(EmaError);
  };

  it("of any shape load and encode, or are one line", () => {
    const values = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom([], {}, null, -1, ""));
    const changed = fc.array(fc.tuple(fc.nat(), values), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(changed, fc.boolean(), (changes, isByteLevel) => {
        const value = isByteLevel ? byteLevelDescription() : sentencePieceDescription();
        for (const [pick, replacement] of changes) replaceOne(value, pick, replacement);
        try {
          const tokenizer = jsonTokenizer(value, 270);
          tokenizer.decode(tokenizer.encode("the <s> 你", false));
        } catch (error) {
          expect(error).toBeInstanceOf(EmaError);
          expect((error as EmaError).message).not.toContain("\n");
        }
      }),
      { numRuns: 400 },
    );
  });

  /** Replaces the value under one of all keys, vocabularies left out: they are most of the keys. */
  function replaceOne(root: unknown, pick: number, replacement: unknown): void {
    const places: [Record<string, unknown>, string][] = [];
    const visit = (node: unknown): void => {
      if (typeof node !== "object" || node === null) return;
      for (const [key, child] of Object.entries(node)) {
        places.push([node as Record<string, unknown>, key]);
        if (key !== "vocab") visit(child);
      }
    };
    visit(root);
    if (places.length === 0) return;
    const [node, key] = places[pick % places.length]!;
    node[key] = replacement;
  }

  it("are one line with the key", () => {
    check((value) => (value["model"] = null), /model is null, expected an object/);
    check((value) => (value["model"] = { type: "Unigram" }), /type is "Unigram".*expected BPE/);
    check((value) => (value["added_tokens"] = [{ id: 900, content: "x" }]), /id 900.*has 263/);
    check((value) => (value["decoder"] = { type: "CTC" }), /decoder CTC, expected ByteLevel/);
    check((value) => (value["pre_tokenizer"] = { type: "Nope" }), /not a usable tokenizer/);
    check((value) => (value["decoder"] = null), /no decoder/);
    expect(() => jsonTokenizer([], 10)).toThrow(/expected an object, found a list/);
  });
});
