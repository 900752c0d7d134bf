/**
 * The screen of `ema chat` without a terminal: a line in, an answer out, as plain text.
 *
 * Driven by the chat session. Answers go to stdout and nothing else does; where the KV lay, notes
 * and failures go to stderr.
 */

import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Paint } from "../report/index.ts";
import { summaryText } from "./chat-kv-bar.ts";
import type { AnswerSummary, ChatScreen } from "./chat-session.ts";

/** Of a line for people that nobody has measured a terminal for. */
const COLUMNS = 120;

/** Lines from one stream, answers to another. */
export class ChatPipe implements ChatScreen {
  readonly #lines: AsyncIterator<string>;
  readonly #output: Writable;
  readonly #messages: Writable;
  readonly #paint: Paint;
  #interrupt: (() => void) | null = null;
  #hasFailed = false;

  constructor(input: Readable, output: Writable, messages: Writable, paint: Paint) {
    this.#lines = createInterface({ input })[Symbol.asyncIterator]();
    this.#output = output;
    this.#messages = messages;
    this.#paint = paint;
  }

  /** A message was refused: a script wants to know. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  async ask(): Promise<string | null> {
    const { value, done } = await this.#lines.next();
    return done === true ? null : value;
  }

  /** @returns false when there is no answer to end: the chat itself is meant. */
  interrupt(): boolean {
    const end = this.#interrupt;
    this.#interrupt = null;
    end?.();
    return end !== null;
  }

  beginAnswer(interrupt: () => void): void {
    this.#interrupt = interrupt;
  }

  write(text: string): void {
    this.#output.write(text);
  }

  showKv(): void {}

  endAnswer(summary: AnswerSummary): void {
    this.#interrupt = null;
    this.#output.write("\n");
    const line = summaryText(summary, COLUMNS, this.#paint);
    if (line !== "") this.#messages.write(`${line}\n`);
  }

  note(text: string): void {
    this.#messages.write(`${text}\n`);
  }

  fail(text: string): void {
    this.#hasFailed = true;
    this.#messages.write(`ema: ${text}\n`);
  }
}
