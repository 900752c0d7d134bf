/** Descriptions of small tokenizers, written by hand in the form of a tokenizer.json. */

import { byteAlphabet } from "../../src/model/byte-alphabet.ts";

/** Ids 0 to 255 are bytes, then merges of "the", then specials. */
export function byteLevelDescription(): Record<string, unknown> {
  const letters = [...byteAlphabet()].sort(([, a], [, b]) => a - b).map(([letter]) => letter);
  const texts = [...letters, "th", "the", "\u0120the", "an"];
  return {
    version: "1.0",
    added_tokens: [
      { id: 260, content: "<|begin|>", special: true },
      { id: 261, content: "<|end|>", special: true },
      { id: 262, content: "[tool]", special: false, normalized: false },
    ],
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
    post_processor: {
      type: "TemplateProcessing",
      single: [
        { SpecialToken: { id: "<|begin|>", type_id: 0 } },
        { Sequence: { id: "A", type_id: 0 } },
      ],
      pair: [],
      special_tokens: { "<|begin|>": { id: "<|begin|>", ids: [260], tokens: ["<|begin|>"] } },
    },
    decoder: { type: "ByteLevel" },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(texts.map((text, id) => [text, id])),
      merges: ["t h", "th e", "\u0120 the", "a n"],
    },
  };
}

/** As Llama 2's: a space in front, U+2581 for spaces, bytes for what is not in the vocabulary. */
export function sentencePieceDescription(): Record<string, unknown> {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).toUpperCase());
  const texts = ["<unk>", "<s>", "</s>", ...bytes.map((hex) => `<0x${hex.padStart(2, "0")}>`)];
  texts.push("\u2581", "t", "h", "e", "a", "th", "the", "\u2581the");
  return {
    added_tokens: [
      { id: 0, content: "<unk>", special: true },
      { id: 1, content: "<s>", special: true },
      { id: 2, content: "</s>", special: true },
    ],
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "\u2581" },
        { type: "Replace", pattern: { String: " " }, content: "\u2581" },
      ],
    },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "\u2581" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: {
      type: "BPE",
      unk_token: "<unk>",
      fuse_unk: true,
      byte_fallback: true,
      vocab: Object.fromEntries(texts.map((text, id) => [text, id])),
      merges: ["t h", "th e", "\u2581 the"],
    },
  };
}
