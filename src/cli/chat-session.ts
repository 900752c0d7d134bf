/**
 * A conversation: what was said, what is said next, commands, and what an interrupt means.
 *
 * Driven by the chat command with a screen and a client. It knows neither terminals nor HTTP.
 *
 *     ASKING --line--> ANSWERING --last piece, or interrupt--> ASKING
 *        |                                                       |
 *        +--- /quit, end of input, or interrupt after interrupt -+--> over
 */

import { ChatRefusal, type AnswerPiece, type ChatClient, type ChatMessage } from "./chat-client.ts";
import type { ChatOptions, KvReport } from "./chat-client.ts";

/** Where a conversation is seen. */
export interface ChatScreen {
  /** @returns the next line, or null: there is none any more, or the user wants to leave. */
  ask(): Promise<string | null>;
  /** An answer begins; `interrupt` is called when the user wants no more of it. */
  beginAnswer(interrupt: () => void): void;
  write(text: string): void;
  /** Where the KV lies now; null: it is not known. */
  showKv(report: KvReport | null): void;
  endAnswer(summary: AnswerSummary): void;
  note(text: string): void;
  /** The server refused; the conversation may go on. */
  fail(text: string): void;
}

export interface AnswerSummary {
  /** The last that was known while it was being made. */
  readonly kv: KvReport | null;
  readonly tokens: number | null;
  readonly seconds: number;
  readonly isInterrupted: boolean;
  readonly isCut: boolean;
}

/** What has come of an answer. */
interface Seen {
  text: string;
  tokens: number | null;
  isCut: boolean;
  isOutOfMemory: boolean;
}

export interface SessionClock {
  seconds(): number;
  /** Calls back again and again, until what it returns is called. */
  every(milliseconds: number, callback: () => void): () => void;
}

/** Often enough to see blocks move, and nothing beside the steps of an engine. */
const KV_EVERY_MS = 150;

const HELP = `/reset  forget the conversation
/quit   leave (also Ctrl-D)
/help   this
Ctrl-C ends an answer; once more it ends the chat.`;

/** One conversation with one model. */
export class ChatSession {
  readonly #client: ChatClient;
  readonly #screen: ChatScreen;
  readonly #clock: SessionClock;
  readonly #options: ChatOptions;
  readonly #system: readonly ChatMessage[];
  #messages: ChatMessage[] = [];
  /** The last answer ended because the context was full, or the memory that engines have for it. */
  #isFull = false;

  constructor(
    client: ChatClient,
    screen: ChatScreen,
    clock: SessionClock,
    options: ChatOptions,
    system: string | null,
  ) {
    this.#client = client;
    this.#screen = screen;
    this.#clock = clock;
    this.#options = options;
    this.#system = system === null ? [] : [{ role: "system", content: system }];
  }

  /** Until the user leaves. @throws EmaError E_CONNECT when the server is gone. */
  async run(): Promise<void> {
    for (;;) {
      const line = await this.#screen.ask();
      if (line === null) return;
      const text = line.trim();
      if (text === "") continue;
      if (text === "/quit" || text === "/exit") return;
      if (text.startsWith("/")) this.#command(text);
      else await this.#say(text);
    }
  }

  #command(text: string): void {
    if (text === "/help") this.#screen.note(HELP);
    else if (text === "/reset") {
      this.#messages = [];
      this.#isFull = false;
      this.#screen.note("forgotten");
    } else this.#screen.note(`${text} is no command; /help lists them`);
  }

  /** Says `text`, forgetting the oldest messages as long as all of them do not fit. */
  async #say(text: string): Promise<void> {
    let forgotten = this.#isFull ? this.#forgetHalf() : 0;
    this.#messages.push({ role: "user", content: text });
    for (;;) {
      try {
        await this.#answer();
        break;
      } catch (error) {
        if (!(error instanceof ChatRefusal)) throw error;
        if (isTooLong(error) && this.#messages.length > 1) {
          forgotten += this.#messages.splice(0, 2).length;
          continue;
        }
        this.#messages.pop();
        this.#screen.fail(error.message);
        break;
      }
    }
    if (forgotten === 0) return;
    this.#screen.note(`the ${forgotten} oldest messages did not fit and were forgotten`);
  }

  /** Makes room for more than the few tokens that are left. @returns how many messages went */
  #forgetHalf(): number {
    return this.#messages.splice(0, 2 * Math.ceil(this.#messages.length / 4)).length;
  }

  async #answer(): Promise<void> {
    const { signal, abort } = interruption();
    const pieces = this.#client.answer([...this.#system, ...this.#messages], this.#options, signal);
    const beganAt = this.#clock.seconds();
    // What is refused is refused before the first piece: nothing has been shown then.
    const first = await pieces.next();
    this.#screen.beginAnswer(abort);
    const seen: Seen = { text: "", tokens: null, isCut: false, isOutOfMemory: false };
    const kv = this.#watchKv(first.value?.id ?? "");
    try {
      for (let step = first; step.done !== true; step = await pieces.next()) {
        this.#show(step.value, seen);
      }
    } catch (error) {
      // What has been shown stands: an answer that outgrew the engine's memory is not asked again.
      if (seen.text !== "" && isTooLong(error)) seen.isCut = seen.isOutOfMemory = true;
      else if (!signal.aborted) throw error;
    } finally {
      const seconds = this.#clock.seconds() - beganAt;
      const { tokens, isCut } = seen;
      const isInterrupted = signal.aborted;
      this.#screen.endAnswer({ kv: kv.stop(), tokens, seconds, isInterrupted, isCut });
    }
    this.#messages.push({ role: "assistant", content: seen.text });
    const hadNoLimit = this.#options.outputTokensMax === null;
    this.#isFull = seen.isOutOfMemory || (seen.isCut && hadNoLimit);
  }

  #show(piece: AnswerPiece, seen: Seen): void {
    if (piece.text !== "") {
      seen.text += piece.text;
      this.#screen.write(piece.text);
    }
    if (piece.finishReason === "length") seen.isCut = true;
    seen.tokens = piece.completionTokens ?? seen.tokens;
  }

  /** Shows where the KV of an answer lies until told to stop. */
  #watchKv(id: string): { stop: () => KvReport | null } {
    let last: KvReport | null = null;
    let isOver = false;
    const look = async (): Promise<void> => {
      const report = await this.#client.kvOf(id);
      if (report === null || isOver) return;
      // At its end a request has given its memory back; what it had is what is of interest.
      if (report.places.length > 0 || last === null) last = report;
      this.#screen.showKv(last);
    };
    void look();
    const stop = this.#clock.every(KV_EVERY_MS, () => void look());
    return {
      stop: () => {
        isOver = true;
        stop();
        return last;
      },
    };
  }
}

function isTooLong(error: unknown): boolean {
  return error instanceof ChatRefusal && error.code === "context_length_exceeded";
}

function interruption(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
