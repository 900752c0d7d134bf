/**
 * Prompt and output lengths: presets by name and the log-normal draw.
 *
 * Called by the generator and by scenarios. It does not know arrivals. Lengths of real chats have a
 * long tail; a log-normal with the mean of a published trace stands for it: mu = ln mean -
 * sigma^2 / 2, so that the mean as given is the mean before clipping.
 *
 * Invariants: at least 4 tokens each; prompt + output never exceed the model's context.
 */

import type { Prng } from "../base/index.ts";

export interface LengthPreset {
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/**
 * Mean tokens of a request. ShareGPT and Alpaca as serving papers quote them since "Efficient
 * Memory Management for Large Language Model Serving with PagedAttention" (2023); Azure: the two
 * services of the public 2023 trace.
 */
export const LENGTH_PRESETS: Readonly<Record<string, LengthPreset>> = {
  sharegpt: { promptTokens: 161, outputTokens: 338 },
  alpaca: { promptTokens: 19, outputTokens: 58 },
  "azure-conv": { promptTokens: 1155, outputTokens: 211 },
  "azure-code": { promptTokens: 2048, outputTokens: 28 },
};

const PRESET_SPELLINGS: ReadonlyMap<string, string> = new Map([
  ["azureconversation", "azure-conv"],
]);

/** Standard deviations of the logarithm; the defaults of every generated workload. */
export const LOG_NORMAL_SIGMA = { prompt: 1.0, output: 0.9 } as const;

const TOKENS_MIN = 4;

export interface LengthSpec {
  /** Means before clipping; the lengths themselves where `isFixed`. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly promptSigma: number;
  readonly outputSigma: number;
  /** Every request has exactly these lengths; a context they exceed is the engine's to refuse. */
  readonly isFixed: boolean;
  /** Prompts are clipped to it, outputs to what the context leaves. */
  readonly promptTokensMax: number;
  readonly contextTokensMax: number;
}

/** Case, spaces, hyphens and underscores do not count. @returns `null` for an unknown name. */
export function findLengthPreset(name: string): LengthPreset | null {
  const folded = fold(name);
  const names = Object.keys(LENGTH_PRESETS);
  const key = PRESET_SPELLINGS.get(folded) ?? names.find((known) => fold(known) === folded);
  return key === undefined ? null : LENGTH_PRESETS[key]!;
}

/** Before clipping. @returns whole tokens, at least 4 unless fixed. */
export function drawPrompt(spec: LengthSpec, prng: Prng): number {
  return spec.isFixed ? spec.promptTokens : draw(spec.promptTokens, spec.promptSigma, prng);
}

/** Clipped to what the context leaves after a prompt of `promptTokens`. */
export function drawOutput(spec: LengthSpec, promptTokens: number, prng: Prng): number {
  if (spec.isFixed) return spec.outputTokens;
  const tokens = draw(spec.outputTokens, spec.outputSigma, prng);
  return Math.max(1, Math.min(tokens, spec.contextTokensMax - promptTokens));
}

function draw(mean: number, sigma: number, prng: Prng): number {
  const mu = Math.log(mean) - (sigma * sigma) / 2;
  // A draw is one normal even where sigma is 0, so that streams stay aligned.
  return Math.max(TOKENS_MIN, Math.round(Math.exp(mu + sigma * prng.nextNormal())));
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, "");
}
