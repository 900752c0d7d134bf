/**
 * A tokenizer as Hugging Face's `tokenizer.json` describes it.
 *
 * Made by the readers of Hugging Face folders and of GGUF's `gpt2` model, which is the same thing
 * under other names. Encoding is the package @huggingface/tokenizers; this adds what a server
 * needs besides: text in which special tokens are plain words, and the bytes of a single token.
 *
 * Vocabularies are written in one of two ways, told by the decoder part of the description:
 * - byte letters (ByteLevel): each character is a byte;
 * - SentencePiece: U+2581 is a space and <0x0A> a byte; a first space may have been put in front.
 */

import { Tokenizer as PackageTokenizer } from "@huggingface/tokenizers";
import { EmaError } from "../base/index.ts";
import { byteAlphabet, bytesOfLetters } from "./byte-alphabet.ts";
import { DescribedFields } from "./described-fields.ts";
import { WORD_MARK, type SpecialToken } from "./special-tokens.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface JsonTokenizerParts {
  /** The file, for messages. */
  readonly where: string;
  /** The parsed tokenizer.json; checked here, whatever it is. */
  readonly description: unknown;
  /** How many rows of logits the model has; may be more than there are tokens. */
  readonly vocab: number;
  readonly beginId: number | null;
  readonly endIds: readonly number[];
}

/** The parts of a description that are read here; the package reads the rest. */
interface Description {
  readonly added_tokens: readonly {
    readonly id: number;
    readonly content: string;
    readonly special?: boolean;
  }[];
  readonly model: { readonly vocab: Readonly<Record<string, number>> };
  readonly normalizer?: unknown;
  readonly pre_tokenizer?: unknown;
  readonly decoder?: unknown;
}

const NO_BYTES = new Uint8Array(0);

export class JsonTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly beginId: number | null;
  readonly endIds: readonly number[];
  /** Tokens that a template may write and a user may not. */
  readonly specials: readonly SpecialToken[];
  readonly #all: PackageTokenizer;
  readonly #plain: PackageTokenizer;
  /** By id; null for what adds nothing to a text. */
  readonly #bytes: (Uint8Array | null)[];
  readonly #firstSpace: FirstSpace;

  /** @throws EmaError E_CHECKPOINT or E_MODEL_UNSUPPORTED */
  constructor(parts: JsonTokenizerParts) {
    const { where, vocab } = parts;
    const description = checkDescription(parts);
    this.vocabSize = vocab;
    this.beginId = parts.beginId;
    this.endIds = parts.endIds;
    this.specials = description.added_tokens.map(({ id, content, special }) => ({
      id,
      text: content,
      isControl: special === true,
    }));
    const plain = {
      ...description,
      added_tokens: description.added_tokens.filter(({ special }) => special !== true),
    };
    this.#all = packageTokenizer(withoutMarks(description), where);
    this.#plain = packageTokenizer(plain, where);
    const kind = spellingOf(description, where);
    this.#bytes = bytesById(description, kind, vocab);
    this.#firstSpace = kind === "byte-letters" ? "kept" : firstSpaceOf(description);
  }

  encode(text: string, isPlain: boolean): Int32Array {
    if (text === "") return new Int32Array(0);
    const tokenizer = isPlain ? this.#plain : this.#all;
    // Lone surrogates have no UTF-8; the replacement character is what they become anyway.
    const { ids } = tokenizer.encode(Buffer.from(text).toString(), { add_special_tokens: false });
    // The package answers undefined for what the vocabulary cannot spell: nothing is left of it.
    return Int32Array.from(ids.filter((id: number | undefined) => id !== undefined));
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

function packageTokenizer(description: Description, where: string): PackageTokenizer {
  try {
    return new PackageTokenizer(description, {});
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const line = reason.split("\n")[0]!.slice(0, 200);
    throw new EmaError("E_CHECKPOINT", `${where}: not a usable tokenizer (${line})`, {
      cause: error,
    });
  }
}

/** @throws EmaError unless ids are ids, once each, and texts texts */
function checkDescription(parts: JsonTokenizerParts): Description {
  const { where, vocab } = parts;
  const root = DescribedFields.ofObject(where, parts.description);
  const model = root.fields("model");
  if (model === null) throw root.wrong("model", "an object");
  if ((model.optionalText("type") ?? "BPE") !== "BPE") throw model.unsupported("type", "BPE");
  const entries = model.fields("vocab");
  if (entries === null) throw model.wrong("vocab", "texts with their ids");
  if (!Array.isArray(model.raw("merges"))) throw model.wrong("merges", "a list");
  const checkId = (text: string, id: unknown): void => {
    if (Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < vocab) return;
    const shown = `token ${JSON.stringify(text.slice(0, 60))} has id ${String(id)}`;
    throw new EmaError("E_CHECKPOINT", `${where}: ${shown}, the model has ${vocab}`);
  };
  for (const [text, id] of Object.entries(model.raw("vocab") as object)) checkId(text, id);
  const added = root.raw("added_tokens") ?? [];
  if (!Array.isArray(added)) throw root.wrong("added_tokens", "a list");
  for (const [at, entry] of added.entries()) {
    const token = DescribedFields.ofObject(`${where}: added_tokens[${at}]`, entry);
    checkId(token.text("content"), token.whole("id"));
    token.optionalFlag("special");
  }
  return { ...(parts.description as Description), added_tokens: added };
}

/** Marks keep a user's words from being special tokens; they go before anything is merged. */
function withoutMarks(description: Description): Description {
  const drop = { type: "Replace", pattern: { String: WORD_MARK }, content: "" };
  const normalizer = description.normalizer ?? null;
  const normalizers = normalizer === null ? [drop] : [drop, normalizer];
  return { ...description, normalizer: { type: "Sequence", normalizers } };
}

function spellingOf(description: Description, where: string): Spelling {
  const types = componentsOf(description.decoder).map(({ type }) => type);
  if (types.includes("ByteLevel")) return "byte-letters";
  if (types.includes("ByteFallback") || types.includes("Metaspace")) return "sentencepiece";
  const found = types.length === 0 ? "no decoder" : `decoder ${types.join(", ")}`;
  const what = `${found}, expected ByteLevel, ByteFallback or Metaspace`;
  throw new EmaError("E_MODEL_UNSUPPORTED", `${where}: ${what}`);
}

function firstSpaceOf(description: Description): FirstSpace {
  const isPrepended = componentsOf(description.normalizer).some(({ type }) => type === "Prepend");
  if (isPrepended) return "dropped-after-control";
  const space = componentsOf(description.pre_tokenizer).find(({ type }) => type === "Metaspace");
  if (space === undefined || space.prepend_scheme === "never") return "kept";
  return space.prepend_scheme === "first" ? "dropped-at-begin" : "dropped-after-control";
}

interface Component {
  readonly type: string;
  readonly prepend_scheme?: unknown;
}

/** A component, and those of a sequence one by one; what is not a component is left out. */
function componentsOf(value: unknown, depth = 0): Component[] {
  if (typeof value !== "object" || value === null || depth > 8) return [];
  const parts = value as Record<string, unknown>;
  if (typeof parts["type"] !== "string") return [];
  const inner = ["decoders", "normalizers", "pretokenizers"].flatMap((key) => {
    const list = parts[key];
    return Array.isArray(list) ? list.flatMap((each) => componentsOf(each, depth + 1)) : [];
  });
  return [parts as unknown as Component, ...inner];
}

function bytesById(
  description: Description,
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
