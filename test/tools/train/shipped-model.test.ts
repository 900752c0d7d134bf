/** Tests of the model in the box: its size, that two readers agree on it, that it answers. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { Prng } from "../../../src/base/prng.ts";
import { ChatPrompt, likeliest, loadCheckpoint } from "../../../src/model/index.ts";
import { BpeEncoder } from "../../../tools/train/bpe-encoder.ts";
import { makeDocument } from "../../../tools/train/corpus/dialogue.ts";
import { compileKernels, Workbench } from "../../../tools/train/kernels.ts";
import { LlamaNetwork } from "../../../tools/train/llama-network.ts";
import { tensorPlaces } from "../../../tools/train/llama-shape.ts";
import { encodeDocument, SPECIALS } from "../../../tools/train/training-text.ts";
import { Decoding } from "../../model/decoding.ts";
import { readGguf } from "./gguf-reading.ts";

const folder = resolve(import.meta.dirname, "../../../models/ema-tiny");
const bytes = readFileSync(resolve(folder, "ema-tiny.gguf"));
const file = readGguf(bytes);
const checkpoint = await loadCheckpoint(resolve(folder, "ema-tiny.gguf"));
const chat = new ChatPrompt(checkpoint.tokenizer, checkpoint.chatTemplate);

const number = (key: string): number => file.metadata.get(key) as number;
const strings = (key: string): string[] => file.metadata.get(key) as string[];
const encoder = new BpeEncoder({
  tokens: strings("tokenizer.ggml.tokens"),
  merges: strings("tokenizer.ggml.merges").map((pair) => pair.split(" ") as [string, string]),
  specialCount: SPECIALS.length,
});
const shape = {
  vocabulary: number("llama.vocab_size"),
  width: number("llama.embedding_length"),
  layers: number("llama.block_count"),
  heads: number("llama.attention.head_count"),
  kvHeads: number("llama.attention.head_count_kv"),
  headWidth: number("llama.attention.key_length"),
  feedForward: number("llama.feed_forward_length"),
  ropeBase: number("llama.rope.freq_base"),
  epsilon: number("llama.attention.layer_norm_rms_epsilon"),
  context: number("llama.context_length"),
};

it("fits in two MiB and takes a thousand tokens", () => {
  expect(bytes.length).toBeLessThanOrEqual(2 * 1024 * 1024);
  expect(checkpoint.config.contextTokensMax).toBeGreaterThanOrEqual(1024);
  expect(checkpoint.name).toBe("ema-tiny");
});

describe("the tokenizer", () => {
  const check = (text: string): void => {
    expect([...checkpoint.tokenizer.encode(text, true)], text).toEqual(encoder.encode(text));
  };

  it("is read by the product as it was trained, on text of the corpus", () => {
    const prng = new Prng(11);
    for (let index = 0; index < 60; index++) {
      for (const { text } of makeDocument(prng)) check(text);
    }
  });

  it("and on any other text", () => {
    check("Hällo 你好 🙂\n\n  it's 3+4 <|end|> \t x");
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 40 }), check), { numRuns: 200 });
  });

  it("writes a dialogue as the corpus does", () => {
    const messages = [
      { role: "system", content: "Be kind." },
      { role: "user", content: "Hello!" },
      { role: "assistant", content: "Hi." },
      { role: "user", content: "Who are you?" },
    ] as const;
    const turns = messages.map(({ role, content }) => ({ role, text: content }));
    const { ids } = encodeDocument(encoder, turns);
    const expected = [...ids, encoder.special("<|assistant|>")];
    expect([...chat.promptIds(messages)]).toEqual(expected);
  });
});

it("the product's decoder computes what the trainer computes", async () => {
  const { tokenizer, config, weights } = checkpoint;
  const ids = [0, ...tokenizer.encode("Tom has a red ball. Where is the key? Once upon a", true)];
  ids.length = 24;
  const bench = new Workbench(await compileKernels());
  const network = new LlamaNetwork(bench, shape, ids.length);
  for (const { name, offset, count } of tensorPlaces(shape)) {
    const place = network.parameters + 4 * offset;
    bench.floats(place, count).set(file.tensors.get(name)!.values);
  }
  network.forward(ids);
  const sizes = { sequences: 1, contextTokens: 64, batchTokensMax: 24, blockTokens: 16 };
  const decoding = new Decoding(config, weights, sizes);
  const logits = decoding.step([{ sequence: 0, first: 0, ids }]);
  const own = bench.floats(network.logits, ids.length * shape.vocabulary);
  let worst = 0;
  for (const [row, values] of logits.entries()) {
    for (const [id, value] of values.entries()) {
      worst = Math.max(worst, Math.abs(value - own[row * shape.vocabulary + id]!));
    }
  }
  expect(worst).toBeLessThan(2e-3);
});

describe("it answers", () => {
  function answer(said: readonly string[], tokensMax: number): string {
    const { config, weights, tokenizer } = checkpoint;
    const messages = said.map((content, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content,
    }));
    const ids = [...chat.promptIds(messages)];
    const start = ids.length;
    const contextTokens = start + tokensMax + 16;
    const sizes = { sequences: 1, contextTokens, batchTokensMax: start, blockTokens: 16 };
    const decoding = new Decoding(config, weights, sizes);
    let next = decoding.step([{ sequence: 0, first: 0, ids }]).at(-1)!;
    while (ids.length < start + tokensMax) {
      const id = likeliest(next);
      if (tokenizer.endIds.includes(id)) break;
      ids.push(id);
      next = decoding.step([{ sequence: 0, first: ids.length - 1, ids: [id] }])[0]!;
    }
    return tokenizer.decode(Int32Array.from(ids.slice(start)));
  }

  // The card shows these; what it shows is what the file says.
  const card = readFileSync(resolve(folder, "README.md"), "utf8");
  const samples = [...card.matchAll(/^> (.+)\n\n([^>#]+?)\n(?=\n|$)/gm)];

  it("and the card has samples", () => {
    expect(samples.length).toBeGreaterThanOrEqual(5);
  });

  it.each(samples.map(([, asked, answered]) => [asked!, answered!]))("%s", (asked, answered) => {
    expect(answer([asked], 400)).toBe(answered);
  });
});
