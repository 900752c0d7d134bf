/**
 * A saturated borrower in the simulator and in the closed form, side by side.
 *
 * Called by limit-sweep.ts, which prints it, and by the test that holds the two together. The
 * simulator runs with each admission setting and keeps the best, as comparisons do.
 *
 * Two closed forms: sequences that are whole and fill whole blocks, each at the same context, which
 * the simulator is to come near; and means, as `ema limits` prints them, which it must not exceed.
 */

import { inputsOfServer } from "../src/cli/limits-inputs.ts";
import { practicalLimit, type Limit } from "../src/limits/index.ts";
import { ADMISSION_SETTINGS } from "../src/sim/index.ts";
import {
  BLOCK_TOKENS,
  steadyState,
  type SteadyCase,
  type SteadyState,
} from "./limit-sweep-run.ts";

/** Means over the steps that the simulator was looked at in. */
export interface ClosedForm {
  readonly tokensPerSecond: number;
  readonly stepSeconds: number;
  readonly sequences: number;
  readonly remoteBytes: number;
  readonly stagedBytes: number;
}

export interface SweptPoint {
  readonly asked: SteadyCase;
  readonly simulated: SteadyState;
  readonly closed: ClosedForm;
  /** Fractional sequences at the mean context of the steps looked at. */
  readonly limitTokensPerSecond: number;
  /** Simulated over closed, less one. */
  readonly difference: number;
}

export function comparePoint(asked: SteadyCase): SweptPoint {
  const rough = limitAt(asked, asked.contextTokens, false);
  // Short prompts at first: more of them fit than at the context asked for, and some must wait.
  const requests = Math.ceil(5 * rough.sequences);
  let simulated: SteadyState | null = null;
  for (const setting of ADMISSION_SETTINGS) {
    const state = steadyState(asked, requests, setting);
    if (simulated === null || state.tokensPerSecond > simulated.tokensPerSecond) simulated = state;
  }
  const closed = closedForm(asked, simulated!);
  const limit = limitAt(asked, simulated!.contextTokens, false);
  return {
    asked,
    simulated: simulated!,
    closed,
    limitTokensPerSecond: limit.tokensPerSecond,
    difference: simulated!.tokensPerSecond / closed.tokensPerSecond - 1,
  };
}

/** Whole sequences, weighted by the blocks that sequences had in the steps looked at. */
function closedForm(asked: SteadyCase, simulated: SteadyState): ClosedForm {
  const sums = { seconds: 0, sequences: 0, remoteBytes: 0, stagedBytes: 0 };
  for (const [blocks, steps] of simulated.stepsByBlocks) {
    const limit = limitAt(asked, (blocks - 0.5) * BLOCK_TOKENS, true);
    sums.seconds += steps * limit.stepSeconds;
    sums.sequences += steps * limit.sequences;
    sums.remoteBytes += steps * limit.remoteBytes;
    sums.stagedBytes += steps * limit.stagedBytes;
  }
  return {
    tokensPerSecond: sums.sequences / sums.seconds,
    stepSeconds: sums.seconds / simulated.steps,
    sequences: sums.sequences / simulated.steps,
    remoteBytes: sums.remoteBytes / simulated.steps,
    stagedBytes: sums.stagedBytes / simulated.steps,
  };
}

function limitAt(asked: SteadyCase, contextTokens: number, areSequencesWhole: boolean): Limit {
  const { server, model, mode, cap } = asked;
  const runShare = asked.areLendersRunning ? 1 : 0;
  const question = inputsOfServer({ server, model, set: [] }, contextTokens, {
    mode,
    cap: cap === "none" ? { kind: "none" } : { kind: "share", share: 1 },
    peers: null,
  });
  const lenders = question.practical.lenders.map((lender) => ({ ...lender, runShare }));
  return practicalLimit({ ...question.practical, lenders, areSequencesWhole });
}
