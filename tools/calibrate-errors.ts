/**
 * Sums up relative errors. Called by the calibration report and by the tests of held-out points; it
 * does not know what was predicted.
 */

export interface ErrorSummary {
  readonly count: number;
  /** Mean of |predicted / measured - 1|. */
  readonly meanAbsolute: number;
  /** Mean of predicted / measured - 1: the bias. */
  readonly mean: number;
  /** 95th percentile of the absolute values. */
  readonly p95: number;
}

/** @param errors predicted / measured - 1, at least one. */
export function summarise(errors: readonly number[]): ErrorSummary {
  const absolute = errors.map(Math.abs).sort((left, right) => left - right);
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    count: errors.length,
    meanAbsolute: mean(absolute),
    mean: mean(errors),
    p95: absolute[Math.min(absolute.length - 1, Math.floor(0.95 * absolute.length))]!,
  };
}
