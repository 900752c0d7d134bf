/**
 * The screen of `ema chat` on a terminal: prompt, streamed text, a live line at the bottom.
 *
 * Driven by the chat session. While an answer comes, the last row of the terminal is taken out of
 * the scrolled region and shows where the KV lies; afterwards the row is given back and its last
 * state stands below the answer. (DECSTBM, DECSC and DECRC of the VT100, which every terminal
 * emulator has.)
 *
 * Invariant: outside of an answer the terminal is as it was found: whole region, cooked input.
 */

import { createInterface } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import type { Paint } from "../report/index.ts";
import { kvLine, summaryText } from "./chat-kv-bar.ts";
import type { KvReport } from "./chat-client.ts";
import type { AnswerSummary, ChatScreen } from "./chat-session.ts";
import { LineWrap } from "./chat-wrap.ts";

const CTRL_C = "\u0003";

/** A terminal of at least a few rows. */
export class ChatTerminal implements ChatScreen {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  readonly #paint: Paint;
  readonly #resized = (): void => this.#takeRow();
  #history: string[] = [];
  #interrupt: (() => void) | null = null;
  #wrap = new LineWrap();
  #kv: KvReport | null = null;
  /** An interrupt was the last thing the user did: another one ends the chat. */
  #isLeaving = false;

  constructor(input: ReadStream, output: WriteStream, paint: Paint) {
    this.#input = input;
    this.#output = output;
    this.#paint = paint;
  }

  ask(): Promise<string | null> {
    const terminal = createInterface({
      input: this.#input,
      output: this.#output,
      prompt: this.#paint.bold("> "),
      history: this.#history,
    });
    return new Promise((resolve) => {
      let answer: string | null = null;
      terminal.on("line", (line) => {
        answer = line;
        this.#isLeaving = false;
        terminal.close();
      });
      terminal.on("SIGINT", () => {
        if (this.#isLeaving) return terminal.close();
        this.#isLeaving = true;
        this.#output.write(`\n${this.#paint.dim("Ctrl-C once more, or /quit, to leave")}\n`);
        terminal.prompt();
      });
      terminal.on("history", (history: string[]) => (this.#history = history));
      terminal.on("close", () => {
        if (answer === null) this.#output.write("\n");
        resolve(answer);
      });
      terminal.prompt();
    });
  }

  beginAnswer(interrupt: () => void): void {
    this.#interrupt = interrupt;
    this.#kv = null;
    this.#wrap = new LineWrap();
    this.#input.setRawMode(true);
    this.#input.on("data", this.#pressed).resume();
    this.#output.on("resize", this.#resized);
    // The row below must exist before the region can end above it.
    this.#output.write("\n\u001b[1A");
    this.#takeRow();
  }

  write(text: string): void {
    this.#output.write(this.#wrap.push(printable(text), this.#output.columns));
  }

  showKv(report: KvReport | null): void {
    this.#kv = report;
    if (this.#interrupt !== null) this.#drawRow();
  }

  endAnswer(summary: AnswerSummary): void {
    this.#interrupt = null;
    this.#output.off("resize", this.#resized);
    this.#input.off("data", this.#pressed).pause();
    this.#input.setRawMode(false);
    // Clears the row, scrolls everywhere again, and goes back to where the text ended.
    this.#output.write(`\u001b7\u001b[${this.#output.rows};1H\u001b[2K\u001b[r\u001b8\n`);
    const line = summaryText(summary, this.#output.columns - 1, this.#paint);
    if (line !== "") this.#output.write(`${this.#paint.dim(line)}\n`);
  }

  note(text: string): void {
    this.#output.write(`${this.#paint.dim(text)}\n`);
  }

  fail(text: string): void {
    this.#output.write(`${this.#paint.warning(text)}\n`);
  }

  /** Raw input is ours alone: what is typed during an answer is not echoed into it. */
  readonly #pressed = (keys: Buffer): void => {
    if (!keys.toString().includes(CTRL_C)) return;
    this.#isLeaving = true;
    this.#interrupt?.();
  };

  #takeRow(): void {
    this.#output.write(`\u001b7\u001b[1;${this.#output.rows - 1}r\u001b8`);
    this.#drawRow();
  }

  #drawRow(): void {
    const { rows, columns } = this.#output;
    const line = kvLine(this.#kv, columns - 1, this.#paint);
    this.#output.write(`\u001b7\u001b[${rows};1H\u001b[2K${line}\u001b8`);
  }
}

/** A model's text must not steer the terminal. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\uFFFD");
}
