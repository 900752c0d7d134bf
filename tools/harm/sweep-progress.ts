/**
 * The progress bar of the sweep.
 *
 * Called by sweep.ts, which gives it the clock and where to write.
 */

import { clockTime, PacedLine, type LineOutput } from "../../src/report/index.ts";

const BAR_COLUMNS = 30;
const PLAIN_PERIOD_MS = 10_000;

export class SweepProgress {
  readonly #line: PacedLine;
  readonly #total: number;

  constructor(output: LineOutput, total: number) {
    this.#line = new PacedLine(output, 0, PLAIN_PERIOD_MS);
    this.#total = total;
  }

  update(done: number, brokenCount: number): void {
    this.#line.update((elapsedSeconds) => {
      const share = done / this.#total;
      const filled = Math.round(share * BAR_COLUMNS);
      const bar = "#".repeat(filled) + ".".repeat(BAR_COLUMNS - filled);
      const left = clockTime((elapsedSeconds / share) * (1 - share));
      return `[${bar}] ${done}/${this.#total}, ${brokenCount} broken, ${left} left`;
    }, done === this.#total);
  }

  finish(): void {
    this.#line.finish();
  }
}
