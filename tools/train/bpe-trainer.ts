/**
 * Learns a byte-level BPE vocabulary from text.
 *
 * Called by the trainer once, before the model. Words are split as GPT-2 splits them, every byte is
 * a token of its own, and the most frequent neighbouring pair is merged until the vocabulary is
 * full (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016;
 * Radford et al., "Language Models are Unsupervised Multitask Learners", 2019). Bytes are written
 * as printable characters, as GGUF files of tokenizer `gpt2` have them.
 *
 * Invariant: the same text and sizes give the same vocabulary; ties go to the pair that sorts
 * first.
 */

/** GPT-2's split of text into words: a leading space belongs to the word that follows it. */
const WORDS = /'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** A vocabulary: `tokens[id]` in printable characters, merges in the order of their rank. */
export interface Vocabulary {
  readonly tokens: readonly string[];
  readonly merges: readonly (readonly [string, string])[];
  /** Ids below this are special tokens, which text never becomes. */
  readonly specialCount: number;
}

/** The printable character of each byte: itself where it has one, else from U+0100 on. */
export function byteCharacters(): string[] {
  const characters: string[] = [];
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable =
      (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    characters.push(String.fromCodePoint(isPrintable ? byte : next++));
  }
  return characters;
}

/** The words of a text, each with the space before it. */
export function splitWords(text: string): string[] {
  return text.match(WORDS) ?? [];
}

/** A word's bytes as printable characters, one each. */
export function wordCharacters(word: string, characters: readonly string[]): string[] {
  return [...new TextEncoder().encode(word)].map((byte) => characters[byte]!);
}

/**
 * @param specials the first ids
 * @param size how many tokens in all; fewer come out when the text has no more pairs
 */
export function trainVocabulary(
  text: string,
  specials: readonly string[],
  size: number,
): Vocabulary {
  const characters = byteCharacters();
  const counts = new Map<string, number>();
  for (const word of splitWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const words = [...counts].map(([word, count]) => ({
    parts: wordCharacters(word, characters),
    count,
  }));
  const tokens = [...specials, ...characters];
  const merges: [string, string][] = [];
  while (tokens.length < size) {
    const best = mostFrequentPair(words);
    if (best === null) break;
    const [left, right] = best;
    for (const word of words) word.parts = merge(word.parts, left, right);
    merges.push([left, right]);
    // Two different pairs can spell the same token; it is one token then.
    if (!tokens.includes(left + right)) tokens.push(left + right);
  }
  return { tokens, merges, specialCount: specials.length };
}

/** One pass that joins every `left` with a `right` behind it. */
export function merge(parts: readonly string[], left: string, right: string): string[] {
  const merged: string[] = [];
  for (let index = 0; index < parts.length; index++) {
    if (parts[index] === left && parts[index + 1] === right) {
      merged.push(left + right);
      index++;
    } else merged.push(parts[index]!);
  }
  return merged;
}

function mostFrequentPair(
  words: readonly { readonly parts: readonly string[]; readonly count: number }[],
): [string, string] | null {
  const pairs = new Map<string, number>();
  for (const { parts, count } of words) {
    for (let index = 1; index < parts.length; index++) {
      const pair = `${parts[index - 1]} ${parts[index]}`;
      pairs.set(pair, (pairs.get(pair) ?? 0) + count);
    }
  }
  let best: string | null = null;
  let most = 1;
  for (const [pair, count] of pairs) {
    if (count > most || (count === most && best !== null && pair < best))
      [best, most] = [pair, count];
  }
  return best === null ? null : (best.split(" ") as [string, string]);
}
