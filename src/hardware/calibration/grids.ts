/**
 * The grids that calibration tables are laid out on.
 *
 * Shared by the tables of all boards and by tools/calibrate.ts. They are the points of the measured
 * tables, thinned where neighbours say little; what was left out serves as held-out points.
 */

/** Rows of a GEMM: query tokens of a batch. */
export const GEMM_M: readonly number[] = [
  1, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 768, 1024, 2048, 4096,
];

/** Columns and depth of a GEMM. */
export const GEMM_NK: readonly number[] = [
  256, 512, 1024, 2048, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384, 65536,
];

export const DECODE_BATCH: readonly number[] = [
  1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048,
];

/** KV tokens a sequence. */
export const DECODE_CONTEXT: readonly number[] = Array.from(
  { length: 17 },
  (_, index) => 2 ** (index + 1),
);

/** Prompt tokens. */
export const PREFILL_TOKENS: readonly number[] = [
  1, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 10240, 12288, 16384,
];
