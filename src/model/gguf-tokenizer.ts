/**
 * Builds the tokenizer that a GGUF file brings along, and its chat template.
 *
 * Called by gguf.ts. Keys are those of the GGUF specification. Of its tokenizer models two are
 * read: `llama` (SentencePiece's BPE, with scores) and `gpt2` (byte-level BPE, with merges). How
 * `gpt2` cuts a text into words before merging is only named in the file; the patterns of the
 * names below are those that the models' own tokenizer.json files give.
 */

import { EmaError } from "../base/index.ts";
import type { ChatTemplate } from "./chat-prompt.ts";
import type { DescribedFields } from "./described-fields.ts";
import { JsonTokenizer } from "./json-tokenizer.ts";
import { ScoreTokenizer, type Piece, type PieceKind } from "./score-tokenizer.ts";
import type { SpecialToken } from "./special-tokens.ts";
import { checkTokenizerDescription } from "./tokenizer-description.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** By the number of `tokenizer.ggml.token_type`. */
const KINDS: readonly PieceKind[] = [
  "normal",
  "normal",
  "unknown",
  "control",
  "user-defined",
  "unused",
  "byte",
];

const GPT2_WORDS =
  String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const LLAMA3_TAIL = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const LLAMA3_WORDS = String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|${LLAMA3_TAIL}`;
const QWEN2_WORDS = String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|${LLAMA3_TAIL}`;

/** By `tokenizer.ggml.pre`: patterns that cut a text one after the other. */
const WORD_PATTERNS: ReadonlyMap<string, readonly string[]> = new Map([
  ["gpt-2", [GPT2_WORDS]],
  ["smollm", [String.raw`\p{N}`, GPT2_WORDS]],
  ["llama-bpe", [LLAMA3_WORDS]],
  ["qwen2", [QWEN2_WORDS]],
]);

export interface GgufTokenizer {
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate | null;
}

interface Vocabulary {
  readonly texts: readonly string[];
  readonly kinds: readonly PieceKind[];
  readonly beginId: number | null;
  readonly endIds: readonly number[];
}

/** @throws EmaError E_CHECKPOINT or E_MODEL_UNSUPPORTED */
export function readGgufTokenizer(fields: DescribedFields, vocab: number): GgufTokenizer {
  const key = "tokenizer.ggml.model";
  const vocabulary = readVocabulary(fields, vocab);
  const tokenizer = ((): Tokenizer => {
    switch (fields.text(key)) {
      case "llama":
        return scoreTokenizer(fields, vocabulary, vocab);
      case "gpt2":
        return byteTokenizer(fields, vocabulary, vocab);
      default:
        throw fields.unsupported(key, "llama or gpt2");
    }
  })();
  const source = fields.optionalText("tokenizer.chat_template");
  const chatTemplate = source === null ? null : templateOf(fields, vocabulary, source);
  return { tokenizer, chatTemplate };
}

function readVocabulary(fields: DescribedFields, vocab: number): Vocabulary {
  const texts = listOf(fields, "tokenizer.ggml.tokens");
  if (texts === null) throw fields.wrong("tokenizer.ggml.tokens", "a list of texts");
  if (texts.length > vocab) {
    const what = `tokenizer has ${texts.length} tokens, the model ${vocab}`;
    throw new EmaError("E_CHECKPOINT", `${fields.where}: ${what}`);
  }
  const types = fields.raw("tokenizer.ggml.token_type");
  const isFitting = types instanceof Int32Array && types.length === texts.length;
  if (types !== null && !isFitting) {
    throw fields.wrong("tokenizer.ggml.token_type", "a number for each token");
  }
  const id = (name: string): number | null => {
    const key = `tokenizer.ggml.${name}_token_id`;
    const found = fields.optionalWhole(key);
    if (found === null || (found >= 0 && found < texts.length)) return found;
    throw fields.wrong(key, `an id below ${texts.length}`);
  };
  const isByDefault = fields.raw("tokenizer.ggml.model") === "llama";
  const isPre = fields.raw("tokenizer.ggml.pre") === "llama-bpe";
  const addsBegin = fields.optionalFlag("tokenizer.ggml.add_bos_token") ?? (isByDefault || isPre);
  const endIds = ["eos", "eot", "eom"].map(id).filter((each) => each !== null);
  return {
    texts,
    kinds: texts.map((_, at) => KINDS[isFitting ? types[at]! : 1] ?? "unused"),
    beginId: addsBegin ? id("bos") : null,
    endIds: [...new Set(endIds)],
  };
}

function scoreTokenizer(
  fields: DescribedFields,
  { texts, kinds, beginId, endIds }: Vocabulary,
  vocab: number,
): ScoreTokenizer {
  const scores = fields.raw("tokenizer.ggml.scores");
  if (!(scores instanceof Float32Array) || scores.length !== texts.length) {
    throw fields.wrong("tokenizer.ggml.scores", "a number for each token");
  }
  const pieces = texts.map((text, id): Piece => {
    const score = scores[id]!;
    if (Number.isNaN(score)) throw fields.wrong("tokenizer.ggml.scores", "numbers");
    const kind = kinds[id]!;
    if (kind !== "byte") return { kind, score, bytes: Buffer.from(text.replaceAll("\u2581", " ")) };
    const hex = /^<0x([0-9A-F]{2})>$/.exec(text)?.[1];
    if (hex === undefined) throw fields.wrong("tokenizer.ggml.tokens", "bytes as <0x0A>");
    return { kind, score, bytes: Uint8Array.of(Number.parseInt(hex, 16)) };
  });
  return new ScoreTokenizer({
    pieces,
    vocab,
    beginId,
    endIds,
    hasSpacePrefix: fields.optionalFlag("tokenizer.ggml.add_space_prefix") ?? true,
    specials: specialsOf(texts, kinds),
  });
}

function byteTokenizer(
  fields: DescribedFields,
  { texts, kinds, beginId, endIds }: Vocabulary,
  vocab: number,
): JsonTokenizer {
  const merges = listOf(fields, "tokenizer.ggml.merges");
  if (merges === null) throw fields.wrong("tokenizer.ggml.merges", "a list of texts");
  const pre = fields.optionalText("tokenizer.ggml.pre") ?? "gpt-2";
  const patterns = WORD_PATTERNS.get(pre);
  if (patterns === undefined) {
    const known = [...WORD_PATTERNS.keys()].join(", ");
    throw fields.unsupported("tokenizer.ggml.pre", `one of ${known}`);
  }
  const words = patterns.map((Regex) => ({
    type: "Split",
    pattern: { Regex },
    behavior: "Isolated",
    invert: false,
  }));
  const letters = { type: "ByteLevel", add_prefix_space: false, use_regex: false };
  const specials = specialsOf(texts, kinds);
  const ids = texts.map((text, id) => [text, id] as const);
  const value = {
    added_tokens: specials.map(({ id, text, isControl }) => ({
      id,
      content: text,
      special: isControl,
      normalized: false,
    })),
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [...words, letters] },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(ids.filter(([, id]) => kinds[id] === "normal").toReversed()),
      merges,
      ignore_merges: pre === "llama-bpe",
    },
    post_processor: null,
    decoder: { type: "ByteLevel" },
  };
  const description = checkTokenizerDescription(fields.where, value, vocab);
  return new JsonTokenizer({ where: fields.where, description, vocab, beginId, endIds });
}

/** @returns the texts of a list, or null where there is none */
function listOf(fields: DescribedFields, key: string): readonly string[] | null {
  const value = fields.raw(key);
  if (!Array.isArray(value)) return null;
  if (value.every((each) => typeof each === "string")) return value;
  throw fields.wrong(key, "texts and nothing else");
}

function specialsOf(texts: readonly string[], kinds: readonly PieceKind[]): SpecialToken[] {
  return texts.flatMap((text, id) => {
    const isControl = kinds[id] === "control" || kinds[id] === "unknown";
    return isControl || kinds[id] === "user-defined" ? [{ id, text, isControl }] : [];
  });
}

function templateOf(
  fields: DescribedFields,
  { texts, kinds }: Vocabulary,
  source: string,
): ChatTemplate {
  const textOf = (name: string): string =>
    texts[fields.optionalWhole(`tokenizer.ggml.${name}_token_id`) ?? -1] ?? "";
  const controls = specialsOf(texts, kinds).filter(({ isControl }) => isControl);
  return {
    source,
    beginText: textOf("bos"),
    endText: textOf("eos"),
    controlTexts: controls.map(({ text }) => text),
  };
}
