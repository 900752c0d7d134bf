/**
 * How much remote KV would make this engine faster: the question before every lease.
 *
 * Called by the engine's borrow controller a few times a second; a pure function of predictions.
 * For a range of remote bytes it predicts batch and step time and takes the amount with the most
 * tokens a second, then looks again, more closely, between the amounts next to it. Beyond the
 * balance point a further byte costs link time in full, so more is not better; where KV dominates
 * the step, nothing may pay at all (docs/METHOD.md, closed form).
 */

/** What a step would be with so many sequences; implemented over cost model and planner. */
export interface StepForecast {
  /** Predicted step time with `remoteBytes` of KV over the links. */
  stepNs(sequences: number, remoteBytes: number): number;
  /** What the staging ring then takes from the engine's own memory. */
  ringBytes(sequences: number, remoteBytes: number): number;
}

export interface BorrowQuestion {
  /** KV bytes of its own that sequences may fill, ring not yet taken off. */
  readonly ownBytes: number;
  /** Bytes a sequence holds on average while it runs. */
  readonly sequenceBytes: number;
  /** Sequences there is work for. */
  readonly sequencesMax: number;
  /** The most it may borrow: limit and idle memory. */
  readonly remoteBytesMax: number;
  readonly tpotTargetNs: number;
  readonly forecast: StepForecast;
}

export interface BorrowAnswer {
  readonly remoteBytes: number;
  /** What is made with it, as predicted. */
  readonly tokensPerNs: number;
  /** Why it is not more. */
  readonly bound: "does-not-pay" | "slo" | "limit" | "demand";
}

/** Amounts of the first look, from none to all, and of the second, about the best of the first. */
const STEPS = 16;
/**
 * Of the gain that as many local bytes would bring (their share of the memory), remote ones must
 * bring at least this much: below it they are not worth their link.
 */
const GAIN_SHARE_MIN = 0.03;

/** What so many remote bytes would bring. */
interface Look {
  readonly remoteBytes: number;
  /** Sequences that fit, whether or not there is work for them. */
  readonly fits: number;
  /** Tokens a nanosecond. */
  readonly rate: number;
  readonly isLate: boolean;
}

/** The best of some rising amounts, and the ones next to it. */
interface Climb {
  readonly best: Look;
  readonly below: number;
  /** The best one itself where it was the last. */
  readonly above: number;
  readonly isLateAbove: boolean;
}

export function remoteBytesWanted(question: BorrowQuestion): BorrowAnswer {
  const { remoteBytesMax, sequenceBytes, sequencesMax } = question;
  // Amounts lie closer together where they are small: a large cap must not hide a small optimum.
  const rough = climb(question, 0, (step) => remoteBytesMax * (step / STEPS) ** 2);
  const width = (rough.above - rough.below) / STEPS;
  const fine = climb(question, rough.below, (step) => rough.below + width * step);
  const { remoteBytes, fits, rate: tokensPerNs } = fine.best;
  const answer = { remoteBytes, tokensPerNs };
  if (fine.isLateAbove) return { ...answer, bound: "slo" };
  if (remoteBytes > 0 && remoteBytes >= remoteBytesMax) return { ...answer, bound: "limit" };
  const isAllServed = sequencesMax > 0 && fits + width / sequenceBytes > sequencesMax;
  return { ...answer, bound: isAllServed ? "demand" : "does-not-pay" };
}

/** Goes up from `lowest` until the target is missed; a step up must be worth its bytes. */
function climb(
  question: BorrowQuestion,
  lowest: number,
  amountAt: (step: number) => number,
): Climb {
  let best = look(question, lowest);
  let [below, above, last] = [lowest, lowest, lowest];
  for (let step = 1; step <= STEPS; step++) {
    const next = look(question, amountAt(step));
    const isNeighbour = above === best.remoteBytes;
    if (isNeighbour) above = next.remoteBytes;
    if (next.isLate) return { best, below, above, isLateAbove: isNeighbour };
    if (isWorth(question, next, best)) {
      best = next;
      below = last;
      above = next.remoteBytes;
    }
    last = next.remoteBytes;
  }
  return { best, below, above, isLateAbove: false };
}

function look(question: BorrowQuestion, remoteBytes: number): Look {
  const { ownBytes, sequenceBytes, sequencesMax, tpotTargetNs, forecast } = question;
  const roughly = (ownBytes + remoteBytes) / sequenceBytes;
  const ring = forecast.ringBytes(roughly, remoteBytes);
  const fits = (ownBytes - ring + remoteBytes) / sequenceBytes;
  const sequences = Math.min(fits, sequencesMax);
  if (sequences <= 0) return { remoteBytes, fits, rate: 0, isLate: false };
  const stepNs = forecast.stepNs(sequences, remoteBytes);
  return { remoteBytes, fits, rate: sequences / stepNs, isLate: stepNs > tpotTargetNs };
}

function isWorth(question: BorrowQuestion, more: Look, less: Look): boolean {
  const moreBytes = more.remoteBytes - less.remoteBytes;
  const gainMin = (GAIN_SHARE_MIN * moreBytes) / (question.ownBytes + more.remoteBytes);
  return more.rate > 0 && more.rate >= less.rate * (1 + gainMin);
}
