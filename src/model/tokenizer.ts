/**
 * What turns text into token ids and back, whatever file it came from.
 *
 * Implemented by the tokenizers of the checkpoint formats; used by the server and by `ema chat`.
 * Streams are put together from bytes, not strings: a character may be split over tokens.
 */

export interface Tokenizer {
  readonly vocabSize: number;
  /** The id that begins a text, or null where the model has none. */
  readonly beginId: number | null;
  /** Ids that end a generation by themselves. */
  readonly endIds: readonly number[];
  /**
   * Does not put `beginId` in front.
   * @param isPlain true: text that looks like a special token is text; false: it is the token, and
   *   U+FDD0, with which a template keeps a user's words from being one, is dropped
   */
  encode(text: string, isPlain: boolean): Int32Array;
  /**
   * The bytes a token adds to the text. Special tokens add none.
   * @param previousId the token before it, -1 for none: some formats drop a space after the first
   */
  bytesOf(id: number, previousId: number): Uint8Array;
  /** The whole text of ids; malformed UTF-8 becomes U+FFFD. */
  decode(ids: Int32Array): string;
}
