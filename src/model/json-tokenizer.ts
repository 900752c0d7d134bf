/**
 * A tokenizer as Hugging Face's `tokenizer.json` describes it.
 *
 * Made by the readers of Hugging Face folders and of GGUF's `gpt2` model, which is the same thing
 * under other names. Words are encoded by the package @huggingface/tokenizers. Control tokens are
 * found here, so that a user cannot type them; so are the bytes of a single token.
 *
 * Vocabularies are written in one of two ways, told by the decoder part of the description:
 * - byte letters (ByteLevel): each character is a byte;
 * - SentencePiece: U+2581 is a space and <0x0A> a byte; a first space may have been put in front.
 */

import { Tokenizer as PackageTokenizer } from "@huggingface/tokenizers";
import { EmaError } from "../base/index.ts";
import { byteAlphabet, bytesOfLetters } from "./byte-alphabet.ts";
import { SpecialTokens, type SpecialToken } from "./special-tokens.ts";
import {
  componentsOf,
  type AddedToken,
  type TokenizerDescription,
} from "./tokenizer-description.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface JsonTokenizerParts {
  /** The file, for messages. */
  readonly where: string;
  readonly description: TokenizerDescription;
  /** How many rows of logits the model has; may be more than there are tokens. */
  readonly vocab: number;
  readonly beginId: number | null;
  readonly endIds: readonly number[];
}

const TRIAL_TEXT = "A b1, \n\u00e9\u4f60";

const NO_BYTES = new Uint8Array(0);

export class JsonTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly beginId: number | null;
  readonly endIds: readonly number[];
  readonly #controls: SpecialTokens;
  /** Knows no control tokens. */
  readonly #package: PackageTokenizer;
  /** For what does not stand at the begin of a text. */
  readonly #packageLater: PackageTokenizer;
  /** By id; null for what adds nothing to a text. */
  readonly #bytes: (Uint8Array | null)[];
  readonly #firstSpace: FirstSpace;

  /** @throws EmaError E_CHECKPOINT or E_MODEL_UNSUPPORTED */
  constructor(parts: JsonTokenizerParts) {
    const { where, description, vocab } = parts;
    this.vocabSize = vocab;
    this.beginId = parts.beginId;
    this.endIds = parts.endIds;
    const controls = description.added_tokens.filter(({ special }) => special === true);
    const others = description.added_tokens.filter(({ special }) => special !== true);
    this.#controls = new SpecialTokens(controls.map(specialTokenOf));
    const plain = { ...description, added_tokens: others };
    this.#package = packageTokenizer(plain, where);
    const kind = spellingOf(description, where);
    this.#bytes = bytesById(description, kind, vocab);
    this.#firstSpace = kind === "byte-letters" ? "kept" : firstSpaceOf(description);
    const isAtBegin = this.#firstSpace === "dropped-at-begin";
    const later = { ...plain, pre_tokenizer: withoutPrefix(plain.pre_tokenizer) };
    this.#packageLater = isAtBegin ? packageTokenizer(later, where) : this.#package;
  }

  encode(text: string, isPlain: boolean): Int32Array {
    const all: number[] = [];
    for (const [at, part] of this.#controls.split(text, isPlain).entries()) {
      if (typeof part === "number") {
        all.push(part);
        continue;
      }
      const tokenizer = at === 0 ? this.#package : this.#packageLater;
      // Lone surrogates have no UTF-8; the replacement character is what they become anyway.
      const { ids } = tokenizer.encode(Buffer.from(part).toString(), { add_special_tokens: false });
      // The package answers undefined for what the vocabulary cannot spell: nothing is left of it.
      for (const id of ids as (number | undefined)[]) if (id !== undefined) all.push(id);
    }
    return Int32Array.from(all);
  }

  bytesOf(id: number, previousId: number): Uint8Array {
    const bytes = this.#bytes[id] ?? NO_BYTES;
    if (bytes[0] !== 0x20 || this.#firstSpace === "kept") return bytes;
    const isFirst = previousId < 0 || previousId === this.beginId;
    const isAfterControl = !isFirst && this.#isControl(previousId);
    const isDropped = isFirst || (isAfterControl && this.#firstSpace === "dropped-after-control");
    return isDropped ? bytes.subarray(1) : bytes;
  }

  decode(ids: Int32Array): string {
    const pieces = Array.from(ids, (id, at) => this.bytesOf(id, at === 0 ? -1 : ids[at - 1]!));
    return Buffer.concat(pieces).toString("utf8");
  }

  #isControl(id: number): boolean {
    return this.#bytes[id] === null;
  }
}

type Spelling = "byte-letters" | "sentencepiece";

/** What becomes of the space in front of a text's first word, when bytes are put together. */
type FirstSpace = "kept" | "dropped-at-begin" | "dropped-after-control";

function specialTokenOf(token: AddedToken): SpecialToken {
  return {
    id: token.id,
    text: token.content,
    isControl: true,
    trimsBefore: token.lstrip === true,
    trimsAfter: token.rstrip === true,
  };
}

function packageTokenizer(description: TokenizerDescription, where: string): PackageTokenizer {
  try {
    const tokenizer = new PackageTokenizer(description, {});
    // Parts that the package takes as they come may fail only once they are used.
    tokenizer.encode(TRIAL_TEXT, { add_special_tokens: false });
    return tokenizer;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const line = reason.split("\n")[0]!.slice(0, 200);
    throw new EmaError("E_CHECKPOINT", `${where}: not a usable tokenizer (${line})`, {
      cause: error,
    });
  }
}

/** For text behind a control token, where only a text's very begin gets a space put in front. */
function withoutPrefix(component: unknown): unknown {
  if (typeof component !== "object" || component === null) return component;
  const parts = component as Record<string, unknown>;
  if (parts["type"] === "Metaspace") return { ...parts, prepend_scheme: "never" };
  const list = parts["pretokenizers"];
  if (!Array.isArray(list)) return component;
  return { ...parts, pretokenizers: list.map((each) => withoutPrefix(each)) };
}

function spellingOf(description: TokenizerDescription, where: string): Spelling {
  const types = componentsOf(description.decoder).map(({ type }) => type);
  if (types.includes("ByteLevel")) return "byte-letters";
  if (types.includes("ByteFallback") || types.includes("Metaspace")) return "sentencepiece";
  const found = types.length === 0 ? "no decoder" : `decoder ${types.join(", ")}`;
  const what = `${found}, expected ByteLevel, ByteFallback or Metaspace`;
  throw new EmaError("E_MODEL_UNSUPPORTED", `${where}: ${what}`);
}

function firstSpaceOf(description: TokenizerDescription): FirstSpace {
  const isPrepended = componentsOf(description.normalizer).some(({ type }) => type === "Prepend");
  if (isPrepended) return "dropped-after-control";
  const space = componentsOf(description.pre_tokenizer).find(({ type }) => type === "Metaspace");
  if (space === undefined || space.prepend_scheme === "never") return "kept";
  return space.prepend_scheme === "first" ? "dropped-at-begin" : "dropped-after-control";
}

function bytesById(
  description: TokenizerDescription,
  spelling: Spelling,
  vocab: number,
): (Uint8Array | null)[] {
  const alphabet = byteAlphabet();
  const bytes = new Array<Uint8Array | null>(vocab);
  for (const [text, id] of Object.entries(description.model.vocab)) {
    if (spelling === "byte-letters") {
      bytes[id] = bytesOfLetters(text, alphabet) ?? Buffer.from(text);
      continue;
    }
    const hex = /^<0x([0-9A-F]{2})>$/.exec(text)?.[1];
    bytes[id] =
      hex === undefined
        ? Buffer.from(text.replaceAll("\u2581", " "))
        : Uint8Array.of(Number.parseInt(hex, 16));
  }
  for (const { id, content, special } of description.added_tokens) {
    bytes[id] = special === true ? null : Buffer.from(content);
  }
  return bytes;
}
