/**
 * Turns a conversation into the token ids that its model was trained to continue.
 *
 * Made once a model, called by the server for each chat request. The template is Jinja, as models
 * bring it along, rendered by @huggingface/jinja. A model without one gets a plain one of ours: a
 * line a message, which untrained and story models at least continue.
 *
 * What a user writes stays words: text in a message that looks like a control token is marked
 * before rendering, so that nobody ends a turn, or speaks as the system, by typing it.
 */

import { Template } from "@huggingface/jinja";
import { EmaError } from "../base/index.ts";
import { WORD_MARK } from "./special-tokens.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface ChatTemplate {
  /** Jinja. */
  readonly source: string;
  /** How the begin and end tokens are written; empty where there is none. */
  readonly beginText: string;
  readonly endText: string;
  /** What a message must not be taken for. */
  readonly controlTexts: readonly string[];
}

export interface PromptMessage {
  readonly role: string;
  readonly content: string;
}

const PLAIN_ROLES: ReadonlyMap<string, string> = new Map([
  ["system", "System"],
  ["user", "User"],
  ["assistant", "Assistant"],
]);

export class ChatPrompt {
  readonly #tokenizer: Tokenizer;
  readonly #template: ChatTemplate | null;
  readonly #parsed: Template | null;

  /** @throws EmaError E_CHAT when the template is not Jinja that can be read */
  constructor(tokenizer: Tokenizer, template: ChatTemplate | null) {
    this.#tokenizer = tokenizer;
    this.#template = template;
    this.#parsed = template === null ? null : parsed(template.source);
  }

  /**
   * @returns ids that end where the assistant begins to speak
   * @throws EmaError E_CHAT when the template refuses the messages
   */
  promptIds(messages: readonly PromptMessage[]): Int32Array {
    const tokenizer = this.#tokenizer;
    const ids = tokenizer.encode(this.promptText(messages), this.#parsed === null);
    const { beginId } = tokenizer;
    // Most templates write the begin token themselves; two of them would be one too many.
    if (beginId === null || ids[0] === beginId) return ids;
    return Int32Array.of(beginId, ...ids);
  }

  /** The prompt as text, with marks where a message holds what looks like a control token. */
  promptText(messages: readonly PromptMessage[]): string {
    if (this.#template === null || this.#parsed === null) return plainPrompt(messages);
    const { beginText, endText, controlTexts } = this.#template;
    try {
      return this.#parsed.render({
        messages: messages.map(({ role, content }) => ({
          role,
          content: marked(content, controlTexts),
        })),
        add_generation_prompt: true,
        bos_token: beginText,
        eos_token: endText,
      });
    } catch (error) {
      throw chatFault("the chat template refuses the messages", error);
    }
  }
}

function parsed(source: string): Template {
  try {
    return new Template(source);
  } catch (error) {
    throw chatFault("the chat template cannot be read", error);
  }
}

function chatFault(what: string, error: unknown): EmaError {
  const reason = error instanceof Error ? error.message : String(error);
  const line = reason.replaceAll(/\s+/g, " ").slice(0, 200);
  return new EmaError("E_CHAT", `${what}: ${line}`, { cause: error });
}

function plainPrompt(messages: readonly PromptMessage[]): string {
  const lines = messages.map(({ role, content }) => `${PLAIN_ROLES.get(role) ?? role}: ${content}`);
  return [...lines, "Assistant:"].join("\n");
}

/** A mark goes behind the first character, so that the rest is no control token either. */
function marked(content: string, controlTexts: readonly string[]): string {
  let text = content.replaceAll(WORD_MARK, "");
  for (const control of controlTexts) {
    if (control.length < 2) continue;
    const [first] = control;
    text = text.replaceAll(control, `${first}${WORD_MARK}${control.slice(first!.length)}`);
  }
  return text;
}
