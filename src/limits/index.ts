/**
 * The public face of the closed form: what memory lent over links can give at best.
 *
 * It imports base and hardware only and shares no code with the simulator, so that each can judge
 * the other.
 */

export {
  measuredBorrower,
  ownKvBytes,
  saturatedBorrower,
  type Borrower,
} from "./borrower.ts";
export type { LimitMode } from "./best-share.ts";
export { idealLimit, type IdealInputs } from "./ideal-limit.ts";
export { practicalLimit, type PracticalInputs } from "./practical-limit.ts";
export type { Limit, LimitedBy, LocalPoint } from "./limit.ts";
export type { Lender } from "./lenders.ts";
export {
  lenderLoad,
  type LenderLoad,
  type RequestColumns,
  type TimeWindow,
} from "./lender-load.ts";
export { lengthsOf, type Lengths } from "./lengths.ts";
export type { PrefillLoad } from "./step-time.ts";
