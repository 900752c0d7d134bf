/**
 * Tokens that are found in a text as a whole, before anything is merged.
 *
 * Used by the tokenizers. Control tokens (begin, end, roles) are looked for only in text that a
 * template wrote, never in a user's words; other added tokens always.
 */

/**
 * Stands inside words of a user that would else be read as a special token, in a text that a
 * template wrote; encoding drops it. A noncharacter, which Unicode keeps for a program's own use.
 */
export const WORD_MARK = "\uFDD0";

export interface SpecialToken {
  readonly id: number;
  readonly text: string;
  /** It steers the model and adds nothing to the text. */
  readonly isControl: boolean;
  /** It swallows white space that stands before, or after it. */
  readonly trimsBefore?: boolean;
  readonly trimsAfter?: boolean;
}

const NOTHING = /(?!)/g;

export class SpecialTokens {
  readonly #byText: ReadonlyMap<string, SpecialToken>;
  readonly #controlIds: ReadonlySet<number>;
  readonly #always: RegExp | null;
  readonly #all: RegExp | null;

  /** Of tokens with equal text the first counts. */
  constructor(tokens: readonly SpecialToken[]) {
    const named = tokens.filter(({ text }) => text !== "");
    this.#byText = new Map(named.toReversed().map((token) => [token.text, token]));
    this.#controlIds = new Set(tokens.filter(({ isControl }) => isControl).map(({ id }) => id));
    this.#always = anyOf(named.filter(({ isControl }) => !isControl));
    this.#all = anyOf(named);
  }

  isControl(id: number): boolean {
    return this.#controlIds.has(id);
  }

  /** @returns stretches of text, and the ids of what stands between them, in order. */
  split(text: string, isPlain: boolean): (string | number)[] {
    const parts: (string | number)[] = [];
    let last: SpecialToken | null = null;
    let done = 0;
    const pushText = (end: number, next: SpecialToken | null): void => {
      let stretch = text.slice(done, end);
      if (last?.trimsAfter === true) stretch = stretch.trimStart();
      if (next?.trimsBefore === true) stretch = stretch.trimEnd();
      if (!isPlain) stretch = stretch.replaceAll(WORD_MARK, "");
      if (stretch !== "") parts.push(stretch);
    };
    for (const match of text.matchAll((isPlain ? this.#always : this.#all) ?? NOTHING)) {
      const token = this.#byText.get(match[0])!;
      pushText(match.index, token);
      parts.push(token.id);
      last = token;
      done = match.index + match[0].length;
    }
    pushText(text.length, null);
    return parts;
  }
}

/** The longest text wins where several begin at one place. */
function anyOf(tokens: readonly SpecialToken[]): RegExp | null {
  if (tokens.length === 0) return null;
  const texts = tokens.map(({ text }) => text).sort((a, b) => b.length - a.length);
  const escaped = texts.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`));
  return new RegExp(escaped.join("|"), "g");
}
