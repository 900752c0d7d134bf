/**
 * Sizes, shares and durations as people write them.
 *
 * Called by the scenario reader and the command line. kB, MB, GB are powers of ten; KiB, MiB, GiB
 * powers of two: users of every neighbouring system were bitten by mixing them up.
 */

const SIZE_FACTORS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

export const NS_PER_SECOND = 1e9;

/** @returns bytes for texts like `64MiB`, `1.5 GB`, `4096`; `null` when it is not a size. */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text.trim());
  if (match === null) return null;
  const factor = match[2] === "" ? 1 : SIZE_FACTORS[match[2]!];
  if (factor === undefined) return null;
  const bytes = Number(match[1]) * factor;
  return Number.isSafeInteger(Math.round(bytes)) ? Math.round(bytes) : null;
}

/** @returns a share in [0, ∞) for texts like `2%` or `150 %`; `null` when it is no percentage. */
export function parsePercent(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim());
  const share = match === null ? NaN : Number(match[1]) / 100;
  return Number.isFinite(share) ? share : null;
}

/** Three significant digits and a power of ten: `8.06 GB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  // Rounding comes first: 999,960 bytes are 1.00 MB, not 1000 kB.
  while (Math.abs(Number(value.toPrecision(3))) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const rounded = Math.abs(Number(value.toPrecision(3)));
  const digits = unit === 0 || rounded >= 100 ? 0 : rounded >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}
