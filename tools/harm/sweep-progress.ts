/**
 * The progress bar of the sweep: one line that is overwritten on a terminal, a line now and then
 * elsewhere.
 *
 * Called by sweep.ts, which gives it the clock and where to write.
 */

export interface ProgressOutput {
  readonly isTerminal: boolean;
  nowMs(): number;
  write(text: string): void;
}

const BAR_COLUMNS = 30;
const TERMINAL_PERIOD_MS = 100;
const PLAIN_PERIOD_MS = 10_000;

export class SweepProgress {
  readonly #output: ProgressOutput;
  readonly #total: number;
  readonly #startMs: number;
  #nextMs = 0;

  constructor(output: ProgressOutput, total: number) {
    this.#output = output;
    this.#total = total;
    this.#startMs = output.nowMs();
  }

  update(done: number, brokenCount: number): void {
    const nowMs = this.#output.nowMs();
    if (nowMs < this.#nextMs && done < this.#total) return;
    const { isTerminal } = this.#output;
    this.#nextMs = nowMs + (isTerminal ? TERMINAL_PERIOD_MS : PLAIN_PERIOD_MS);
    const share = done / this.#total;
    const filled = Math.round(share * BAR_COLUMNS);
    const bar = "#".repeat(filled) + ".".repeat(BAR_COLUMNS - filled);
    const leftSeconds = ((nowMs - this.#startMs) / 1000 / share) * (1 - share);
    const left = `${clock(leftSeconds)} left`;
    const text = `[${bar}] ${done}/${this.#total}, ${brokenCount} broken, ${left}`;
    this.#output.write(isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
  }

  finish(): void {
    if (this.#output.isTerminal) this.#output.write("\r\u001b[K");
  }
}

function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
