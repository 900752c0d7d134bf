/**
 * Colours and weights of terminal text, or none: decided once, by who knows the terminal.
 *
 * Called by the command, handed to all text. It reads no environment itself: NO_COLOR and whether
 * stdout is a terminal are the command's to know.
 */

import { stripVTControlCharacters } from "node:util";
import picocolors from "picocolors";

export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  own(text: string): string;
  lent(text: string): string;
  borrowed(text: string): string;
  warning(text: string): string;
  /** Columns the text takes on the screen, without its colours. */
  widthOf(text: string): number;
}

export function createPaint(isColored: boolean): Paint {
  const colors = picocolors.createColors(isColored);
  return {
    bold: colors.bold,
    dim: colors.dim,
    own: colors.blue,
    lent: colors.yellow,
    borrowed: colors.green,
    warning: colors.yellow,
    widthOf: (text) => stripVTControlCharacters(text).length,
  };
}
