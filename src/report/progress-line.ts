/**
 * Progress of a long comparison: one line that updates on a terminal, a plain line now and then
 * else.
 *
 * Called by the command, which gives it the clock and stderr: it reads neither itself. What ends
 * in under a second shows nothing at all.
 */

import type { CompareProgress } from "./compare.ts";
import { clockTime } from "./figures.ts";

export interface ProgressOutput {
  readonly isTerminal: boolean;
  readonly widthColumns: number;
  /** Milliseconds of any steady clock. */
  nowMs(): number;
  write(text: string): void;
}

/** Nothing is said before this: a short wait needs no words. */
const QUIET_MS = 1000;
const TERMINAL_PERIOD_MS = 100;
const PLAIN_PERIOD_MS = 5000;

/** Call `update` as often as you like and `finish` once, also after a failure. */
export class ProgressLine {
  readonly #output: ProgressOutput;
  readonly #startMs: number;
  #nextMs: number;
  #isShown = false;

  constructor(output: ProgressOutput) {
    this.#output = output;
    this.#startMs = output.nowMs();
    this.#nextMs = this.#startMs + QUIET_MS;
  }

  update(progress: CompareProgress): void {
    const nowMs = this.#output.nowMs();
    if (nowMs < this.#nextMs) return;
    const { isTerminal, widthColumns } = this.#output;
    this.#nextMs = nowMs + (isTerminal ? TERMINAL_PERIOD_MS : PLAIN_PERIOD_MS);
    this.#isShown = true;
    const text = this.#text(progress, (nowMs - this.#startMs) / 1000);
    // One column stays free, so that no terminal wraps the line that is to be overwritten.
    this.#output.write(isTerminal ? `\r\u001b[K${text.slice(0, widthColumns - 1)}` : `${text}\n`);
  }

  /** Takes the line away, so that results start on a clean one. */
  finish(): void {
    if (this.#isShown && this.#output.isTerminal) this.#output.write("\r\u001b[K");
    this.#isShown = false;
  }

  #text(progress: CompareProgress, elapsedSeconds: number): string {
    const { doneShare, system, admission, seed } = progress;
    const left = doneShare > 0 ? (elapsedSeconds / doneShare) * (1 - doneShare) : null;
    const eta = left === null ? "" : `, ${clockTime(left)} left`;
    return `${(doneShare * 100).toFixed(0)} %: ${system} (${admission}), seed ${seed}${eta}`;
  }
}
