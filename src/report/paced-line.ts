/**
 * A line of progress: overwritten on a terminal, a plain line now and then elsewhere.
 *
 * Used by whatever runs for long and says how far it is. It is given the clock and where to write,
 * and makes the text no more often than it is shown.
 */

export interface LineOutput {
  readonly isTerminal: boolean;
  readonly widthColumns: number;
  /** Milliseconds of any steady clock. */
  nowMs(): number;
  write(text: string): void;
}

const CLEARED = "\r\u001b[K";
const TERMINAL_PERIOD_MS = 100;

/** Call `update` as often as you like and `finish` once, also after a failure. */
export class PacedLine {
  readonly #output: LineOutput;
  readonly #plainPeriodMs: number;
  readonly #startMs: number;
  #nextMs: number;
  #isShown = false;

  /** @param quietMs nothing is said before: a short wait needs no words */
  constructor(output: LineOutput, quietMs: number, plainPeriodMs: number) {
    this.#output = output;
    this.#plainPeriodMs = plainPeriodMs;
    this.#startMs = output.nowMs();
    this.#nextMs = this.#startMs + quietMs;
  }

  /** @param isLast shown in any case */
  update(textAfter: (elapsedSeconds: number) => string, isLast = false): void {
    const nowMs = this.#output.nowMs();
    if (nowMs < this.#nextMs && !isLast) return;
    const { isTerminal, widthColumns } = this.#output;
    this.#nextMs = nowMs + (isTerminal ? TERMINAL_PERIOD_MS : this.#plainPeriodMs);
    this.#isShown = true;
    const text = textAfter((nowMs - this.#startMs) / 1000);
    // One column stays free, so that no terminal wraps the line that is to be overwritten.
    this.#output.write(isTerminal ? CLEARED + text.slice(0, widthColumns - 1) : `${text}\n`);
  }

  /** Takes the line away, so that results start on a clean one. */
  finish(): void {
    if (this.#isShown && this.#output.isTerminal) this.#output.write(CLEARED);
    this.#isShown = false;
  }
}
