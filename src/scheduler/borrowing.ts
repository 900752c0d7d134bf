/**
 * How much remote KV would make this engine faster: the question before every lease.
 *
 * Called by the engine's borrow controller a few times a second; a pure function of predictions.
 * For a range of remote bytes it predicts batch and step time and takes the amount with the most
 * tokens a second. Beyond the balance point a further byte costs link time in full, so more is not
 * better; where KV dominates the step, nothing may pay at all (docs/METHOD.md, closed form).
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
  /** Why it is not more. */
  readonly bound: "does-not-pay" | "slo" | "limit" | "demand";
}

const STEPS = 16;
/**
 * Of the gain that as many local bytes would bring (their share of the memory), remote ones must
 * bring at least this much: below it they are not worth their link.
 */
const GAIN_SHARE_MIN = 0.03;

export function remoteBytesWanted(question: BorrowQuestion): BorrowAnswer {
  const { ownBytes, sequenceBytes, sequencesMax, remoteBytesMax, tpotTargetNs } = question;
  let best = { remoteBytes: 0, bound: "does-not-pay" as BorrowAnswer["bound"] };
  let bestRate = 0;
  let bestIndex = 0;
  for (let index = 0; index <= STEPS; index++) {
    const remoteBytes = amountAt(index, remoteBytesMax);
    const roughly = (ownBytes + remoteBytes) / sequenceBytes;
    const ring = question.forecast.ringBytes(roughly, remoteBytes);
    const fits = (ownBytes - ring + remoteBytes) / sequenceBytes;
    const sequences = Math.min(fits, sequencesMax);
    if (sequences <= 0) continue;
    const stepNs = question.forecast.stepNs(sequences, remoteBytes);
    if (index > 0 && stepNs > tpotTargetNs) {
      return index === bestIndex + 1 ? { ...best, bound: "slo" } : best;
    }
    const rate = sequences / stepNs;
    const gainMin = (GAIN_SHARE_MIN * (remoteBytes - best.remoteBytes)) / (ownBytes + remoteBytes);
    if (index > 0 && rate < bestRate * (1 + gainMin)) continue;
    bestRate = rate;
    bestIndex = index;
    const more = amountAt(index + 1, remoteBytesMax) - remoteBytes;
    const fitsNext = fits + more / sequenceBytes;
    best = { remoteBytes, bound: boundAt(index, fitsNext, sequencesMax) };
  }
  return best;
}

/** Amounts lie closer together where they are small: a large cap must not hide a small optimum. */
function amountAt(index: number, remoteBytesMax: number): number {
  return remoteBytesMax * (index / STEPS) ** 2;
}

/** Why the best amount is not more: the last one looked at, work for no more, or no gain. */
function boundAt(index: number, fitsNext: number, sequencesMax: number): BorrowAnswer["bound"] {
  if (index === STEPS) return "limit";
  return fitsNext > sequencesMax ? "demand" : "does-not-pay";
}
