/** Byte-level BPE cuts words as the reference implementation does, under each name GGUF knows. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DescribedFields } from "../../src/model/described-fields.ts";
import { readGgufTokenizer } from "../../src/model/gguf-tokenizer.ts";

/** `source` says whose ids they are. */
interface Cases {
  readonly source: string;
  readonly texts: readonly string[];
  readonly tokenizers: readonly {
    readonly pre: string;
    readonly tokens: readonly string[];
    readonly merges: readonly string[];
    /** (texts) */
    readonly ids: readonly (readonly number[])[];
  }[];
}

const path = join(import.meta.dirname, "fixtures/byte-level-cases.json");
const cases = JSON.parse(readFileSync(path, "utf8")) as Cases;

describe.each(cases.tokenizers)("words of $pre", ({ pre, tokens, merges, ids }) => {
  const { tokenizer } = readGgufTokenizer(fieldsOf(pre), tokens.length);

  function fieldsOf(name: string): DescribedFields {
    return new DescribedFields(
      "fixture",
      new Map<string, unknown>([
        ["tokenizer.ggml.model", "gpt2"],
        ["tokenizer.ggml.pre", name],
        ["tokenizer.ggml.tokens", tokens],
        ["tokenizer.ggml.merges", merges],
        ["tokenizer.ggml.token_type", Int32Array.from(tokens, (_, id) => (id < 2 ? 3 : 1))],
        ["tokenizer.ggml.bos_token_id", 0],
      ]),
    );
  }

  it("have the ids of the reference", () => {
    const found = cases.texts.map((text) => [...tokenizer.encode(text, false)]);
    expect(found).toEqual(ids);
  });

  it("come back as the text", () => {
    for (const text of cases.texts) {
      expect(tokenizer.decode(tokenizer.encode(text, true))).toBe(text);
    }
  });

  it("begin with a token where the name says so", () => {
    expect(tokenizer.beginId).toBe(pre === "llama-bpe" ? 0 : null);
  });

  it("of a name that is not known are refused with those that are", () => {
    expect(() => readGgufTokenizer(fieldsOf("mystery"), tokens.length)).toThrow(
      /"mystery", which is not built; expected one of gpt-2, smollm, llama-bpe, qwen2/,
    );
  });
});
