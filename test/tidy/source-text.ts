/**
 * TypeScript text with comments and string contents blanked, so that rules can read code as text.
 *
 * Called by the tidy rules. It knows tokens, not grammar: TypeScript 7 offers no parser to
 * programs, and a rule that a person can check by eye needs none. Blanks keep every offset and
 * line break, so that a match in the mask is a match in the text.
 *
 * Invariant: `code` and `text` have the same length and the same line breaks.
 */

/** A file as rules see it; `path` is relative to the repository, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/**
 * What a regular expression may follow; after anything else a slash divides. A `!` behind a value
 * asserts that it is there, and then a slash divides too.
 */
const REGEX_MAY_FOLLOW =
  /(?:^|[(,=:[&|?{};+\-*%<>~^]|(?<![\w\])])!|\b(?:return|typeof|case|in|of|void))\s*$/;

/** @returns the text with comments, string contents and regular expressions replaced by spaces. */
export function maskCode(text: string): string {
  return new Masker(text).mask();
}

/** @returns the 1-based line of an offset. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let index = text.indexOf("\n"); index !== -1 && index < offset; line++) {
    index = text.indexOf("\n", index + 1);
  }
  return line;
}

class Masker {
  readonly #text: string;
  readonly #out: string[];
  /** For each `${` that is open, the depth of braces inside it. */
  readonly #templates: number[] = [];
  #index = 0;

  constructor(text: string) {
    this.#text = text;
    this.#out = text.split("");
  }

  mask(): string {
    const text = this.#text;
    while (this.#index < text.length) {
      const char = text[this.#index]!;
      const pair = text.slice(this.#index, this.#index + 2);
      if (pair === "//") this.#blankTo(this.#endOf("\n", this.#index));
      else if (pair === "/*") this.#blankTo(this.#endOf("*/", this.#index + 2) + 2);
      else if (char === '"' || char === "'") this.#skipString(char);
      else if (char === "`") this.#skipTemplate();
      else if (char === "/" && this.#isRegex()) this.#skipRegex();
      else this.#countBrace(char);
    }
    return this.#out.join("");
  }

  #countBrace(char: string): void {
    const depth = this.#templates.at(-1);
    this.#index++;
    if (depth === undefined) return;
    if (char === "{") this.#templates[this.#templates.length - 1] = depth + 1;
    if (char !== "}") return;
    if (depth > 0) {
      this.#templates[this.#templates.length - 1] = depth - 1;
      return;
    }
    // The end of `${...}`: blank the brace and go on with the template's own text.
    this.#templates.pop();
    this.#index--;
    this.#skipTemplate();
  }

  /** Blanks from a backtick, or the `}` of a `${}`, to the closing backtick or the next `${`. */
  #skipTemplate(): void {
    const text = this.#text;
    let end = this.#index + 1;
    while (end < text.length && text[end] !== "`") {
      if (text[end] === "$" && text[end + 1] === "{") {
        this.#blankTo(end + 2);
        this.#templates.push(0);
        return;
      }
      end += text[end] === "\\" ? 2 : 1;
    }
    this.#blankTo(end + 1);
  }

  /** Keeps the quotes, so that import specifiers can be found in the mask. */
  #skipString(quote: string): void {
    let end = this.#index + 1;
    while (end < this.#text.length && this.#text[end] !== quote && this.#text[end] !== "\n") {
      end += this.#text[end] === "\\" ? 2 : 1;
    }
    this.#index++;
    this.#blankTo(end);
    this.#index = end + 1;
  }

  #isRegex(): boolean {
    const before = this.#out.slice(Math.max(0, this.#index - 80), this.#index).join("");
    return REGEX_MAY_FOLLOW.test(before);
  }

  #skipRegex(): void {
    let end = this.#index + 1;
    let isInClass = false;
    for (; end < this.#text.length && this.#text[end] !== "\n"; end++) {
      const char = this.#text[end]!;
      if (char === "\\") end++;
      else if (char === "[") isInClass = true;
      else if (char === "]") isInClass = false;
      else if (char === "/" && !isInClass) break;
    }
    this.#blankTo(end + 1);
  }

  #blankTo(end: number): void {
    for (const stop = Math.min(end, this.#out.length); this.#index < stop; this.#index++) {
      if (this.#out[this.#index] !== "\n") this.#out[this.#index] = " ";
    }
  }

  #endOf(mark: string, from: number): number {
    const found = this.#text.indexOf(mark, from);
    return found === -1 ? this.#text.length : found;
  }
}
