/**
 * Where the tokens are that a simulated borrower makes less of than `ema limits` gives.
 *
 * Called by headline.ts. The way from one to the other is cut into stages: each takes one quantity
 * of the closed form and puts in what the steps of the run had, all others left as they are, until
 * nothing of the closed form is left. What a stage changes is that quantity's part of the distance,
 * so the parts add up. Which of two comes first matters by a product of two small numbers.
 *
 *   tokens/s = n / T        n sequences make a token in each step, T seconds from step to step
 *   n = blocks x fill x (decoding share) / (blocks of one sequence)
 *   T = (local step of n sequences: closed form) + prompts + link + no step
 */

import { stepTime, type LinkCosts } from "../src/limits/step-time.ts";
import type { Limit, LocalPoint, PracticalInputs } from "../src/limits/index.ts";
import type { LedgerRun } from "./step-ledger.ts";

/** One stage of the way: what it is called, and the tokens a second after it. */
export interface BreakdownPart {
  readonly name: string;
  readonly tokensPerSecond: number;
}

/** No remote bytes: no link is asked anything. */
const NO_LINK: LinkCosts = {
  bytesPerSecond: 1,
  pacedBytesPerSecond: Infinity,
  copySecondsPerByte: 0,
  latencySeconds: 0,
  groupLayers: 0,
};

/**
 * @param limit of the system that ran: the limit itself, or its point of static or double.
 * @returns the limit first, the simulated tokens a second last.
 */
export function breakdown(
  inputs: PracticalInputs,
  limit: Limit | LocalPoint,
  run: LedgerRun,
): BreakdownPart[] {
  const { sums, blockTokens } = run;
  const perStep = (total: number): number => total / sums.steps;
  const { contextTokens } = inputs.borrower;
  const context = sums.contextTokens / sums.decodes;
  // A resident's memory, in tokens: half a block more than its context in the closed form.
  const assumedTokens = contextTokens + blockTokens / 2;
  const heldTokens = (sums.usedBlocks * blockTokens) / sums.residents;
  const capacityTokens = perStep(sums.capacityBlocks) * blockTokens;
  const at = (sequences: number, tokens: number): number => localSeconds(inputs, sequences, tokens);
  // What the closed form's links and staging add.
  const remoteSeconds = limit.stepSeconds - at(limit.sequences, contextTokens);
  const parts: BreakdownPart[] = [];
  const note = (name: string, sequences: number, seconds: number): void => {
    parts.push({ name, tokensPerSecond: sequences / seconds });
  };
  parts.push({ name: "limit", tokensPerSecond: limit.tokensPerSecond });
  let n = limit.sequences;
  note("means of what lenders do", n, limit.stepSeconds);
  n = capacityTokens / assumedTokens;
  note("memory held, ring off", n, at(n, contextTokens) + remoteSeconds);
  n = capacityTokens / (assumedTokens + context - contextTokens);
  note("lengths of those served", n, at(n, context) + remoteSeconds);
  n = capacityTokens / heldTokens;
  note("blocks of a sequence", n, at(n, context) + remoteSeconds);
  n *= sums.usedBlocks / sums.capacityBlocks;
  note("memory not filled", n, at(n, context) + remoteSeconds);
  n = perStep(sums.tokens);
  note("residents without a token", n, at(n, context) + remoteSeconds);
  const seconds = at(n, context);
  const decode = decodeSeconds(inputs, n, context);
  const decodes = perStep(sums.decodeNs) / 1e9;
  note("batches of unequal size", n, seconds + decodes - decode + remoteSeconds);
  const first = perStep(sums.localNs - sums.decodeNs - sums.recomputeNs) / 1e9;
  note("prompts as they come", n, decodes + first + remoteSeconds);
  const local = perStep(sums.localNs) / 1e9;
  note("computed anew", n, local + remoteSeconds);
  note("link and staging", n, perStep(sums.stepNs) / 1e9);
  note("time without a step", n, perStep(sums.windowNs) / 1e9);
  return parts;
}

/** A step of the closed form with all KV local, prompts included. */
function localSeconds(inputs: PracticalInputs, sequences: number, tokens: number): number {
  return stepSeconds(inputs, sequences, tokens, inputs.prefill);
}

function decodeSeconds(inputs: PracticalInputs, sequences: number, tokens: number): number {
  return stepSeconds(inputs, sequences, tokens, null);
}

function stepSeconds(
  { borrower }: PracticalInputs,
  sequences: number,
  tokens: number,
  prefill: PracticalInputs["prefill"],
): number {
  const localBytes = sequences * tokens * borrower.kvBytesPerToken;
  const load = { sequences, localBytes, remoteBytes: 0, stagedBytes: 0, pacedBytes: 0 };
  return stepTime(borrower, load, NO_LINK, prefill).seconds;
}

/** Lines of text: each part in per cent of the limit, and the sums behind them. */
export function breakdownText(parts: readonly BreakdownPart[], run: LedgerRun): string[] {
  const [limit] = parts;
  const lines = [`    limit ${limit!.tokensPerSecond.toFixed(0)} tokens/s`];
  for (let index = 1; index < parts.length; index++) {
    const { name, tokensPerSecond } = parts[index]!;
    const change = (tokensPerSecond - parts[index - 1]!.tokensPerSecond) / limit!.tokensPerSecond;
    lines.push(`    ${name.padEnd(26)} ${signed(100 * change).padStart(6)} %`);
  }
  const last = parts.at(-1)!.tokensPerSecond / limit!.tokensPerSecond;
  lines.push(`    simulated ${run.tokensPerSecond.toFixed(0)} tokens/s, ${last.toFixed(3)}`);
  return [...lines, ...factLines(run)];
}

function factLines({ sums, blockTokens }: LedgerRun): string[] {
  const perStep = (total: number, digits: number): string => (total / sums.steps).toFixed(digits);
  const scaled = (sum: number, unit: number, digits: number): string =>
    perStep(sum / unit, digits);
  const percent = (part: number, whole: number): string => ((100 * part) / whole).toFixed(1);
  const ms = (ns: number): string => `${scaled(ns, 1e6, 3)} ms`;
  const gb = (bytes: number): string => `${scaled(bytes, 1e9, 2)} GB`;
  const lines = [
    `    a step: ${ms(sums.stepNs)}, local ${ms(sums.localNs)}, decodes ${ms(sums.decodeNs)}; ` +
      `prompts in ${percent(sums.promptSteps, sums.steps)} % of steps`,
    `    memory: ${perStep(sums.capacityBlocks * blockTokens, 0)} tokens ` +
      `(own ${perStep(sums.ownBlocks * blockTokens, 0)}, ring ` +
      `${perStep(sums.ringBlocks * blockTokens, 0)}, borrowed ` +
      `${perStep(sums.borrowedBlocks * blockTokens, 0)}), ` +
      `${percent(sums.usedBlocks, sums.capacityBlocks)} % filled by ` +
      `${perStep(sums.residents, 1)} sequences; ${sums.preemptions} preemptions`,
  ];
  if (sums.linkBusyNs === 0) return lines;
  const hidden = 1 - (sums.decodeWaitNs + sums.promptWaitNs) / sums.linkBusyNs;
  lines.push(
    `    link: remote ${gb(sums.remoteBytes)}, staged ${gb(sums.stagedBytes)}, busy ` +
      `${ms(sums.linkBusyNs)}, waits ${ms(sums.decodeWaitNs)} in decode steps and ` +
      `${ms(sums.promptWaitNs)} in others: hidden ${hidden.toFixed(4)}`,
  );
  return lines;
}

function signed(value: number): string {
  return (value < 0 ? "" : "+") + value.toFixed(2);
}
