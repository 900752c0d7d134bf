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
import { makeDocument, type Turn } from "./corpus/dialogue.ts";

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

/** One document as ids, and for each whether the model should learn to say it. */
export function encodeDocument(
  encoder: BpeEncoder,
  turns: readonly Turn[],
): { ids: number[]; isLearnt: boolean[] } {
  const ids = [encoder.special("<|begin|>")];
  const isLearnt = [false];
  for (const { role, text } of turns) {
    const isOwn = role === "assistant" || role === "text";
    if (role !== "text") {
      ids.push(encoder.special(`<|${role}|>`));
      isLearnt.push(false);
    }
    const words = [...encoder.encode(text), encoder.special("<|end|>")];
    for (const id of words) {
      ids.push(id);
      isLearnt.push(isOwn);
    }
  }
  return { ids, isLearnt };
}

/** Rows that each begin with a document; the last one of a row is cut where the row ends. */
export function makeRows(
  encoder: BpeEncoder,
  prng: Prng,
  sequences: number,
  length: number,
): TrainingRows {
  const tokens = new Int32Array(sequences * length);
  const targets = new Int32Array(sequences * length);
  const weights = new Float32Array(sequences * length);
  let learnt = 0;
  for (let sequence = 0; sequence < sequences; sequence++) {
    const ids: number[] = [];
    const isLearnt: boolean[] = [];
    while (ids.length <= length) {
      const document = encodeDocument(encoder, makeDocument(prng));
      ids.push(...document.ids);
      isLearnt.push(...document.isLearnt);
    }
    for (let position = 0; position < length; position++) {
      const index = sequence * length + position;
      tokens[index] = ids[position]!;
      targets[index] = ids[position + 1]!;
      weights[index] = isLearnt[position + 1]! ? 1 : 0;
      learnt += weights[index]!;
    }
  }
  return { tokens, targets, weights, learnt };
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
