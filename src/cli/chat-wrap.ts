/**
 * Breaks streamed text into lines a little before the terminal would.
 *
 * Used by the chat's terminal. Text that reaches the last column leaves a terminal in a state that
 * saving and restoring the cursor does not keep, and the next character would overwrite the last.
 * So lines end one column early, at a space where one is near. The text comes in pieces of any
 * size and goes out at once.
 *
 * Widths are estimated from above: a line that is broken too early is only shorter. (Wide
 * characters: Unicode Standard Annex 11, East Asian Width.)
 */

/** How near to the end of a line a space is taken for its end. */
const NEAR_COLUMNS = 12;

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;
const WIDE_BEYOND = /[\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Extended_Pictographic}/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** Tells the character before it to be shown as an emoji, which is wide. */
const EMOJI_SELECTOR = "\ufe0f";

/** Where one text stands on its line. */
export class LineWrap {
  #column = 0;

  /** @param columns of the terminal now. @returns the text with line ends put in */
  push(text: string, columns: number): string {
    let wrapped = "";
    for (const character of text) wrapped += this.#place(character, columns);
    return wrapped;
  }

  #place(character: string, columns: number): string {
    if (character === "\n") {
      this.#column = 0;
      return character;
    }
    const isNear = this.#column >= columns - NEAR_COLUMNS;
    if (character === " " && isNear && columns > 3 * NEAR_COLUMNS) {
      this.#column = 0;
      return "\n";
    }
    const width = widthOf(character);
    if (this.#column + width < columns) {
      this.#column += width;
      return character;
    }
    this.#column = width;
    return `\n${character}`;
  }
}

function widthOf(character: string): number {
  if (character === "\t") return 8;
  if (character === EMOJI_SELECTOR) return 1;
  if (NO_WIDTH.test(character)) return 0;
  return WIDE.test(character) || WIDE_BEYOND.test(character) ? 2 : 1;
}
