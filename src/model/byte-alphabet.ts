/**
 * The letters that byte-level BPE writes bytes with.
 *
 * Used by the tokenizers that keep their vocabulary in it. GPT-2's table (its published encoder,
 * github.com/openai/gpt-2): printable bytes of Latin-1 stand for themselves, all others for the
 * characters from U+0100 on, in order.
 */

/** By letter, the byte; made anew because nothing here is global. */
export function byteAlphabet(): ReadonlyMap<string, number> {
  const bytes = new Map<string, number>();
  let others = 0;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable =
      (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    bytes.set(String.fromCharCode(isPrintable ? byte : 256 + others++), byte);
  }
  return bytes;
}

/** @returns the bytes that letters stand for, or null where one is no letter of the alphabet */
export function bytesOfLetters(
  letters: string,
  alphabet: ReadonlyMap<string, number>,
): Uint8Array | null {
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) {
    const byte = alphabet.get(letters[at]!);
    if (byte === undefined) return null;
    bytes[at] = byte;
  }
  return bytes;
}
