/**
 * Documents as rows of token ids with the weight of every position.
 *
 * Called by the trainer for each step. Only what the model itself would say is learnt: stories, and
 * the answers of dialogues with the mark that ends them. What users type weighs nothing.
 *
 * Invariant: rows depend on the seed, the stream and the step alone, so that a run can be resumed.
 */

import { Prng } from "../../src/base/prng.ts";
import type { BpeEncoder } from "./bpe-encoder.ts";
import { makeDocument, type Stage, type Turn } from "./corpus/dialogue.ts";

/** In the late stage a short answer weighs more: there are few of its words, and each matters. */
const SHORT_ANSWER_CHARACTERS = 100;
const SHORT_ANSWER_WEIGHT = 2;

/** The first ids of the vocabulary. */
export const SPECIALS = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"];

/** Streams of one seed that never meet. */
export const STREAMS = { parameters: 1, vocabulary: 2, validation: 3, sampling: 4, training: 16 };

/** (rows) then (positions): what is read, what should come next, what that counts. */
export interface TrainingRows {
  readonly tokens: Int32Array;
  readonly targets: Int32Array;
  readonly weights: Float32Array;
  /** The sum of weights. */
  readonly learnt: number;
}

/** One document as ids, and for each what it counts that the model learns to say it. */
export function encodeDocument(
  encoder: BpeEncoder,
  turns: readonly Turn[],
  stage: Stage = "early",
): { ids: number[]; learnt: number[] } {
  const ids = [encoder.special("<|begin|>")];
  const learnt = [0];
  for (const { role, text } of turns) {
    const isShort = role === "assistant" && text.length < SHORT_ANSWER_CHARACTERS;
    const own = isShort && stage === "late" ? SHORT_ANSWER_WEIGHT : 1;
    const weight = role === "assistant" || role === "text" ? own : 0;
    if (role !== "text") {
      ids.push(encoder.special(`<|${role}|>`));
      learnt.push(0);
    }
    const words = [...encoder.encode(text), encoder.special("<|end|>")];
    for (const id of words) {
      ids.push(id);
      learnt.push(weight);
    }
  }
  return { ids, learnt };
}

/** Rows that each begin with a document; the last one of a row is cut where the row ends. */
export function makeRows(
  encoder: BpeEncoder,
  prng: Prng,
  sequences: number,
  length: number,
  stage: Stage,
): TrainingRows {
  const tokens = new Int32Array(sequences * length);
  const targets = new Int32Array(sequences * length);
  const weights = new Float32Array(sequences * length);
  let total = 0;
  for (let sequence = 0; sequence < sequences; sequence++) {
    const ids: number[] = [];
    const learnt: number[] = [];
    while (ids.length <= length) {
      const document = encodeDocument(encoder, makeDocument(prng, stage), stage);
      ids.push(...document.ids);
      learnt.push(...document.learnt);
    }
    for (let position = 0; position < length; position++) {
      const index = sequence * length + position;
      tokens[index] = ids[position]!;
      targets[index] = ids[position + 1]!;
      weights[index] = learnt[position + 1]!;
      total += weights[index]!;
    }
  }
  return { tokens, targets, weights, learnt: total };
}

/** Sequences of a copy batch are short: what matters is how often something comes again. */
export const COPY_LENGTH = 64;
const COPY_PERIOD_MIN = 8;
const COPY_PERIOD_MAX = 30;

/**
 * Random words said over and over: only what was read tells what follows. It makes the heads that
 * copy (Olsson et al., "In-context Learning and Induction Heads", 2022), for which text of few
 * words gives a small model too little reason.
 */
export function makeCopyRows(vocabulary: number, prng: Prng, sequences: number): TrainingRows {
  const count = sequences * COPY_LENGTH;
  const rows = {
    tokens: new Int32Array(count),
    targets: new Int32Array(count),
    weights: new Float32Array(count),
  };
  let learnt = 0;
  for (let first = 0; first < count; first += COPY_LENGTH) {
    const period = COPY_PERIOD_MIN + prng.nextBelow(COPY_PERIOD_MAX - COPY_PERIOD_MIN);
    const words = Array.from(
      { length: period },
      () => SPECIALS.length + prng.nextBelow(vocabulary - SPECIALS.length),
    );
    for (let position = 0; position < COPY_LENGTH; position++) {
      rows.tokens[first + position] = words[position % period]!;
      rows.targets[first + position] = words[(position + 1) % period]!;
      rows.weights[first + position] = position < period - 1 ? 0 : 1;
      learnt += rows.weights[first + position]!;
    }
  }
  return { ...rows, learnt };
}

/** Enough text of the same kind to learn a vocabulary from. */
export function vocabularyText(seed: number, documents: number): string {
  const prng = new Prng(seed, STREAMS.vocabulary);
  const texts: string[] = [];
  for (let index = 0; index < documents; index++) {
    for (const { text } of makeDocument(prng)) texts.push(text);
  }
  return texts.join("\n");
}
