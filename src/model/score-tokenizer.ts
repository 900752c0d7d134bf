/**
 * SentencePiece's BPE: pieces with scores, and single bytes for what no piece covers.
 *
 * The tokenizer of llama2.c's files and of GGUF's `llama` model; their readers make it. Merging
 * starts at characters; the pair whose piece has the best score becomes one, leftmost among
 * equals. A space stands before a text's first word (`hasSpacePrefix`) and is dropped on the way
 * back. Idea and byte fallback: SentencePiece (1808.06226) and its published model format.
 *
 * Pieces are held as the bytes of their UTF-8, one character a byte, with U+2581 already a space: a
 * U+2581 that a user writes is then spelled in bytes and comes back as it was.
 */

import { mergeSymbols, type Merge } from "./merge-symbols.ts";
import { SpecialTokens, type SpecialToken } from "./special-tokens.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** What a piece is for; the words of SentencePiece's format. */
export type PieceKind = "normal" | "unknown" | "control" | "user-defined" | "unused" | "byte";

export interface Piece {
  readonly kind: PieceKind;
  /** UTF-8 with spaces; of a byte piece, the byte itself. */
  readonly bytes: Uint8Array;
  readonly score: number;
}

export interface ScoreTokenizerParts {
  /** By id. */
  readonly pieces: readonly Piece[];
  /** How many rows of logits the model has; ids without a piece add nothing to a text. */
  readonly vocab: number;
  readonly beginId: number | null;
  readonly endIds: readonly number[];
  readonly hasSpacePrefix: boolean;
  /** How control and user-defined pieces are written. */
  readonly specials: readonly SpecialToken[];
}

/** Kinds that add nothing to a text. */
const SILENT: ReadonlySet<PieceKind> = new Set(["control", "unknown"]);

const NO_BYTES = new Uint8Array(0);

export class ScoreTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly beginId: number | null;
  readonly endIds: readonly number[];
  readonly #pieces: readonly Piece[];
  readonly #hasSpacePrefix: boolean;
  readonly #specials: SpecialTokens;
  /** Bytes of mergeable pieces, as text of one character a byte, to their ids. */
  readonly #idOf = new Map<string, number>();
  readonly #idOfByte = new Int32Array(256).fill(-1);
  readonly #unknownId: number | null;

  constructor(parts: ScoreTokenizerParts) {
    this.vocabSize = parts.vocab;
    this.beginId = parts.beginId;
    this.endIds = parts.endIds;
    this.#pieces = parts.pieces;
    this.#hasSpacePrefix = parts.hasSpacePrefix;
    this.#specials = new SpecialTokens(parts.specials);
    let unknownId: number | null = null;
    for (const [id, { kind, bytes }] of parts.pieces.entries()) {
      if (kind === "normal" && bytes.length > 0) {
        const key = Buffer.from(bytes).toString("latin1");
        if (!this.#idOf.has(key)) this.#idOf.set(key, id);
      }
      if (kind === "byte") this.#idOfByte[bytes[0]!] = id;
      if (kind === "unknown") unknownId ??= id;
    }
    this.#unknownId = unknownId;
  }

  encode(text: string, isPlain: boolean): Int32Array {
    const ids: number[] = [];
    let isAfterControl = true;
    for (const part of this.#specials.split(text, isPlain)) {
      if (typeof part === "number") {
        ids.push(part);
        isAfterControl = this.#specials.isControl(part);
        continue;
      }
      this.#encodeStretch(isAfterControl && this.#hasSpacePrefix ? ` ${part}` : part, ids);
      isAfterControl = false;
    }
    return Int32Array.from(ids);
  }

  bytesOf(id: number, previousId: number): Uint8Array {
    const piece = this.#pieces[id];
    if (piece === undefined || SILENT.has(piece.kind)) return NO_BYTES;
    const isFirst = previousId < 0 || this.#specials.isControl(previousId);
    const dropsSpace = isFirst && this.#hasSpacePrefix && piece.kind === "normal";
    return dropsSpace && piece.bytes[0] === 0x20 ? piece.bytes.subarray(1) : piece.bytes;
  }

  decode(ids: Int32Array): string {
    const pieces = Array.from(ids, (id, at) => this.bytesOf(id, at === 0 ? -1 : ids[at - 1]!));
    return Buffer.concat(pieces).toString("utf8");
  }

  #encodeStretch(text: string, ids: number[]): void {
    const characters = Array.from(text, (each) => Buffer.from(each).toString("latin1"));
    for (const symbol of mergeSymbols(characters, (a, b) => this.#mergeOf(a, b))) {
      const id = this.#idOf.get(symbol);
      if (id === undefined) this.#spell(symbol, ids);
      else ids.push(id);
    }
  }

  #mergeOf(left: string, right: string): Merge<string> | null {
    const merged = left + right;
    const id = this.#idOf.get(merged);
    return id === undefined ? null : { rank: -this.#pieces[id]!.score, merged };
  }

  /** A character that no piece covers, as its bytes; where those lack too, as unknown. */
  #spell(symbol: string, ids: number[]): void {
    for (let at = 0; at < symbol.length; at++) {
      const id = this.#idOfByte[symbol.charCodeAt(at)]!;
      if (id >= 0) ids.push(id);
      else if (this.#unknownId !== null) ids.push(this.#unknownId);
    }
  }
}
