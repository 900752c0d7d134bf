/**
 * What `ema chat` asks of a server: its models, an answer as it comes, where the answer's KV lies.
 *
 * Used by the chat session, for its own server and for others alike. It speaks OpenAI's API; the
 * one question beyond it (`/v1/ema/requests/ID/kv`) may be answered by nobody.
 */

import { EmaError } from "../base/index.ts";
import type { KvPlace } from "../serving/index.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface ChatOptions {
  readonly model: string;
  readonly temperature: number;
  readonly outputTokensMax: number | null;
  readonly seed: number | null;
}

/** What comes of an answer, piece by piece. */
export interface AnswerPiece {
  /** What to ask for its KV with. */
  readonly id: string;
  readonly text: string;
  readonly finishReason: string | null;
  /** In the last piece, where the server tells it. */
  readonly completionTokens: number | null;
}

export interface KvReport {
  readonly engine: string;
  readonly state: string;
  readonly tokens: number;
  readonly places: readonly KvPlace[];
}

/** A refusal with the server's own words, which the session may act on. */
export class ChatRefusal extends Error {
  override readonly name = "ChatRefusal";
  readonly code: string | null;

  constructor(message: string, code: string | null) {
    super(message);
    this.code = code;
  }
}

/** One server. */
export class ChatClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #hasKvReports = true;

  /** @param url with or without `/v1` at its end */
  constructor(url: string, apiKey: string | null) {
    this.#url = url.replace(/\/+$/, "").replace(/\/v1$/, "");
    this.#headers = {
      "content-type": "application/json",
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    };
  }

  /** @throws EmaError E_CONNECT, ChatRefusal */
  async models(): Promise<string[]> {
    const response = await this.#fetch("/v1/models", {});
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  }

  /** @throws EmaError E_CONNECT, ChatRefusal; an AbortError once `signal` says so. */
  async *answer(
    messages: readonly ChatMessage[],
    options: ChatOptions,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerPiece> {
    const body = JSON.stringify({
      model: options.model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      temperature: options.temperature,
      ...(options.outputTokensMax === null ? {} : { max_tokens: options.outputTokensMax }),
      ...(options.seed === null ? {} : { seed: options.seed }),
    });
    const request = { method: "POST", body, signal };
    const response = await this.#fetch("/v1/chat/completions", request);
    for await (const data of eventsOf(response, signal)) {
      if (data === "[DONE]") return;
      yield pieceOf(JSON.parse(data) as Chunk);
    }
  }

  /** @returns null once the answer is over, or when this server does not know the question. */
  async kvOf(id: string): Promise<KvReport | null> {
    if (!this.#hasKvReports) return null;
    const path = `/v1/ema/requests/${encodeURIComponent(id)}/kv`;
    try {
      const response = await this.#fetch(path, {});
      const { engine, choices } = (await response.json()) as {
        engine: string;
        choices: Omit<KvReport, "engine">[];
      };
      return choices[0] === undefined ? null : { ...choices[0], engine };
    } catch (error) {
      // The answer may have ended in between; any other word means that nobody knows here.
      if (!(error instanceof ChatRefusal) || error.code !== "request_not_found") {
        this.#hasKvReports = false;
      }
      return null;
    }
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${this.#url}${path}`, { ...init, headers: this.#headers });
    } catch (error) {
      if (error instanceof DOMException) throw error;
      const cause = (error as Error).cause;
      const reason = cause instanceof Error ? cause.message : (error as Error).message;
      throw new EmaError("E_CONNECT", `cannot reach ${this.#url}: ${reason || "no answer"}`);
    }
    if (response.ok) return response;
    throw await refusalOf(response);
  }
}

interface Chunk {
  readonly id?: string;
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly completion_tokens: number } | null;
  readonly error?: { readonly message: string; readonly code?: string | null };
}

function pieceOf({ id, choices, usage, error }: Chunk): AnswerPiece {
  if (error !== undefined) throw new ChatRefusal(error.message, error.code ?? null);
  const choice = choices?.[0];
  return {
    id: id ?? "",
    text: choice?.delta?.content ?? "",
    finishReason: choice?.finish_reason ?? null,
    completionTokens: usage?.completion_tokens ?? null,
  };
}

/** The data of server-sent events, one line each, as OpenAI's servers send them. */
async function* eventsOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  // Node 20's fetch leaves a read open for ever that is aborted behind the last byte.
  const cancel = (): void => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel);
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith("data:")) yield line.slice(5).trim();
      }
    }
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

async function refusalOf(response: Response): Promise<ChatRefusal> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: { message: string; code: string | null } };
    return new ChatRefusal(error.message, error.code);
  } catch {
    return new ChatRefusal(`the server answered ${response.status}`, null);
  }
}
