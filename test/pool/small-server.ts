/** Four engines as pool-model.test.ts and its oracle know them. */

export const ENGINE_COUNT = 4;
export const SLICE_COUNTS = [6, 5, 0, 4];
export const BORROW_LIMITS = [5, Infinity, 3, Infinity];
/** [lender][borrower]: engine 1 is farther from 0, and 3 cannot be read by 2. */
export const PATHS = [
  [0, 9, 9, 9],
  [4, 0, 9, 9],
  [9, 9, 0, 9],
  [9, 9, 0, 0],
];
export const REFILL_DEADLINE_NS = 100e6;
export const ACCOUNT_WINDOW_NS = 10e9;
