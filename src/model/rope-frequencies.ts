/**
 * How far RoPE turns each pair of a head per position, with the scalings that stretch contexts.
 *
 * Called once by the decoder. Scalings are known as Hugging Face configs name them (linear, llama3,
 * yarn); GGUF's linear and yarn are the same, and its table of divisors stands for llama3.
 * Sources: RoFormer (2104.09864) section 3.2; Position Interpolation (2306.15595); YaRN
 * (2309.00071) sections 3.2 to 3.4; llama3 as the Hugging Face documentation of RoPE defines it.
 *
 * Pair i of headDim / 2 turns by theta^(-2i / headDim) radians a position before scaling: the first
 * pairs are fast and stay, the last are slow and are divided by the factor.
 */

import { EmaError, unreachable } from "../base/index.ts";

export type RopeScaling =
  | { readonly kind: "none" }
  | { readonly kind: "linear"; readonly factor: number }
  | {
      readonly kind: "llama3";
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalContextTokens: number;
    }
  | {
      readonly kind: "yarn";
      readonly factor: number;
      readonly originalContextTokens: number;
      /** Pairs that turn more often than this over the original context are left alone. */
      readonly turnsFast: number;
      /** Pairs that turn less often than this are divided by the whole factor. */
      readonly turnsSlow: number;
      /** The ramp between both begins and ends at whole pairs. */
      readonly isRampWhole: boolean;
      /** What cos and sin are multiplied by. */
      readonly magnitude: number;
    }
  /** (headDim / 2) what each pair's frequency is divided by. */
  | { readonly kind: "divisors"; readonly divisors: Float64Array };

export interface RopeFrequencies {
  /** (headDim / 2) radians a position. */
  readonly frequencies: Float64Array;
  readonly magnitude: number;
}

export function ropeFrequencies(
  headDim: number,
  theta: number,
  scaling: RopeScaling,
): RopeFrequencies {
  const base = Float64Array.from(
    { length: headDim / 2 },
    (_, pair) => theta ** ((-2 * pair) / headDim),
  );
  switch (scaling.kind) {
    case "none":
      return { frequencies: base, magnitude: 1 };
    case "linear":
      return { frequencies: base.map((frequency) => frequency / scaling.factor), magnitude: 1 };
    case "llama3":
      return { frequencies: base.map((each) => stretchedLlama3(each, scaling)), magnitude: 1 };
    case "yarn":
      return {
        frequencies: stretchedYarn(base, headDim, theta, scaling),
        magnitude: scaling.magnitude,
      };
    case "divisors":
      return {
        frequencies: base.map((frequency, pair) => frequency / scaling.divisors[pair]!),
        magnitude: 1,
      };
    default:
      return unreachable(scaling);
  }
}

/** YaRN's attention factor, section 3.4, when a file does not give its own. */
export function yarnMagnitude(factor: number): number {
  return factor <= 1 ? 1 : 0.1 * Math.log(factor) + 1;
}

/** @throws EmaError E_CHECKPOINT for a scaling that would give no usable frequencies. */
export function checkRopeScaling(scaling: RopeScaling, headDim: number, where: string): void {
  const numbers =
    scaling.kind === "divisors"
      ? [...scaling.divisors]
      : Object.values(scaling).filter((value) => typeof value === "number");
  const bad = numbers.find((value) => !(value > 0 && Number.isFinite(value)));
  if (bad !== undefined) {
    const what = `${scaling.kind} scaling of RoPE holds ${bad}, expected numbers above 0`;
    throw new EmaError("E_CHECKPOINT", `${where}: ${what}`);
  }
  if (scaling.kind === "divisors" && scaling.divisors.length !== headDim / 2) {
    const found = `${scaling.divisors.length} divisors of RoPE`;
    throw new EmaError("E_CHECKPOINT", `${where}: ${found}, expected ${headDim / 2}`);
  }
  if (scaling.kind !== "llama3") return;
  if (scaling.highFrequencyFactor > scaling.lowFrequencyFactor) return;
  const what = "llama3 scaling of RoPE has its high frequency factor not above its low one";
  throw new EmaError("E_CHECKPOINT", `${where}: ${what}`);
}

function stretchedLlama3(
  frequency: number,
  scaling: Extract<RopeScaling, { kind: "llama3" }>,
): number {
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextTokens } = scaling;
  const turns = (originalContextTokens * frequency) / (2 * Math.PI);
  if (turns < lowFrequencyFactor) return frequency / factor;
  if (turns > highFrequencyFactor) return frequency;
  const kept = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return (1 - kept) * (frequency / factor) + kept * frequency;
}

function stretchedYarn(
  base: Float64Array,
  headDim: number,
  theta: number,
  scaling: Extract<RopeScaling, { kind: "yarn" }>,
): Float64Array {
  // The pair that turns so many times over the original context; a fraction.
  const pairAt = (turns: number): number =>
    (headDim * Math.log(scaling.originalContextTokens / (turns * 2 * Math.PI))) /
    (2 * Math.log(theta));
  const fast = pairAt(scaling.turnsFast);
  const slow = pairAt(scaling.turnsSlow);
  const first = Math.max(scaling.isRampWhole ? Math.floor(fast) : fast, 0);
  const last = Math.min(scaling.isRampWhole ? Math.ceil(slow) : slow, headDim - 1);
  // A ramp of no width would divide by zero; the published code widens it by the same amount.
  const width = last === first ? 0.001 : last - first;
  return base.map((frequency, pair) => {
    const stretched = Math.min(1, Math.max(0, (pair - first) / width));
    return stretched * (frequency / scaling.factor) + (1 - stretched) * frequency;
  });
}
