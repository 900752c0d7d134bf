/**
 * Progress of a long comparison, in words.
 *
 * Called by the command, which gives it the clock and stderr: it reads neither itself. What ends
 * in under a second shows nothing at all.
 */

import type { CompareProgress } from "./compare.ts";
import { clockTime } from "./figures.ts";
import { PacedLine, type LineOutput } from "./paced-line.ts";

const QUIET_MS = 1000;
const PLAIN_PERIOD_MS = 5000;

/** Call `update` as often as you like and `finish` once, also after a failure. */
export class ProgressLine {
  readonly #line: PacedLine;

  constructor(output: LineOutput) {
    this.#line = new PacedLine(output, QUIET_MS, PLAIN_PERIOD_MS);
  }

  update(progress: CompareProgress): void {
    this.#line.update((elapsedSeconds) => progressText(progress, elapsedSeconds));
  }

  finish(): void {
    this.#line.finish();
  }
}

function progressText(progress: CompareProgress, elapsedSeconds: number): string {
  const { doneShare, system, admission, seed } = progress;
  const left = doneShare > 0 ? (elapsedSeconds / doneShare) * (1 - doneShare) : null;
  const eta = left === null ? "" : `, ${clockTime(left)} left`;
  return `${(doneShare * 100).toFixed(0)} %: ${system} (${admission}), seed ${seed}${eta}`;
}
