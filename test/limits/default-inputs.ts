/** OPT-13B on an A100-40 with three idle lenders and the published defaults, for tests. */

import {
  saturatedBorrower,
  type Borrower,
  type Lender,
  type PracticalInputs,
} from "../../src/limits/index.ts";
import { A100_40, OPT_13B } from "./hardware-of-the-table.ts";

export const OPT: Borrower = saturatedBorrower(A100_40, OPT_13B, 512);

export function lendersLike(
  count: number,
  runShare: number,
  lendableBytes = OPT.ownKvBytes,
): Lender[] {
  return Array.from({ length: count }, () => ({
    idleLendableBytes: lendableBytes,
    runningLendableBytes: lendableBytes,
    runShare,
    hbmBytesPerSecond: A100_40.hbmBytesPerSecond,
    pathBytesPerSecond: A100_40.portBytesPerSecond,
  }));
}

export const DEFAULTS: PracticalInputs = {
  borrower: OPT,
  mode: "mixed",
  capBytes: OPT.ownKvBytes,
  lenders: lendersLike(3, 0),
  lenderShare: 0.02,
  sliceBytes: 64 * 1024 * 1024,
  blockTokens: 16,
  copySeconds: 2.3e-6,
  latencySeconds: 7.5e-6,
  sequencesMax: Infinity,
  areSequencesWhole: false,
  prefill: null,
};
