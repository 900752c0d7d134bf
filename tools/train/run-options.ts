/**
 * The options of a training run: their names, defaults and what each means.
 *
 * Called by the program and by tests. All of them are kept in the checkpoint, and all but the seed
 * and the steps are the shape of the model or of its learning.
 */

import type { LlamaShape } from "./llama-shape.ts";

/** Numbers as typed on the command line; sizes in elements, rates per step. */
export interface RunOptions {
  readonly name: string;
  /** "muon" or "adamw". */
  readonly optimizer: string;
  readonly seed: number;
  readonly steps: number;
  readonly sequences: number;
  readonly length: number;
  /** One step in so many has sequences of `longLength` positions. */
  readonly longEvery: number;
  readonly longLength: number;
  /** The step from which text is of the late stage: more questions, which weigh more. */
  readonly lateFrom: number;
  /** Steps between which every second one copies random words instead of reading text. */
  readonly copyFrom: number;
  readonly copyUntil: number;
  readonly rate: number;
  readonly warmUp: number;
  /** The part of the steps, at the end, over which the rate falls. */
  readonly fallPart: number;
  readonly decay: number;
  readonly vocabulary: number;
  readonly vocabularyDocuments: number;
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly feedForward: number;
  readonly context: number;
}

export const DEFAULTS: RunOptions = {
  name: "ema-tiny",
  optimizer: "muon",
  seed: 1,
  steps: 5200,
  sequences: 4,
  length: 256,
  longEvery: 4,
  longLength: 1024,
  lateFrom: 600,
  copyFrom: 2262,
  copyUntil: 3800,
  rate: 0.02,
  warmUp: 60,
  fallPart: 0.4,
  decay: 0.5,
  vocabulary: 1024,
  vocabularyDocuments: 4000,
  width: 96,
  layers: 5,
  heads: 4,
  kvHeads: 2,
  feedForward: 256,
  context: 1024,
};

export const OPTION_HELP = `
  --steps N                                     may be changed when a run goes on
  --seed N --sequences N --length N   rows and positions of a step's batch
  --longEvery N --longLength N                  one step in N has long rows
  --lateFrom N                                  step from which questions weigh more
  --copyFrom N --copyUntil N                    steps that also copy random words
  --optimizer muon|adamw --rate R --warmUp N --fallPart P --decay D
  --vocabulary N --vocabularyDocuments N        tokens, and the text they are learnt from
  --width N --layers N --heads N --kvHeads N --feedForward N --context N --name NAME`.slice(1);

export function shapeOf(options: RunOptions): LlamaShape {
  return {
    vocabulary: options.vocabulary,
    width: options.width,
    layers: options.layers,
    heads: options.heads,
    kvHeads: options.kvHeads,
    headWidth: options.width / options.heads,
    feedForward: options.feedForward,
    ropeBase: 10_000,
    epsilon: 1e-5,
    context: options.context,
  };
}
