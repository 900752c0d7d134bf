/**
 * How single figures are written for people: few digits, one sign for "there is none".
 *
 * Called by the table, the picture and the HTML page's data. It knows no columns. Bytes are powers
 * of ten (GB), as in every output of EMA.
 */

/** Shown where a statistic is `null`. */
export const NOTHING = "-";

/** Whole numbers in full, small ones with one digit: 1234, 12.5. */
export function plain(value: number | null): string {
  if (value === null) return NOTHING;
  return Number.isInteger(value) || Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** About three significant digits and no exponent: 0.123, 1.23, 12.3, 123. */
export function significant(value: number | null): string {
  if (value === null) return NOTHING;
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

export function milliseconds(seconds: number | null): string {
  if (seconds === null) return NOTHING;
  const value = seconds * 1000;
  return value.toFixed(value >= 100 ? 0 : 1);
}

export function share(value: number | null): string {
  return value === null ? NOTHING : `${(value * 100).toFixed(0)} %`;
}

/** GB, mean and max; a hyphen for memory that never moved. */
export function bytesPair(gauge: { readonly mean: number; readonly max: number }): string {
  return gauge.max === 0 ? NOTHING : `${gigabytes(gauge.mean)}/${gigabytes(gauge.max)}`;
}

export function gigabytes(bytes: number): string {
  const value = bytes / 1e9;
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

/** `0:45`, `12:05`, `1:02:03`: durations for people who wait. */
export function clockTime(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = String(whole % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
