/**
 * Text to token ids and back with a vocabulary of bpe-trainer.ts.
 *
 * Called by the trainer, which encodes millions of words of which few are new: words are cached. It
 * stands beside the product's own reader of the same format and shares no code with it, so that one
 * can be held against the other.
 */

import {
  byteCharacters,
  merge,
  splitWords,
  type Vocabulary,
  wordCharacters,
} from "./bpe-trainer.ts";

/** Words that are remembered; generated text has a few thousand, typed text any number. */
const CACHED_WORDS_MAX = 50_000;

/** Encodes plain text; special tokens are put between by their ids. */
export class BpeEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #ids: Map<string, number>;
  readonly #ranks = new Map<string, number>();
  readonly #characters = byteCharacters();
  readonly #bytes: Map<string, number>;
  readonly #cache = new Map<string, readonly number[]>();

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
    this.#ids = new Map(vocabulary.tokens.map((token, id) => [token, id]));
    for (const [rank, pair] of vocabulary.merges.entries()) this.#ranks.set(pair.join(" "), rank);
    this.#bytes = new Map(this.#characters.map((character, byte) => [character, byte]));
  }

  /** The id of a special token by its name. */
  special(name: string): number {
    return this.#vocabulary.tokens.indexOf(name);
  }

  encode(text: string): number[] {
    return splitWords(text).flatMap((word) => this.#encodeWord(word));
  }

  /** Special tokens become nothing; malformed UTF-8 becomes U+FFFD. */
  decode(ids: Iterable<number>): string {
    const bytes: number[] = [];
    for (const id of ids) {
      if (id < this.#vocabulary.specialCount) continue;
      for (const character of this.#vocabulary.tokens[id]!) bytes.push(this.#bytes.get(character)!);
    }
    return new TextDecoder().decode(Uint8Array.from(bytes));
  }

  #encodeWord(word: string): readonly number[] {
    const known = this.#cache.get(word);
    if (known !== undefined) return known;
    let parts = wordCharacters(word, this.#characters);
    for (;;) {
      const pair = this.#firstMerge(parts);
      if (pair === null) break;
      parts = merge(parts, pair[0], pair[1]);
    }
    const ids = parts.map((part) => this.#ids.get(part)!);
    if (this.#cache.size < CACHED_WORDS_MAX) this.#cache.set(word, ids);
    return ids;
  }

  /** The neighbours whose merge was learnt first, or `null` when none was learnt. */
  #firstMerge(parts: readonly string[]): [string, string] | null {
    let best: [string, string] | null = null;
    let least = Infinity;
    for (let index = 1; index < parts.length; index++) {
      const rank = this.#ranks.get(`${parts[index - 1]} ${parts[index]}`) ?? Infinity;
      if (rank < least) [best, least] = [[parts[index - 1]!, parts[index]!], rank];
    }
    return best;
  }
}
