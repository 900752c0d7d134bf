/**
 * The answer in one sentence: would elastic memory help here? It may be no, and says what limits.
 *
 * Called by compare.ts. It looks at each engine's goodput over `static`, or at its throughput
 * where goodput says nothing (an engine in overload finishes hardly anything within its SLO).
 * `double` is a yardstick that nobody can switch on, so it never wins.
 *
 * Invariants: the winner is a system on the base `ema` or the reference; without a reference there
 * is no winner (`null`).
 */

import { referenceOf, type Comparison, type Line, type SystemComparison } from "./comparison.ts";
import { limitOf } from "./verdict-limit.ts";

export interface Verdict {
  readonly text: string;
  readonly winner: string | null;
}

/** Ratios nearer to one than this are called equal: within what a rerun with other seeds moves. */
const TOLERANCE = 0.02;
/**
 * An engine that only lends may be slower by this much: the bound of what a lender is promised.
 */
const LENDER_TPOT_MAX = 1.03;
/** A gain below this is little, however near it comes to the yardstick: the verdict says why. */
const GAIN_LITTLE = 1.15;
/** Under this share of finished requests within the SLO goodput counts strays, not service. */
const GOODPUT_SHARE_MIN = 0.05;

/** One engine under one system, by the measure that says most about it. */
export interface Effect {
  readonly engine: string;
  readonly measure: "goodput" | "throughput";
  readonly ratio: number;
  /** 95 % interval over seeds; `null` with one seed. */
  readonly interval: readonly [number, number] | null;
}

interface Judgement {
  readonly system: SystemComparison;
  readonly gains: readonly Effect[];
  /** Greater by the mean, but the interval reaches down to one. */
  readonly unsure: readonly Effect[];
  readonly losses: readonly Effect[];
  /** Engines that only lent and whose tokens came slower: name and ratio. */
  readonly slowed: readonly { readonly engine: string; readonly ratio: number }[];
  readonly totalThroughput: number;
}

export function verdictOf(comparison: Comparison): Verdict {
  const settings = comparison.systems.map((system) => system.settings);
  const reference = referenceOf(settings);
  if (reference === null) {
    return { text: "No verdict: static was not among the systems compared.", winner: null };
  }
  const referenceSystem = comparison.systems.find((s) => s.settings === reference)!;
  const judged = comparison.systems
    .filter((system) => system.settings.base === "ema")
    .map((system) => judge(system, referenceSystem));
  if (judged.length === 0) {
    const text = "No verdict on elastic memory: no system that lends was among those compared.";
    return { text, winner: reference.name };
  }
  const best = judged.reduce((left, right) => (isBetter(right, left) ? right : left));
  return sentence(best, referenceSystem, comparison);
}

/** What an engine gained or lost; `null` when it neither made nor finished anything. */
export function effectOf(engine: string, line: Line, reference: Line): Effect | null {
  const { versus, versusIntervals } = line;
  if (versus === null) return null;
  const good = reference.result.goodputRequestsPerSecond ?? 0;
  const finished = reference.finishedPerSecond ?? 0;
  if (versus.goodput !== null && good >= GOODPUT_SHARE_MIN * finished) {
    const interval = versusIntervals?.goodput ?? null;
    return { engine, measure: "goodput", ratio: versus.goodput, interval };
  }
  if (versus.throughput === null) return null;
  const interval = versusIntervals?.throughput ?? null;
  return { engine, measure: "throughput", ratio: versus.throughput, interval };
}

function judge(system: SystemComparison, reference: SystemComparison): Judgement {
  const gains: Effect[] = [];
  const unsure: Effect[] = [];
  const losses: Effect[] = [];
  const slowed: { engine: string; ratio: number }[] = [];
  for (const [engine, line] of Object.entries(system.engines)) {
    const effect = effectOf(engine, line, reference.engines[engine]!);
    if (effect !== null && effect.ratio >= 1 + TOLERANCE) {
      (effect.interval !== null && effect.interval[0] <= 1 ? unsure : gains).push(effect);
    }
    const isLoss = effect !== null && effect.ratio <= 1 - TOLERANCE;
    if (isLoss && (effect.interval === null || effect.interval[1] < 1)) losses.push(effect);
    const tpot = line.versus?.tpotMean ?? null;
    const isLender = line.result.lentBytes.max > 0 && line.result.borrowedBytes.max === 0;
    if (isLender && tpot !== null && tpot > LENDER_TPOT_MAX) slowed.push({ engine, ratio: tpot });
  }
  gains.sort((left, right) => right.ratio - left.ratio);
  unsure.sort((left, right) => right.ratio - left.ratio);
  losses.sort((left, right) => left.ratio - right.ratio);
  slowed.sort((left, right) => right.ratio - left.ratio);
  const totalThroughput = system.total.versus?.throughput ?? 0;
  return { system, gains, unsure, losses, slowed, totalThroughput };
}

/** Gaining without harm before gaining, before the rest; then by all engines' throughput. */
function isBetter(left: Judgement, right: Judgement): boolean {
  const rank = (j: Judgement): number =>
    j.gains.length === 0 ? 0 : j.losses.length + j.slowed.length === 0 ? 2 : 1;
  if (rank(left) !== rank(right)) return rank(left) > rank(right);
  return left.totalThroughput > right.totalThroughput;
}

function sentence(best: Judgement, reference: SystemComparison, comparison: Comparison): Verdict {
  const name = best.system.settings.name;
  const referenceName = reference.settings.name;
  const harm = [
    ...best.losses.map((loss) => `${loss.engine} ${phrase(loss)}`),
    ...best.slowed.map((engine) => `${engine.engine}'s tokens take ${times(engine.ratio)} as long`),
  ];
  const top = best.gains[0];
  if (top !== undefined) {
    const others = best.gains.length - 1;
    const more = others === 0 ? "" : ` (and ${others} more ${plural(others)} too)`;
    const gain =
      `with ${name}, ${top.engine} ${phrase(top)} of ${referenceName}` +
      `${shareOfDouble(top, comparison)}${more}`;
    if (harm.length === 0) {
      const text = `Yes: ${gain}, and no engine loses${rest(top, best, reference, comparison)}.`;
      return { text, winner: name };
    }
    const winner = best.totalThroughput >= 1 + TOLERANCE ? name : referenceName;
    return { text: `Partly: ${gain}, but ${listed(harm)}.`, winner };
  }
  const unsure = best.unsure[0];
  if (harm.length > 0) {
    const text = `No: with ${name}, ${listed(harm)} of ${referenceName}, and no engine gains.`;
    return { text, winner: referenceName };
  }
  if (unsure !== undefined) {
    const [low, high] = unsure.interval!;
    const text =
      `Not certain: with ${name}, ${unsure.engine} ${phrase(unsure)} of ${referenceName}, but ` +
      `the 95 % interval reaches from ${times(low)} to ${times(high)}: ` +
      `more seeds (--repeat) would tell.`;
    return { text, winner: referenceName };
  }
  const limit = limitOf(best.system, reference, comparison, null);
  const reason = limit === null ? "" : `: ${limit}`;
  const text = `No: ${name} gives no engine more than ${referenceName}${reason}.`;
  return { text, winner: referenceName };
}

/** What keeps the engine from more, where it stays clearly below the yardstick or gains little. */
function rest(
  top: Effect,
  best: Judgement,
  reference: SystemComparison,
  comparison: Comparison,
): string {
  const share = doubleShare(top, comparison);
  if (top.ratio >= GAIN_LITTLE && share !== null && share > 1 - TOLERANCE) return "";
  const limit = limitOf(best.system, reference, comparison, top.engine);
  return limit === null ? "" : `; more is not to be had because ${limit}`;
}

function shareOfDouble(effect: Effect, comparison: Comparison): string {
  const share = doubleShare(effect, comparison);
  return share === null ? "" : `, ${share.toFixed(2)} of what double its memory would give`;
}

function doubleShare(effect: Effect, comparison: Comparison): number | null {
  const double = comparison.systems.find((system) => system.settings.base === "double");
  const ratio = double?.engines[effect.engine]?.versus?.[effect.measure] ?? null;
  return ratio === null ? null : effect.ratio / ratio;
}

function phrase(effect: Effect): string {
  return effect.measure === "goodput"
    ? `finishes ${times(effect.ratio)} the requests within the SLO`
    : `makes ${times(effect.ratio)} the tokens`;
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)}x`;
}

function plural(count: number): string {
  return count === 1 ? "engine gains" : "engines gain";
}

/** At most three, so that the sentence stays one. */
function listed(parts: readonly string[]): string {
  const shown = parts.slice(0, 3).join(", ");
  return parts.length > 3 ? `${shown} and ${parts.length - 3} more lose too` : shown;
}
