/** Tests of a training run: it learns, it can be resumed, and it is the same from the same seed. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe, expect, it } from "vitest";

import { Prng } from "../../../src/base/prng.ts";
import { BpeEncoder } from "../../../tools/train/bpe-encoder.ts";
import { trainVocabulary } from "../../../tools/train/bpe-trainer.ts";
import { readCheckpoint, writeCheckpoint } from "../../../tools/train/checkpoint.ts";
import { compileKernels } from "../../../tools/train/kernels.ts";
import { learningRate } from "../../../tools/train/optimizer.ts";
import { DEFAULTS, shapeOf } from "../../../tools/train/run-options.ts";
import { Sampler } from "../../../tools/train/sampler.ts";
import {
  COPY_LENGTH,
  encodeDocument,
  makeCopyRows,
  makeRows,
  SPECIALS,
  vocabularyText,
} from "../../../tools/train/training-text.ts";
import { TrainingRun } from "../../../tools/train/training-run.ts";

const folder = mkdtempSync(join(tmpdir(), "ema-train-"));
afterAll(() => rmSync(folder, { recursive: true }));

const options = {
  ...DEFAULTS,
  steps: 30,
  warmUp: 3,
  sequences: 8,
  length: 64,
  longLength: 128,
  rate: 0.01,
  vocabulary: 304,
  vocabularyDocuments: 40,
  width: 32,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  feedForward: 48,
};
const module = await compileKernels();
const vocabulary = trainVocabulary(vocabularyText(1, 40), SPECIALS, options.vocabulary);
const shape = shapeOf(options);

describe.each(["muon", "adamw"])("a run with %s", (optimizer) => {
  const make = () => new TrainingRun(module, shape, vocabulary, { ...options, optimizer });

  it("lowers the loss on text it has not seen", () => {
    const run = make();
    const before = run.validate();
    while (run.step < 30) run.advance();
    expect(before).toBeGreaterThan(5);
    expect(run.validate()).toBeLessThan(before - 1.2);
  });

  it("goes on from a checkpoint as if it had never ended", () => {
    const whole = make();
    while (whole.step < 8) whole.advance();
    const first = make();
    while (first.step < 4) first.advance();
    const path = join(folder, `${optimizer}.bin`);
    const plain = { options: {}, secondsSpent: 1, vocabulary };
    writeCheckpoint(path, { ...plain, step: 4, arrays: first.arrays() });
    const saved = readCheckpoint(path);
    const second = make();
    second.restore(saved.step, saved.arrays);
    // Looking at unseen text in between changes nothing.
    second.validate();
    while (second.step < 8) second.advance();
    expect(second.parameters().every((value) => Number.isFinite(value))).toBe(true);
    expect([...second.parameters()]).toEqual([...whole.parameters()]);
    expect(saved.vocabulary).toEqual(vocabulary);
  });
});

it("a checkpoint of another shape is refused", () => {
  const run = new TrainingRun(module, shape, vocabulary, options);
  expect(() => run.restore(1, [new Float32Array(3)])).toThrow("another shape");
});

it("rows learn what the model says and not what users type", () => {
  const encoder = new BpeEncoder(vocabulary);
  const turns = [
    { role: "system", text: "be kind" },
    { role: "user", text: "hi" },
    { role: "assistant", text: "hello" },
  ] as const;
  const { ids, learnt } = encodeDocument(encoder, turns);
  const own = ids.filter((_, index) => learnt[index] === 1);
  expect(own).toEqual([...encoder.encode("hello"), encoder.special("<|end|>")]);
  const specials = ids.filter((id) => id < SPECIALS.length).map((id) => SPECIALS[id]);
  const [begin, end] = ["<|begin|>", "<|end|>"];
  const roles = ["<|system|>", "<|user|>", "<|assistant|>"];
  expect(specials).toEqual([begin, ...roles.flatMap((role) => [role, end])]);
});

it("rows begin with a document, and their targets are what follows", () => {
  const encoder = new BpeEncoder(vocabulary);
  const { tokens, targets, weights, learnt } = makeRows(encoder, new Prng(2), 3, 50, "late");
  for (let row = 0; row < 3; row++) expect(tokens[row * 50]).toBe(encoder.special("<|begin|>"));
  for (let index = 0; index < 149; index++) {
    if (index % 50 !== 49) expect(targets[index]).toBe(tokens[index + 1]);
  }
  expect(weights.reduce((sum, weight) => sum + weight, 0)).toBe(learnt);
});

it("copy rows say random words over and over, and count only what can be known", () => {
  const { tokens, targets, weights } = makeCopyRows(vocabulary.tokens.length, new Prng(1), 8);
  for (let first = 0; first < tokens.length; first += COPY_LENGTH) {
    const own = tokens.subarray(first, first + COPY_LENGTH);
    const start = weights.subarray(first, first + COPY_LENGTH).indexOf(1);
    // From the last word of the first round on, the next word is the one a round before it.
    expect(start).toBeGreaterThanOrEqual(7);
    for (let position = 0; position < COPY_LENGTH - 1; position++) {
      expect(targets[first + position]).toBe(own[position + 1]);
      expect(weights[first + position]).toBe(position < start ? 0 : 1);
      if (position >= start) expect(own[position + 1]).toBe(own[position - start]);
    }
  }
  expect(Math.min(...tokens)).toBeGreaterThanOrEqual(SPECIALS.length);
});

it("copy steps are every second one of their stretch, and are reported apart", () => {
  const run = new TrainingRun(module, shape, vocabulary, { ...options, copyFrom: 2, copyUntil: 4 });
  run.advance();
  run.advance();
  expect(run.report().copyLoss).toBeNull();
  run.advance();
  run.advance();
  const { copyLoss, loss } = run.report();
  expect(copyLoss).toBeGreaterThan(4);
  expect(loss).toBeGreaterThan(3);
});

it("the rate goes up a line, stays, and goes down a line", () => {
  const plan = {
    optimizer: "adamw",
    steps: 100,
    warmUpSteps: 10,
    rate: 1,
    fallPart: 0.4,
    finalPart: 0.1,
    beta1: 0.9,
    beta2: 0.98,
    decay: 0,
    gradientNormMax: 1,
  } as const;
  const rates = [0, 9, 10, 60, 80, 100].map((step) => learningRate(plan, step));
  const expected = [0.1, 1, 1, 1, 0.55, 0.1];
  for (const [index, rate] of rates.entries()) expect(rate).toBeCloseTo(expected[index]!, 9);
});

it("a gradient that is too long is limited before it is used", () => {
  const run = new TrainingRun(module, shape, vocabulary, { ...options, optimizer: "adamw" });
  run.advance();
  const { norm } = run.report();
  const first = run.arrays()[1]!;
  const length = Math.hypot(...first);
  // The first moment after one step is a tenth of the gradient, whose length is at most 1.
  expect(norm).toBeGreaterThan(1.05);
  expect(length).toBeCloseTo(0.1, 3);
});

it("a sampler answers the same for the same seed, and stops at its length", () => {
  const encoder = new BpeEncoder(vocabulary);
  const sampler = new Sampler(module, shape, encoder, 40);
  sampler.load(new TrainingRun(module, shape, vocabulary, options).parameters());
  const say = (seed: number) => sampler.answer(["hello"], new Prng(seed), 1);
  expect(say(1)).toBe(say(1));
  expect(say(1)).not.toBe(say(2));
  expect(encoder.encode(say(1)).length).toBeLessThanOrEqual(40);
});
