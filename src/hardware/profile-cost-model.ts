/**
 * A cost model straight from the tables of a kernel profile: this GPU, this model, mixed batches.
 *
 * Made by whoever read the profile's files (src/validation). It answers per layer like the
 * tabulated model, and whole steps with `stepAttentionLayerNs`, where decodes beside a prompt cost
 * more than the sum of both. Matrix products are read off at the next measured size, because their
 * time is a staircase whose risers lie just beyond multiples of a tile.
 *
 * Invariant: results are finite and not negative; no tokens take no time.
 */

import { EmaError } from "../base/index.ts";
import type { AttentionShape, CostModel, CostSource } from "./cost-model.ts";
import { ProfileAttention } from "./profile-attention.ts";
import { ProfileSkew } from "./profile-skew.ts";
import { readCurves, type Curve, type ProfileText } from "./profile-tables.ts";

export interface ProfileTexts {
  readonly attention: ProfileText;
  readonly dense: ProfileText;
  readonly perSequence: ProfileText;
  /** Without it batches of unequal contexts cost what their mean does. */
  readonly skew: ProfileText | null;
}

export interface ProfileSettings {
  readonly layers: number;
  readonly hbmBytesPerSecond: number;
  /** Host time that the GPU waits for in a step of decodes alone, and in one with prompts. */
  readonly hostNs: number;
  readonly promptHostNs: number;
  /** Steps up to so many tokens replay a graph captured at padded sizes; 0: none do. */
  readonly graphTokensMax: number;
}

/** Kernels that run twice a layer, and once a step; all others run once a layer. */
const TWICE_A_LAYER = "layernorm";
const ONCE_A_STEP: readonly string[] = ["embedding", "final_layernorm"];
const NEEDED_DENSE: readonly string[] = ["qkv_proj", "o_proj", "down_proj", "layernorm"];

/** @throws EmaError E_TRACE with file and line when a table is not what it should be. */
export function createProfileCostModel(
  texts: ProfileTexts,
  settings: ProfileSettings,
): CostModel {
  return new ProfileCostModel(texts, settings);
}

class ProfileCostModel implements CostModel {
  readonly hbmBytesPerSecond: number;
  readonly hostNs: number;
  readonly promptHostNs: number;
  readonly sources: readonly CostSource[];
  readonly #settings: ProfileSettings;
  readonly #dense: ReadonlyMap<string, Curve>;
  readonly #perSequence: ReadonlyMap<string, Curve>;
  readonly #attention: ProfileAttention;
  readonly #skew: ProfileSkew | null;
  /** What a kernel costs before its first token: paid once when prompts share a launch. */
  readonly #launchNs: number;

  constructor(texts: ProfileTexts, settings: ProfileSettings) {
    this.#settings = settings;
    this.hbmBytesPerSecond = settings.hbmBytesPerSecond;
    this.hostNs = settings.hostNs;
    this.promptHostNs = settings.promptHostNs;
    this.#dense = readCurves(texts.dense, "tokens");
    this.#perSequence = readCurves(texts.perSequence, "sequences");
    needLayers(texts.dense, this.#dense, NEEDED_DENSE);
    needLayers(texts.perSequence, this.#perSequence, ["lm_head"]);
    this.#attention = new ProfileAttention(texts.attention);
    this.#skew = texts.skew === null ? null : new ProfileSkew(texts.skew);
    this.#launchNs = this.#attention.ns(1, 0, 0, 0);
    this.sources = sourcesOf(texts);
  }

  linearLayerNs(tokens: number): number {
    if (!(tokens > 0)) return 0;
    const computed = this.#paddedTokens(tokens);
    let us = 0;
    for (const [layer, curve] of this.#dense) {
      const times = layer === TWICE_A_LAYER ? 2 : 1;
      us += (atOrAbove(curve, computed) * times) / this.#layersPer(layer);
    }
    return us * 1000;
  }

  headNs(sequences: number): number {
    if (!(sequences > 0)) return 0;
    let us = 0;
    for (const curve of this.#perSequence.values()) us += between(curve, sequences);
    return us * 1000;
  }

  decodeAttentionLayerNs(sequences: number, contextTokens: number): number {
    if (!(sequences > 0)) return 0;
    return this.#attention.ns(0, 0, sequences, contextTokens / sequences);
  }

  prefillAttentionLayerNs(chunkTokens: number, pastTokens: number): number {
    return this.#attention.ns(chunkTokens, pastTokens, 0, 0);
  }

  /**
   * The longest chunk runs with the decodes, as measured; further ones add what they take alone.
   */
  stepAttentionLayerNs(shape: AttentionShape): number {
    let main = -1;
    for (let at = 0; at < shape.chunkCount; at++) {
      if (main < 0 || shape.chunkTokens[at]! > shape.chunkTokens[main]!) main = at;
    }
    const chunk = main < 0 ? 0 : shape.chunkTokens[main]!;
    const past = main < 0 ? 0 : shape.chunkPastTokens[main]!;
    let ns = this.#unequalNs(chunk, past, shape);
    for (let at = 0; at < shape.chunkCount; at++) {
      if (at === main) continue;
      const aloneNs = this.#attention.ns(shape.chunkTokens[at]!, shape.chunkPastTokens[at]!, 0, 0);
      ns += Math.max(0, aloneNs - this.#launchNs);
    }
    return ns;
  }

  #unequalNs(chunk: number, past: number, shape: AttentionShape): number {
    const { decodeSequences, decodeTokensMin, decodeTokensMax } = shape;
    const mean = decodeSequences > 0 ? shape.decodeTokens / decodeSequences : 0;
    const meanNs = this.#attention.ns(chunk, past, decodeSequences, mean);
    const spread = decodeTokensMax - decodeTokensMin;
    if (this.#skew === null || decodeSequences < 2 || spread === 0) return meanNs;
    const alpha = this.#skew.alpha({
      chunkTokens: chunk,
      decodes: decodeSequences,
      longShare: (mean - decodeTokensMin) / spread,
      largestContext: decodeTokensMax,
      pastTokens: past,
    });
    const mostNs = this.#attention.ns(chunk, past, decodeSequences, decodeTokensMax);
    return Math.max(0, meanNs + alpha * (mostNs - meanNs));
  }

  #layersPer(layer: string): number {
    return ONCE_A_STEP.includes(layer) ? this.#settings.layers : 1;
  }

  /** vLLM captures graphs at 1, 2, 4, multiples of 8, and beyond 256 multiples of 16. */
  #paddedTokens(tokens: number): number {
    if (tokens > this.#settings.graphTokensMax || tokens <= 2) return tokens;
    if (tokens <= 4) return 4;
    const grain = tokens <= 256 ? 8 : 16;
    return Math.ceil(tokens / grain) * grain;
  }
}

/** Beyond the last measured size time grows in proportion. */
function atOrAbove(curve: Curve, size: number): number {
  const { sizes, us } = curve;
  const last = sizes.length - 1;
  if (size >= sizes[last]!) return (us[last]! * size) / sizes[last]!;
  let index = 0;
  while (sizes[index]! < size) index++;
  return us[index]!;
}

function between(curve: Curve, size: number): number {
  const { sizes, us } = curve;
  const last = sizes.length - 1;
  if (last === 0 || size <= sizes[0]!) return us[0]!;
  let index = 0;
  while (index < last - 1 && sizes[index + 1]! <= size) index++;
  const share = (size - sizes[index]!) / (sizes[index + 1]! - sizes[index]!);
  return us[index]! + (us[index + 1]! - us[index]!) * share;
}

function needLayers(
  source: ProfileText,
  curves: ReadonlyMap<string, Curve>,
  layers: readonly string[],
): void {
  const missing = layers.filter((layer) => !curves.has(layer));
  if (missing.length === 0) return;
  throw new EmaError("E_TRACE", `${source.file}: no rows of layer ${missing.join(", ")}`);
}

function sourcesOf(texts: ProfileTexts): CostSource[] {
  const measured = (part: CostSource["part"], text: ProfileText): CostSource => ({
    part,
    kind: "measured",
    note: `Interpolated in ${text.file}.`,
  });
  return [
    measured("linear", texts.dense),
    measured("decode-attention", texts.attention),
    measured("prefill-attention", texts.attention),
    measured("head", texts.perSequence),
    { part: "host", kind: "assumed", note: "What the caller gave." },
  ];
}
