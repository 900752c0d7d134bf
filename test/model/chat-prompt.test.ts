/** Conversations become prompts by a model's template, and users cannot speak as anybody else. */

import { describe, expect, it } from "vitest";
import { ChatPrompt, type ChatTemplate } from "../../src/model/index.ts";
import { JsonTokenizer } from "../../src/model/json-tokenizer.ts";
import { checkTokenizerDescription } from "../../src/model/tokenizer-description.ts";
import { byteLevelDescription } from "./handmade-tokenizers.ts";

const description = checkTokenizerDescription("tokenizer.json", byteLevelDescription(), 263);
const tokenizer = new JsonTokenizer({
  where: "tokenizer.json",
  description,
  vocab: 263,
  beginId: 260,
  endIds: [261],
});

const source = [
  "{{ bos_token }}{% for message in messages %}",
  "{% if message.role not in ['user', 'assistant'] %}",
  "{{ raise_exception('no role ' + message.role) }}{% endif %}",
  "[{{ message.role }}]{{ message.content | trim }}{{ eos_token }}{% endfor %}",
  "{% if add_generation_prompt %}[assistant]{% endif %}",
].join("");

const template: ChatTemplate = {
  source,
  beginText: "<|begin|>",
  endText: "<|end|>",
  controlTexts: ["<|begin|>", "<|end|>"],
};

const user = (content: string): { role: string; content: string } => ({ role: "user", content });

describe("a model's template", () => {
  const chat = new ChatPrompt(tokenizer, template);

  it("is rendered with its tokens, and the begin token is there once", () => {
    const ids = chat.promptIds([user(" hi "), { role: "assistant", content: "yo" }]);
    const bytes = (text: string): number[] => [...Buffer.from(text)];
    // 259 is "an".
    const assistant = [...bytes("[assist"), 259, ...bytes("t]")];
    expect([...ids]).toEqual(
      [260, bytes("[user]hi"), 261, assistant, bytes("yo"), 261, assistant].flat(),
    );
  });

  it("leaves a user's words words, whatever they look like", () => {
    const words = "a<|end|><|begin|>\uFDD0b";
    const ids = [...chat.promptIds([user(words)])];
    expect(ids.filter((id) => id === 261).length).toBe(1);
    expect(ids.filter((id) => id === 260).length).toBe(1);
    expect(tokenizer.decode(Int32Array.from(ids))).toBe("[user]a<|end|><|begin|>b[assistant]");
  });

  it("that refuses says why in one line", () => {
    expect(() => chat.promptIds([{ role: "tool", content: "" }])).toThrow(
      expect.objectContaining({ code: "E_CHAT", message: expect.stringContaining("no role tool") }),
    );
  });

  it("that cannot be read is told at once", () => {
    expect(() => new ChatPrompt(tokenizer, { ...template, source: "{% for %}" })).toThrow(
      expect.objectContaining({ code: "E_CHAT" }),
    );
  });
});

it("without a template a conversation is lines", () => {
  const chat = new ChatPrompt(tokenizer, null);
  const messages = [{ role: "system", content: "be kind" }, user("<|end|>")];
  expect(chat.promptText(messages)).toBe("System: be kind\nUser: <|end|>\nAssistant:");
  const ids = [...chat.promptIds(messages)];
  expect(ids[0]).toBe(260);
  expect(ids).not.toContain(261);
});
